"""The program's own files, as far as it has loaded them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, source_of
from explainer.userframes import is_user_file


def program_sources(watcher: Any) -> list[Source]:
    """The sources of the script and of the modules that it imported from beside it, as they are at its end."""
    if watcher.sources is None:
        watcher.sources = list(_sources())
    return list(watcher.sources)


def _sources() -> Iterator[Source]:
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if not main:
        return
    folder = os.path.dirname(os.path.abspath(main))
    files = [os.path.abspath(main)]
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and os.path.abspath(file).startswith(folder + os.sep):
            files.append(os.path.abspath(file))
    for file in dict.fromkeys(files):
        if is_user_file(file):
            yield source_of(file)
