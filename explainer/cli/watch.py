"""`explain watch [-m] SCRIPT ARGS`: the same as `python SCRIPT ARGS`, and what its training did wrong in silence."""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
import time
from collections.abc import Callable
from typing import Any

from explainer.cli import Complaint, launch, options
from explainer.cli.run import _write, split

MORE = """\
examples: explain watch train.py --lr 0.1        explain watch -m package.train
          explain watch --json report.json --budget 60s train.py

the program's own options come after SCRIPT; its output, files, random numbers and exit status are as without explain;
what is found comes on standard error after its end"""
#: Options that take a value, so that SCRIPT can be told from it.
VALUED = ("--json", "--lang", "--rules", "--color", "--budget")
#: Seconds for trials where `--budget` does not say.
BUDGET = 120.0


def main(arguments: list[str]) -> int | Callable[[], int]:
    """Make everything ready; returns what runs the program, to be called where its errors are not caught."""
    own, program = split(arguments, VALUED)
    given = _parser().parse_args(own)
    if not program or program == ["-m"]:
        raise Complaint("watch needs a SCRIPT, or -m and a module (explain watch -h lists what is possible)")
    options.packs(given)
    module = program[0] == "-m"
    target = launch.Target(program[1] if module else program[0], module, tuple(program[1 + module :]), os.getcwd())
    target.check()
    budget = seconds(given.budget)
    if given.json:
        _write(given.json, ())
    path = os.path.abspath(given.json) if given.json else None
    return lambda: _go(target, given, budget, path)


def seconds(text: str) -> float:
    """The seconds of `30`, `30s`, `2m`; a complaint where it is neither."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m)?", text.strip())
    value = float(found.group(1)) * (60 if found.group(2) == "m" else 1) if found else math.nan
    if not found or not math.isfinite(value):
        raise Complaint(f"--budget takes seconds or minutes (30s, 2m), not {text!r}")
    return value


def _go(target: launch.Target, given: Any, budget: float, path: str | None) -> int:
    """Run the program watched; its exceptions and SystemExit leave through here, after the report."""
    from explainer.arrival import when_imported
    from explainer.hooks import process

    watchers: list[Any] = []
    settings = process.Settings(
        given.lang, given.replay, [os.path.abspath(one) for one in given.rules], given.full, given.color
    )
    if os.environ.get("EXPLAINER") == "0":
        return launch.go(target, settings)
    when_imported("torch", lambda: _begin(watchers, given, budget))
    began = time.monotonic()
    failed = stopped = True
    try:
        status = launch.go(target, settings)
        failed = stopped = False
        return status
    except SystemExit as error:
        failed = stopped = error.code not in (None, 0)
        raise
    except BaseException as error:
        failed = not isinstance(error, KeyboardInterrupt)
        raise
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        if not failed:
            given.trial = given.trial and not stopped  # who stops a training by Ctrl-C waits for nothing
            _conclude(watchers, target, given, budget, path, time.monotonic() - began)
        elif path:
            _empty(watchers, path)


def _begin(watchers: list[Any], given: Any, budget: float) -> None:
    """Begin to watch, once torch is there; a failure of ours leaves the program unwatched."""
    began = time.monotonic()
    try:
        from explainer import api
        from explainer.locale import word
        from explainer.training import session
        from explainer.training.watcher import Watcher

        watchers.append(Watcher().start())
        name = "watch_begun" if budget and given.trial and options.may_replay(given) else "watch_begun_only"
        took = f"{time.monotonic() - began:.1f}"
        if not session.rank():
            line = word(name, api.language(given.lang), took=took, seconds=f"{budget:g}")
            print(f"explain: {line}", file=sys.stderr)
    except Exception as error:
        watchers.append(error)


def _empty(watchers: list[Any], path: str) -> None:
    for watcher in watchers:
        with contextlib.suppress(Exception):
            watcher.stop()
    with contextlib.suppress(Complaint):
        _write(path, ())


def _conclude(
    watchers: list[Any], target: launch.Target, given: Any, budget: float, path: str | None, took: float
) -> None:
    """Look at what was noted, try edits, tell. What fails here is one line; the exit status is the program's."""
    try:
        report = _report(watchers, target, given, budget, took)
        if report is None:
            return
        if path:
            _write(path, [report])
        _tell(report, given)
    except KeyboardInterrupt:
        print("explain: interrupted", file=sys.stderr)
    except Complaint as complaint:
        print(f"explain: {complaint}", file=sys.stderr)
    except Exception as error:
        if os.environ.get("EXPLAINER_DEBUG"):
            import traceback

            traceback.print_exc()
        print(f"explain: watch: {type(error).__name__}: {error} (EXPLAINER_DEBUG=1 shows where)", file=sys.stderr)


def _report(watchers: list[Any], target: launch.Target, given: Any, budget: float, took: float) -> Any:
    from explainer import api
    from explainer.locale import word
    from explainer.render.progress import Progress
    from explainer.training import session
    from explainer.training.told import report_of

    language = api.language(given.lang)
    if not watchers or isinstance(watchers[0], Exception):
        why = word("watch_nothing", language) if not watchers else f"{type(watchers[0]).__name__}: {watchers[0]}"
        return report_of((), language, [why])
    if session.rank():
        session.left(watchers[0])
        return None
    with contextlib.suppress(OSError):
        os.chdir(target.folder)
    trial = options.may_replay(given) and given.trial
    with Progress(sys.stderr, patience=0.0) as progress:
        trying = word("watch_trying", language, seconds=f"{budget:g}")
        return session.concluded(
            watchers[0], target.program(), budget, took, language, lambda _: progress(trying), trial
        )


def _tell(report: Any, given: Any) -> None:
    from explainer.api import Explanation
    from explainer.hooks import last
    from explainer.render import terminal

    if not report.diagnoses:
        for remark in report.remarks:
            print(f"explain: {remark}", file=sys.stderr)
        return
    with contextlib.suppress(Exception):
        last.keep(Explanation((report,)))
    for place in range(len(report.diagnoses)):
        from dataclasses import replace

        one = replace(report, diagnoses=(report.diagnoses[place],), remarks=report.remarks if place == 0 else ())
        print(file=sys.stderr)
        terminal.print_to(sys.stderr, [one], color=given.color, full=given.full)


def _parser() -> options.Parser:
    about = "Runs a program and tells what went wrong in its training without an error."
    parser = options.parser("explain watch", about, MORE)
    parser.usage = "explain watch [OPTIONS] [-m] SCRIPT [ARGS ...]"
    parser.add_argument("--json", metavar="FILE", help="write the document (schema_version 1) to FILE")
    parser.add_argument(
        "--budget", metavar="TIME", default=f"{BUDGET:g}s", help="time for trials of edits (default: 120s)"
    )
    parser.add_argument("--no-trial", dest="trial", action="store_false", help="try no edits")
    options.add_speech(parser)
    return parser
