"""`explain repro SCRIPT or FILE`: a minimal script that raises the same error, checked before it is printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from explainer.cli import Complaint, complain, files, inputs, launch, options

ABOUT = "Prints a minimal script that raises the same error, made from shapes, dtypes and settings alone."
MORE = """\
examples: explain repro train.py --lr 0.1 > repro.py      explain repro -m package.train
          explain repro train.log -o repro.py             explain repro < pasted.txt

A SCRIPT (.py, or -m and a module) is run until it fails; its own output, the traceback and the diagnosis go to standard
error, the repro alone to standard output. Of a log, a notebook or a paste (-) nothing is run: only what its message
says is used. The repro carries no values of yours, and was run in a new process, where it raised the same error.

exit status: 0 a script, 1 none, 2 wrong usage or unreadable input"""
#: Options that take a value, so that SCRIPT can be told from it.
VALUED = ("-o", "--output", "--lang", "--rules")
_ERRORS = 20


def main(arguments: list[str]) -> int:
    """Print or write the repro; the exit status is 1 where there is none."""
    from explainer.cli.run import split

    own, program = split(arguments, VALUED)
    given = _parser().parse_args(own)
    words = program or [inputs.STDIN]
    if words == ["-m"]:
        raise Complaint("repro needs a module after -m (explain repro -h lists what is possible)")
    if words[0] != "-m" and not _is_program(words[0]):
        return _of_text(words, given)
    return _of_program(words, given)


def _is_program(word: str) -> bool:
    return word.endswith((".py", ".pyz")) or os.path.isfile(os.path.join(word, "__main__.py"))


def _of_text(words: list[str], given: Any) -> int:
    """From what a log or a paste says; the first of its errors for which there is a script."""
    from explainer import api
    from explainer.replay.scripts import CleanProcess

    if len(words) > 1:
        raise Complaint("repro takes one FILE (or a SCRIPT ending in .py, with its arguments)")
    if words[0] != inputs.STDIN and not os.path.exists(words[0]):
        raise Complaint(inputs.missing(words[0]))
    found, blank = files.found_in(words[0])
    if not found:
        return complain(files.nothing_in(words[0], blank), 1)
    first = None
    with CleanProcess() as process:
        for one in found[:_ERRORS]:
            made = api.repro_found(one, options.packs(given), process)
            first = first or made
            if made:
                return _hand_out(made, given)
    return _hand_out(first, given)


def _of_program(words: list[str], given: Any) -> int:
    """From the live objects of a program that is run here until it fails."""
    from explainer import api
    from explainer.hooks.process import Settings

    module = words[0] == "-m"
    target = launch.Target(words[1] if module else words[0], module, tuple(words[1 + module :]), os.getcwd())
    target.check()
    folders = [os.path.abspath(one) for one in given.rules]
    settings = Settings(given.lang, given.replay, folders, given.full, given.color)
    with _own_output() as out:
        error = _failed(lambda: launch.go(target, settings))
        if error is None:
            return complain("the program ended without an error; there is nothing to reproduce", 1)
        sys.excepthook(type(error), error, error.__traceback__)
        made = api.repro(error, replay=options.may_replay(given), rules=settings.rules)
        return _hand_out(made, given, out)


def _failed(work: Callable[[], Any]) -> BaseException | None:
    """The error that ends the program; None where it ends well, or by its own wish."""
    try:
        work()
    except (SystemExit, KeyboardInterrupt):
        return None
    except BaseException as error:
        return error
    return None


@contextmanager
def _own_output() -> Iterator[Any]:
    """Meanwhile what anything writes to standard output goes to standard error; yields the real standard output."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        try:
            yield out
        finally:
            sys.stdout.flush()
            out.flush()
            os.dup2(out.fileno(), 1)


def _hand_out(made: Any, given: Any, out: Any = None) -> int:
    if not made:
        return complain(f"no script can be made: {made.why}", 1)
    if not given.output:
        print(made.script, end="", file=out or sys.stdout)
        return 0
    try:
        with open(given.output, "w", encoding="utf-8") as file:
            file.write(made.script)
    except OSError as error:
        raise Complaint(f"{given.output} cannot be written: {error.strerror}") from None
    return 0


def _parser() -> options.Parser:
    parser = options.parser("explain repro", ABOUT, MORE)
    parser.usage = "explain repro [OPTIONS] [-m] SCRIPT [ARGS ...] | explain repro [OPTIONS] [FILE]"
    parser.add_argument("-o", "--output", metavar="FILE", help="write the script to FILE")
    options.add_speech(parser)
    return parser
