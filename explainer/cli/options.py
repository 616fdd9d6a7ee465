"""The options that commands share, and a parser whose complaints are one line."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any, NoReturn

from explainer.cli import Complaint

FORMATS = ("text", "json", "markdown", "html", "github", "sarif", "gcc", "plain")
LANGUAGES = ("en", "ko", "zh")


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong, and where help is."""

    def parse_args(self, *given: Any, **more: Any) -> Any:  # type: ignore[override]
        """The options, those that were not given as the project's pyproject.toml has them."""
        return _settled(super().parse_args(*given, **more))

    def error(self, message: str) -> NoReturn:
        """Raise the complaint instead of printing the usage."""
        raise Complaint(f"{message} ({self.prog} -h lists what is possible)")


def _settled(given: Any) -> Any:
    from explainer.configured import configured

    project = configured()
    if project.problem and hasattr(given, "lang"):
        raise Complaint(project.problem)
    for name in ("lang", "full"):
        if hasattr(given, name):
            setattr(given, name, getattr(given, name) or getattr(project, name))
    if hasattr(given, "replay"):
        given.replay = given.replay and project.replay
    for name in ("rules", "source"):
        if isinstance(getattr(given, name, None), list):
            setattr(given, name, [*getattr(given, name), *getattr(project, name)])
    return given


def parser(prog: str, about: str, more: str = "") -> Parser:
    """A command's parser: `about` says what it does, `more` stands under the options (examples)."""
    layout = argparse.RawDescriptionHelpFormatter
    return Parser(prog, description=about, epilog=more, formatter_class=layout, allow_abbrev=False)


def add_speech(to: argparse.ArgumentParser) -> None:
    """Options on how a diagnosis is made and said: `--lang`, `--rules`, `--no-replay`, `--full`, `--color`."""
    to.add_argument("--lang", choices=LANGUAGES, help="language (default: EXPLAINER_LANG, then the locale)")
    to.add_argument("--rules", metavar="DIR", action="append", default=[], help="a folder of further rules")
    to.add_argument("--no-replay", dest="replay", action="store_false", help="run nothing again")
    to.add_argument("--full", action="store_true", help="show everything, not 25 lines")
    to.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="(default: on a terminal)")


def add_format(to: argparse.ArgumentParser) -> None:
    """`--format`, `--output` and `--source`, for commands that explain texts."""
    to.add_argument("--format", choices=FORMATS, default="text", help="how to show it (default: text)")
    to.add_argument("--output", metavar="FILE", help="write it to FILE (default: standard output)")
    add_source(to)


def add_source(to: argparse.ArgumentParser) -> None:
    """`--source`, for whatever reads the files that a text names."""
    about = "also read source files below this folder"
    to.add_argument("--source", metavar="DIR", action="append", default=[], type=_folder, help=about)


def _folder(name: str) -> str:
    if not os.path.isdir(name):
        raise argparse.ArgumentTypeError(f"there is no folder {name}")
    return name


def packs(given: Any) -> tuple[Path, ...]:
    """The folders of `--rules`; a complaint names what is wrong with their files, a line each."""
    folders = tuple(Path(name) for name in given.rules)
    if folders:
        from explainer.catalogue import load

        wrong = set(load(folders).problems) - set(load().problems)
        if wrong:
            raise Complaint("\n".join(sorted(f"--rules: {problem}" for problem in wrong)))
    return folders


def may_replay(given: Any) -> bool:
    """Whether `--no-replay` and EXPLAINER_REPLAY allow running anything again."""
    return given.replay and os.environ.get("EXPLAINER_REPLAY") != "0"
