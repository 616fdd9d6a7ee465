"""`explain run [-m] SCRIPT ARGS`: the same as `python SCRIPT ARGS`, but for the diagnosis after an error."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from explainer.cli import Complaint, launch, options

MORE = """\
examples: explain run train.py --lr 0.1        explain run -m package.train --lr 0.1
          explain run --json report.json train.py

the program's own options come after SCRIPT; its output, traceback and exit status are as without explain"""
#: Modules that are torch's launcher (its script is called torchrun).
LAUNCHERS = ("torch.distributed.run", "torch.distributed.launch")
#: Options of `explain run` that take a value, so that SCRIPT can be told from it.
VALUED = ("--json", "--lang", "--rules", "--color")


def main(arguments: list[str]) -> int | Callable[[], int]:
    """Make everything ready; returns what runs the program, to be called where its errors are not caught."""
    own, program = split(arguments)
    given = _parser().parse_args(own)
    if not program or program == ["-m"]:
        raise Complaint("run needs a SCRIPT, or -m and a module (explain run -h lists what is possible)")
    options.packs(given)
    module = program[0] == "-m"
    target = launch.Target(program[1] if module else program[0], module, tuple(program[1 + module :]), os.getcwd())
    target.check()
    settings = _settings(given, target)
    if given.json:
        _write(given.json, ())
    if os.environ.get("EXPLAINER") != "0":
        _join_job(target, settings, given)
    return lambda: launch.go(target, settings)


def _join_job(target: launch.Target, settings: Any, given: Any) -> None:
    """Have the ranks of torch's launcher run under `explain run` too; in a rank, leave word where a signal ends it.

    Elsewhere nothing of that is imported: a file of the program cannot take the name of a module that we have.
    """
    launches = target.name in LAUNCHERS or os.path.basename(target.name) == "torchrun"
    if launches or os.environ.get("EXPLAINER_JOB"):
        from explainer.hooks import launcher

        launcher.watch(_for_ranks(given)) if launches else launcher.begin_rank()
        settings.check = False if launches else settings.check


def _for_ranks(given: Any) -> list[str]:
    """The options under which a launcher's ranks run; a rank cannot be run again alone."""
    folders = [word for folder in given.rules for word in ("--rules", os.path.abspath(folder))]
    lang = ["--lang", given.lang] if given.lang else []
    switches = [name for name, on in (("--full", given.full), ("--no-replay", not given.replay)) if on]
    return ["--no-check", *lang, *folders, *switches]


def split(arguments: list[str], valued: tuple[str, ...] = VALUED) -> tuple[list[str], list[str]]:
    """Our own options, and from SCRIPT (or `-m`) on the program's words."""
    index = 0
    while index < len(arguments) and arguments[index].startswith("-") and arguments[index] not in ("-m", "-"):
        index += 2 if arguments[index] in valued else 1
    return arguments[:index], arguments[index:]


def _settings(given: Any, target: launch.Target) -> Any:
    from explainer.hooks.process import Settings

    folders = [os.path.abspath(one) for one in given.rules]
    settings = Settings(given.lang, given.replay, folders, given.full, given.color)
    settings.check, settings.program, settings.why = given.check, target.program, given.why
    if given.json:
        path, reports = os.path.abspath(given.json), []

        def keep(explanation: Any) -> None:
            reports.extend(explanation.reports)
            _write(path, reports)

        settings.reports = keep
    return settings


def _write(path: str, reports: Any) -> None:
    """Write the document; before the program starts already, so that none is left from before."""
    from explainer.render import json

    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.render(reports))
    except OSError as error:
        raise Complaint(f"--json: {path} cannot be written: {error.strerror}") from None


def _parser() -> options.Parser:
    parser = options.parser("explain run", "Runs a program and explains the error that ends it.", MORE)
    parser.usage = "explain run [OPTIONS] [-m] SCRIPT [ARGS ...]"
    parser.add_argument("--json", metavar="FILE", help="write the document (schema_version 1) to FILE")
    parser.add_argument("--why", action="store_true", help="list the edits that were made, tried and refused, and why")
    checks = parser.add_mutually_exclusive_group()
    text = "try fixes by running the whole program again in the sandbox (default: only after an early crash)"
    checks.add_argument("--check", action="store_true", default=None, help=text)
    checks.add_argument("--no-check", dest="check", action="store_false", help="do not run the whole program again")
    options.add_speech(parser)
    return parser
