"""Fits the weights with which survivors of a search are ranked (`explainer/repair/weights.py`).

    python scripts/fit_prior.py survey FOLDER... --rows FILE     # what survives in each program, with its features
    python scripts/fit_prior.py fit FILE... [--held FILE...] [--write]

`survey` runs every edit that any rule, generator or atom offers for the programs below the folders (as `score.py` has
them), and notes which survive and which of these are right: at a line to blame, and the program reaches its goal.
A second survey goes on where the first ended. `fit` finds the weights under which the right ones come first (a softmax
over the survivors of each program and "none of them", with a penalty on large weights; those that `prior` gives by hand
stay), prints them, and in how many programs the first is right: for the programs fitted, with each group of them left
out in turn, and for --held. Never fit what you judge by.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.case import SCRIPT, Case, cases
from scoring.judge import TRIED, repaired

from explainer.authoring.examples import Runner
from explainer.repair.prior import by_hand, unfitted

Row = dict[str, Any]
Judged = tuple[bool, bool, bool, float]
#: The penalty on the square of each weight; how many steps the fit takes.
PENALTY, STEPS = 3.0, 400
WEIGHTS = Path(__file__).parent.parent / "explainer" / "repair" / "weights.py"


def main() -> None:
    """Survey programs, or fit weights to what surveys found."""
    given = _parser().parse_args()
    if given.what == "survey":
        _survey(given.files, given.rows)
    else:
        _fit_all(_read(given.files), _read(given.held), given.write)


# --- survey


def _survey(folders: Sequence[Path], file: Path) -> None:
    done = {row["name"] for row in _read([file])} if file.exists() else set()
    found = [case for folder in folders for case in cases(folder) if case.name not in done]
    found.sort(key=lambda case: zlib.crc32(case.name.encode()))  # so that a part of them stands for all
    with Runner() as runner, file.open("a", encoding="utf-8") as out:
        for number, case in enumerate(found, 1):
            print(f"{number}/{len(found)} {case.name}", end="\r", file=sys.stderr, flush=True)
            out.write(json.dumps(_surveyed(case, runner)) + "\n")
            out.flush()


def _surveyed(case: Case, runner: Runner) -> Row:
    others = {name: text for name, text in case.files.items() if name != SCRIPT}
    answer = runner.run(case.files[SCRIPT], others, "clean", TRIED, script=SCRIPT, survey=True)
    survivors = answer.get("survivors") or []
    for one in survivors:
        own = tuple(one["line"]) in case.culprits
        one["at"] = own
        one.update(repaired(case, one["edits"], runner) if own else {"fixed": False, "kept": False, "same": False})
    return {"name": case.name, "group": _group(case), "outcome": answer["outcome"], "survivors": survivors}


def _group(case: Case) -> str:
    """What is left out together: the package that a program's model is from, or the folder it lies in."""
    return str(case.facts.get("package", case.path.parent.name)).partition("==")[0]


# --- fit


def _fit_all(rows: Sequence[Row], held: Sequence[Row], write: bool) -> None:
    import torch

    torch.manual_seed(0)
    weights = _fitted(rows)
    for name, value in sorted(weights.items(), key=lambda one: one[1]):
        print(f"{name:28} {value:6.2f}")
    print(f"fitted    {_right(rows, weights)}")
    groups = sorted({row["group"] for row in rows})
    out = [
        row for group in groups
        for row in _judged([one for one in rows if one["group"] == group],
                           _fitted([one for one in rows if one["group"] != group]))
    ]  # fmt: skip
    print(f"left out  {_told(out)}")
    print(f"held      {_right(held, weights)}" if held else "")
    if write:
        _write(weights)


def _fitted(rows: Sequence[Row]) -> dict[str, float]:
    """Costs by feature under which the right survivors of each program come first; where none is right, none."""
    import torch

    usable = [row for row in rows if row["survivors"]]
    counts: dict[str, int] = defaultdict(int)
    for row in usable:
        for one in row["survivors"]:
            for name in one["features"]:
                counts[name] += 1
    names = sorted(name for name, count in counts.items() if count >= 5 and not by_hand(name))
    index = {name: at for at, name in enumerate(names)}
    weight = torch.zeros(len(names), requires_grad=True)
    most = max(len(row["survivors"]) for row in usable)
    table = torch.zeros(len(usable), most + 1, len(names))  # the last of each: none of them is right
    there, good = torch.zeros(2, len(usable), most + 1, dtype=torch.bool)
    given = torch.zeros(len(usable), most + 1)  # what is known by hand
    for at, row in enumerate(usable):
        for number, one in enumerate(row["survivors"]):
            there[at, number], good[at, number] = True, right(one)
            for name, value in one["features"].items():
                if name in index:
                    table[at, number, index[name]] = value
            given[at, number] = sum(value * unfitted(name) for name, value in one["features"].items() if by_hand(name))
    good[:, most] = ~good.any(1)
    there[:, most] = True
    optimizer = torch.optim.Adam([weight], lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        score = -(table @ weight) - given
        every, those = (torch.logsumexp(score.masked_fill(~one, -math.inf), 1) for one in (there, good))
        loss = PENALTY * (weight**2).sum() + (every - those).sum()
        loss.backward()
        optimizer.step()
    return {name: round(float(value), 2) for name, value in zip(names, weight.detach(), strict=True)}


def right(one: Mapping[str, Any]) -> bool:
    """Whether a survivor is a right one: at a line to blame, and the program reaches its goal as it was meant to."""
    return bool(one["at"] and one["fixed"] and one["kept"])


def cost(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """What speaks against a survivor."""
    return sum(value * weights.get(name, unfitted(name)) for name, value in features.items())


def _judged(rows: Sequence[Row], weights: Mapping[str, float]) -> list[Judged]:
    """For each program with survivors: whether any is right, whether the first is at a right line, and right."""
    found = []
    for row in rows:
        ranked = sorted(row["survivors"], key=lambda one: cost(one["features"], weights))
        if ranked:
            found.append((any(map(right, ranked)), bool(ranked[0]["at"]), right(ranked[0]), _share(ranked, weights)))
    return found


def _share(ranked: Sequence[Mapping[str, Any]], weights: Mapping[str, float]) -> float:
    """The share of the first one's line, beside all others and none of them."""
    worth = [math.exp(-cost(one["features"], weights)) for one in ranked]
    own = sum(each for each, one in zip(worth, ranked, strict=True) if one["line"] == ranked[0]["line"])
    return own / (sum(worth) + 1.0)


def _right(rows: Sequence[Row], weights: Mapping[str, float]) -> str:
    return _told(_judged(rows, weights))


def _told(found: Sequence[Judged]) -> str:
    possible, line, first, _ = (sum(column) for column in zip(*found, strict=True)) if found else (0, 0, 0, 0)
    said = f"of {len(found)} programs with survivors a right one in {possible}; first: line {line}, repair {first}"
    for least in (0.2, 0.35, 0.5, 0.7, 0.9, 0.95):
        row = [one for one in found if one[3] >= least]
        lines, repairs = sum(one[1] for one in row), sum(one[2] for one in row)
        said += f"\n    share >= {least}: {len(row)} programs, line {lines}, repair {repairs}"
    return said


def _write(weights: Mapping[str, float]) -> None:
    rows = "".join(f"    {json.dumps(name)}: {value},\n" for name, value in sorted(weights.items()))
    head = '"""What each feature of a survivor costs: made by `scripts/fit_prior.py`."""\n\n'
    head += "from __future__ import annotations\n\nfrom collections.abc import Mapping\n\n"
    WEIGHTS.write_text(f"{head}WEIGHTS: Mapping[str, float] = {{\n{rows}}}\n", encoding="utf-8")


def _read(files: Sequence[Path]) -> list[Row]:
    return [json.loads(line) for file in files or () for line in file.read_text(encoding="utf-8").splitlines()]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("survey", "fit"))
    parser.add_argument("files", nargs="+", type=Path, metavar="FOLDER|FILE")
    parser.add_argument("--rows", type=Path, default=Path("survivors.jsonl"), metavar="FILE")
    parser.add_argument("--held", nargs="*", type=Path, metavar="FILE", help="surveys that are not fitted")
    parser.add_argument("--write", action="store_true", help="write explainer/repair/weights.py")
    return parser


if __name__ == "__main__":
    main()
