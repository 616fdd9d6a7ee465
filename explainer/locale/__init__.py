"""The tool's own few words in every language it speaks, and which language to speak."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from importlib import import_module

LANGUAGES = ("en", "ko", "zh")
VARIABLES = ("EXPLAINER_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def word(key: str, language: str = "en", **values: object) -> str:
    """The word or sentence `key`, with `{name}` filled from `values`; English where the language lacks it.

    KeyError where English lacks it too.
    """
    template = _words(language).get(key)
    if template is None:
        template = _words("en")[key]
    return template.format(**values) if values else template


def language(asked: str | None = None, environ: Mapping[str, str] | None = None) -> str:
    """The language to speak: the one asked for, else the first variable that is set, else English."""
    environ = os.environ if environ is None else environ
    wanted = asked or next(filter(None, map(environ.get, VARIABLES)), "")
    code = wanted.replace("-", "_").split("_")[0].split(".")[0].lower()
    return code if code in LANGUAGES else "en"


@functools.cache
def _words(language: str) -> dict[str, str]:
    """One language's dictionary; an unknown language speaks English."""
    return import_module(f"{__name__}.{language if language in LANGUAGES else 'en'}").WORDS
