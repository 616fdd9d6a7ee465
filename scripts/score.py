"""Scores what is said of programs that crash: the right line, a first fix that reaches the goal, and how it was found.

    python scripts/score.py FOLDER... [--json FILE] [--compare FILE] [--in-process | --window] [--only NAME] [--jobs 1]

Below each FOLDER a case is a folder with main.py (and its modules) and case.yaml: `family`, `culprits` (a `file` and
`line` each), and the last line of the repaired program (`expected_stdout_last` or `expected_stdout_regex`). Programs
run in forks of a process that has torch loaded, with fixes tried as `explain run` does; with --in-process as after
`install()`; with --window by the crash's own process alone, as in a notebook's cell or a test.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from scoring import table
from scoring.case import Case, cases
from scoring.judge import judged

from explainer.authoring.examples import Runner


def main() -> None:
    """Score, print the tables, write --json; ends with status 1 where a program got worse than in --compare."""
    given = _parser().parse_args()
    found = [case for folder in given.folders for case in cases(folder, given.only)]
    if not found:
        sys.exit(f"no case.yaml below {', '.join(map(str, given.folders))}")
    rows = []
    for row in scored(found, given.program, given.jobs, tuple(given.warm)):
        rows.append(row)
        print(f"{len(rows)}/{len(found)} {row['name']}", end="\r", file=sys.stderr, flush=True)
    rows.sort(key=lambda row: row["name"])
    print(table.programs(rows), table.totals(rows), table.certainties(rows), sep="\n\n")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if given.compare:
        told = table.compared(rows, json.loads(given.compare.read_text(encoding="utf-8")))
        print(f"\n{told}")
        sys.exit("WORSE" in told)


def scored(
    found: Sequence[Case], program: str = "clean", jobs: int = 1, modules: tuple[str, ...] = ()
) -> Iterator[dict[str, Any]]:
    """A row a case, as they come. `modules` are imported once, before all of them."""
    runners: SimpleQueue[Runner] = SimpleQueue()
    every = [Runner(modules=modules) for _ in range(jobs)]
    for one in every:
        runners.put(one.__enter__())

    def work(case: Case) -> dict[str, Any]:
        runner = runners.get()
        try:
            return judged(case, runner, program)
        finally:
            runners.put(runner)

    try:
        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(work, found)
    finally:
        for one in every:
            one.__exit__(None, None, None)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="rows of an earlier run: say what changed")
    parser.add_argument("--only", default="", metavar="NAME", help="only cases whose names contain this")
    parser.add_argument("--jobs", type=int, default=1, help="how many programs at the same time (default: 1)")
    parser.add_argument("--warm", nargs="*", default=[], metavar="MODULE", help="modules to import once for all")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--in-process", dest="program", action="store_const", const="warm", help="as after install()")
    how.add_argument(
        "--window", dest="program", action="store_const", const="window", help="as in a notebook or a test"
    )
    parser.set_defaults(program="clean")
    return parser


if __name__ == "__main__":
    main()
