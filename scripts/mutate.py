"""Breaks the healthy programs of fixtures/programs in known ways and measures how often the explanation is right.

    python scripts/mutate.py [--count 1000] [--seed 0] [--kind dtype] [--program gan] [--out results.jsonl]
                             [--whole 0.2] [--keep FOLDER] [--again results.jsonl] [--table results.jsonl]

The truth is the mutation: its line, or a line at which another edit is as good an answer (see `mutations/mutant.py`). A
mutant counts if it crashes as PyTorch does. With --out a run goes on where an earlier one ended.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mutations.all import drawn
from mutations.measure import Result, measured
from mutations.mutant import Mutant
from mutations.programs import programs
from mutations.table import table

from explainer.authoring.examples import Runner


def main() -> None:
    """Measure, print the table; results go to --out, one line of JSON each."""
    given = _parser().parse_args()
    if given.table:
        print(table(_read(given.table)))
        return
    earlier = _read(given.out) if given.out else []
    rows = [*earlier, *_rows(given, earlier)]
    print(table([row for row in rows if not row["whole"]]))
    whole = [row for row in rows if row["whole"]]
    if whole:
        print(f"\nwith the whole program tried again, as `explain run` does:\n{table(whole)}")


def _rows(given: argparse.Namespace, earlier: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The results that are not there yet, until as many mutants as asked for have crashed."""
    names = {row["name"] for row in earlier}
    again = {row["name"] for row in _read(given.again) if row["outcome"] == "torch"} if given.again else None
    crashed, tried, began = sum(row["outcome"] == "torch" and not row["whole"] for row in earlier), 0, time.monotonic()
    with Runner() as runner:
        for mutant in drawn(list(programs(given.program)), given.seed, given.kind):
            if crashed >= given.count:
                break
            if mutant.name in names or (again is not None and mutant.name not in again):
                continue
            tried += 1
            for result in _measured(mutant, runner, given.whole):
                crashed += result.outcome == "torch" and not result.whole
                row = json.loads(json.dumps(asdict(result)))
                _keep(given, mutant, row)
                yield row
            _progress(crashed, given.count, tried, time.monotonic() - began)
    print(file=sys.stderr)


def _measured(mutant: Mutant, runner: Runner, share: float) -> Iterator[Result]:
    first = measured(mutant, runner)
    yield first
    if first.outcome == "torch" and random.Random(mutant.name).random() < share:
        yield measured(mutant, runner, whole=True)


def _keep(given: argparse.Namespace, mutant: Mutant, row: dict[str, Any]) -> None:
    if given.out:
        with open(given.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    if given.keep and row["outcome"] == "torch":
        for name, text in mutant.files.items():
            path = Path(given.keep, f"{mutant.kind}-{mutant.name}", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def _progress(crashed: int, count: int, tried: int, seconds: float) -> None:
    if sys.stderr.isatty():
        print(f"\r{crashed} of {count} crashed, {tried} tried, {seconds:.0f} s", end="", file=sys.stderr, flush=True)


def _read(path: str) -> list[dict[str, Any]]:
    if not Path(path).exists():
        return []
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many crashes to measure")
    parser.add_argument("--seed", type=int, default=0, help="decides which mutants come first")
    parser.add_argument("--kind", default="", help="only kinds of mutation that contain this")
    parser.add_argument("--program", default="", help="only programs whose name contains this")
    parser.add_argument("--out", help="append results here; those that are there already are not measured again")
    parser.add_argument(
        "--whole", type=float, default=0.0, help="the share explained with the whole program tried again too"
    )
    parser.add_argument("--again", help="only mutants that crashed in these results, to compare with them")
    parser.add_argument("--keep", help="write the programs that crashed below this folder")
    parser.add_argument("--table", help="print the table of these results, measure nothing")
    return parser


if __name__ == "__main__":
    main()
