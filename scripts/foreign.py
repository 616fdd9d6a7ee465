"""Breaks other people's model files and scores what is said of them: code that no rule, idiom or atom was written for.

    python scripts/foreign.py FOLDER [--make 600] [--count 150] [--seed 0] [--half fit] [--model NAME] [--table]

Installs the packages of `foreign/models.yaml` into FOLDER/venv (beside the torch that runs this), copies their model
files beside small programs of ours, breaks one thing in each, and keeps the programs that crash as cases below
FOLDER/fit and FOLDER/held; packages are split by their name. Then scores --count of them, evenly over models and kinds
of break, into FOLDER/results.jsonl: a second run goes on where the first ended. Programs are made anew only as far as
--make asks for more. Look at misses of `fit` alone: `held` is there to judge with.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foreign.breaking import broken_programs
from foreign.packages import Model, in_venv, models
from scoring import table
from scoring.case import Case, cases
from scoring.judge import judged

from explainer.authoring.examples import Runner

HALVES = ("fit", "held")
RESULTS = "results.jsonl"


def main() -> None:
    """Install, make, score, print the tables of both halves."""
    given = _parser().parse_args()
    given.folder = given.folder.resolve()
    if not given.table:
        in_venv(given.folder / "venv")
        chosen = [model for model in models() if given.model in model.name and given.half in model.half]
        with Runner() as runner:
            _make(given, chosen, runner)
            _score(given, runner)
    for text in _tables(_read(given.folder / RESULTS)):
        print(text, end="\n\n")


def _make(given: argparse.Namespace, chosen: list[Model], runner: Runner) -> None:
    """Write programs that crash until there are as many as asked for."""
    there = {case.name for half in HALVES for case in cases(given.folder / half)}
    for model, name, files in broken_programs(chosen, given.folder / "venv", given.seed, runner):
        if len(there) >= given.make:
            break
        for below, text in files.items() if name not in there else ():
            path = given.folder / model.half / name / below
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        there.add(name)
        _progress(f"{len(there)} of {given.make} programs that crash")


def _score(given: argparse.Namespace, runner: Runner) -> None:
    """Score cases that have no result yet."""
    done = {row["name"] for row in _read(given.folder / RESULTS)}
    found = [case for case in _evenly(given) if case.name not in done]
    with open(given.folder / RESULTS, "a", encoding="utf-8") as file:
        for count, case in enumerate(found[: max(given.count - len(done), 0)], 1):
            row = {**judged(case, runner), "model": case.facts["model"]}
            file.write(json.dumps(row) + "\n")
            file.flush()
            _progress(f"{len(done) + count} of {given.count} scored")


def _evenly(given: argparse.Namespace) -> Iterator[Case]:
    """The cases, models and kinds of break in turns, as the seed has it."""
    found = [case for half in HALVES if given.half in half for case in cases(given.folder / half, given.model)]
    chance = random.Random(given.seed)
    weights = {case.name: random.Random(f"{given.seed} {case.name}").random() for case in found}
    queues: dict[str, list[Case]] = {}
    for case in sorted(found, key=lambda one: weights[one.name]):
        queues.setdefault(case.facts["model"], []).append(case)
    kinds: dict[str, int] = {}
    while queues:
        for model in chance.sample(sorted(queues), len(queues)):
            least = min(queues[model], key=lambda one: kinds.get(one.facts["kind"], 0))
            queues[model].remove(least)
            kinds[least.facts["kind"]] = kinds.get(least.facts["kind"], 0) + 1
            yield least
        queues = {model: some for model, some in queues.items() if some}


def _tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    for half in HALVES:
        some = [row for row in rows if row["half"] == half]
        if some:
            yield f"{half}\n{table.totals(some)}\n\n{table.certainties(some)}"
    if rows:
        yield f"both halves\n{table.totals(rows, 'half')}\n\n{table.certainties(rows)}"


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _progress(text: str) -> None:
    if sys.stderr.isatty() or os.environ.get("PROGRESS"):
        print(f"\r{text} ", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the venv, the programs and results go")
    parser.add_argument("--make", type=int, default=600, help="how many programs that crash there are to be")
    parser.add_argument("--count", type=int, default=150, help="how many are to be scored")
    parser.add_argument("--seed", type=int, default=0, help="decides what is broken, and what is scored first")
    parser.add_argument("--half", default="", choices=("", *HALVES), help="only this half of the packages")
    parser.add_argument("--model", default="", help="only models whose name contains this")
    parser.add_argument("--table", action="store_true", help="print the tables of what is there, run nothing")
    return parser


if __name__ == "__main__":
    main()
