"""Fits `explainer/grammar/weights.py`: how much each word of a message tells that torch raised it, and not others.

    python scripts/ownership.py collect FOLDER... > messages.jsonl
    python scripts/ownership.py fit --ours torch.jsonl --others others.jsonl [--out explainer/grammar/weights.py]

`collect` takes the messages that sources raise: of Python's `raise`, of TORCH_CHECK and its kin in C++.
Ours are those of a checkout of PyTorch, others those of unpacked packages (keras, jax, scipy, pandas, Python's own).
`fit` leaves out a third of the files, chosen by their names, and prints how many of their messages are told apart.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
from explainer.grammar.owner import evidence, is_others
from explainer.grammar.sentence import cleaned, operator_of
from explainer.grammar.vocabulary import lowered

_PLACEHOLDER = re.compile(r"\{[^{}]*\}|%[-\d.]*(?:\(\w+\))?[sdrifgx]")
_CHECK = re.compile(r"\b(?:TORCH_CHECK\w*|AT_ERROR|C10_THROW_ERROR|CAFFE_ENFORCE\w*|TORCH_INTERNAL_ASSERT)\s*\(")
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
#: Words that fewer messages have, or that weigh less, are left out; the strength of the L1 penalty, and the steps.
RARE, LIGHT, PENALTY, STEPS = 4, 0.25, 5e-5, 400
#: How many times more the RuntimeErrors of others count: programs raise them too, whose sources are not here.
OFTEN = 4
TEMPLATE = '''"""How much a word tells that torch raised a message (above zero), or another package; in tenths.

Made by `scripts/ownership.py`, which leaves a third of all source files out; not to be edited.
"""

BIAS = {bias}
#: Types of exceptions are words too; `op()` is an operator before the claim, `Other` any type of a package's own.
WEIGHTS = {{
{lines}
}}  # fmt: skip
'''


def literal(node: ast.AST) -> str | None:
    """The text of an expression with `{}` for what is not literal; None where nothing is."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        left, right = literal(node.left), literal(node.right) if isinstance(node.op, ast.Add) else ""
        return None if left is None and not right else (left or "{}") + ("{}" if right is None else right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return literal(node.func.value)
    return None


def raised(source: str) -> Iterator[tuple[str, str]]:
    """The type and the message of whatever Python source raises."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            yield ast.unparse(node.exc.func).rpartition(".")[2], literal(node.exc.args[0]) or ""


def checked(source: str) -> Iterator[tuple[str, str]]:
    """The type and the message of checks in C++."""
    kinds = {
        "INDEX": "IndexError",
        "VALUE": "ValueError",
        "TYPE": "TypeError",
        "NOT_IMPLEMENTED": "NotImplementedError",
    }
    for found in _CHECK.finditer(source):
        body = source[found.end() : found.end() + 1500].partition(");")[0].partition(",")[2]
        kind = next((name for part, name in kinds.items() if part in found[0]), "RuntimeError")
        yield kind, "{}".join(_LITERAL.findall(body))


def collect(folder: Path) -> Iterator[dict[str, str]]:
    """The messages of a tree of sources."""
    for path in sorted(folder.rglob("*")):
        read = (
            raised if path.suffix == ".py" else checked if path.suffix in (".cpp", ".h", ".cu", ".cuh", ".mm") else None
        )
        if read is None or not path.is_file():
            continue
        try:
            found = list(read(path.read_text(encoding="utf-8", errors="replace")))
        except (SyntaxError, ValueError, RecursionError):
            continue
        for kind, text in found:
            if len(text) > 5:
                name = path.relative_to(folder).as_posix()
                yield {"package": folder.name, "file": name, "exception": kind, "template": text}


def held(row: dict[str, str]) -> bool:
    """Whether a file's messages are kept for the measure."""
    return int(hashlib.sha1(row["file"].encode()).hexdigest(), 16) % 3 == 0


def features(row: dict[str, str]) -> frozenset[str]:
    """What a message tells by."""
    text = cleaned(_PLACEHOLDER.sub(" 0 ", row["template"]))
    return evidence(row["exception"].partition("(")[0], lowered(text), operator_of(text)[0] is not None)


def fitted(documents: list[frozenset[str]], ours: list[float]) -> tuple[dict[str, float], float]:
    """Weights and bias of a logistic regression with an L1 penalty, by FISTA; both classes count alike."""
    import torch

    often = Counter(word for one in documents for word in one)
    words = {word: at for at, word in enumerate(sorted(word for word, n in often.items() if n >= RARE))}
    places = torch.tensor([[at, words[word]] for at, one in enumerate(documents) for word in one if word in words]).T
    rows, wide = len(documents), len(words)
    matrix = lambda at, shape: torch.sparse_coo_tensor(at, torch.ones(at.shape[1]), shape).to_sparse_csr()  # noqa: E731
    table, turned = matrix(places, (rows, wide)), matrix(places.flip(0), (wide, rows))
    label = torch.tensor(ours)
    share = torch.where(label > 0, rows / (2 * label.sum()), rows / (2 * (1 - label).sum())) / rows
    probe = torch.ones(wide, 1)
    for _ in range(20):
        probe = turned @ (table @ probe)
        probe /= probe.norm()
    slope = 0.25 * float((turned @ (table @ probe)).norm() * share.max()) + 1
    weights, bias, pace = torch.zeros(wide, 1), torch.zeros(1), 1.0
    ahead, ahead_bias = weights, bias
    for _ in range(STEPS):
        missed = (torch.sigmoid((table @ ahead).squeeze(1) + ahead_bias) - label) * share
        stepped = ahead - turned @ missed[:, None] / slope
        stepped = stepped.sign() * (stepped.abs() - PENALTY / slope).clamp(min=0)
        stepped_bias = ahead_bias - 4 * missed.sum() / slope
        faster = (1 + (1 + 4 * pace * pace) ** 0.5) / 2
        ahead = stepped + (pace - 1) / faster * (stepped - weights)
        ahead_bias = stepped_bias + (pace - 1) / faster * (stepped_bias - bias)
        weights, bias, pace = stepped, stepped_bias, faster
    heavy = {word: float(weights[at]) for word, at in words.items() if abs(float(weights[at])) > LIGHT}
    return heavy, float(bias)


def written(weights: dict[str, float], bias: float) -> str:
    """The module that holds the weights."""
    lines, line = [], "   "
    for word, weight in sorted(weights.items()):
        entry = f' "{word}": {round(10 * weight)},'
        if len(line) + len(entry) > 118:
            lines.append(line)
            line = "   "
        line += entry
    return TEMPLATE.format(bias=round(10 * bias), lines="\n".join([*lines, line]))


def fit(ours: list[dict[str, str]], others: list[dict[str, str]], out: Path) -> None:
    """Writes the weights, and prints what share of the messages of files left out has a score above some bounds."""
    rows = [(one, 1.0) for one in ours] + [(one, 0.0) for one in others]
    rows = [(one, label) for one, label in rows if not is_others(one["template"])]
    learnt = [(features(one), label) for one, label in rows if not held(one)]
    learnt += [one for one in learnt if not one[1] and "RuntimeError" in one[0]] * OFTEN
    weights, bias = fitted([one for one, _ in learnt], [label for _, label in learnt])
    out.write_text(written(weights, bias))
    print(f"{len(learnt)} messages, {len(weights)} words")
    scored = [(bias + sum(weights.get(word, 0) for word in features(one)), label) for one, label in rows if held(one)]
    for bound in (-1.5, -0.5, 0.0, 0.7, 1.5):
        shares = [[score > bound for score, label in scored if label == which] for which in (1.0, 0.0)]
        print(f"above {bound:4.1f}: ours {_percent(shares[0])}, others {_percent(shares[1])}")


def _percent(flags: list[bool]) -> str:
    return f"{100 * sum(flags) / max(len(flags), 1):.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("collect").add_argument("folders", type=Path, nargs="+")
    fitting = commands.add_parser("fit")
    for name in ("--ours", "--others"):
        fitting.add_argument(name, type=Path, required=True)
    fitting.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "explainer/grammar/weights.py")
    given: Any = parser.parse_args()
    if given.command == "collect":
        for folder in given.folders:
            for row in collect(folder):
                print(json.dumps(row))
    else:
        rows = [[json.loads(line) for line in path.read_text().splitlines()] for path in (given.ours, given.others)]
        fit(*rows, given.out)


if __name__ == "__main__":
    main()
