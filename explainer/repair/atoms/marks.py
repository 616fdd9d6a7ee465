"""What marks put around a part that was cut to a length: it is too long by as many as there are marks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from explainer.edits.evidence import Evidence
from explainer.edits.expressions import summands
from explainer.repair.atoms.common import expressions, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called

#: The first size of each sample that a message names.
_LENGTH = re.compile(r"\[(\d+)[\],]")
_JOINING = ("cat", "concat", "concatenate", "hstack")


def marked(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`[CLS] + ids[:n] + [SEP]` -> `[CLS] + ids[:n - 2] + [SEP]`, where samples differ in length by no more."""
    lengths = [int(one) for one in _LENGTH.findall(evidence.message)]
    apart = max(lengths, default=0) - min(lengths, default=0)
    for node in expressions(spot):
        parts = _parts(node)
        count = sum(_marks(one, isinstance(node, ast.BinOp)) for one in parts)
        for end in [end for one in parts if (end := _end(one)) is not None] if 0 < apart <= count else ():
            yield Offer("marked", spot, end, f"{text(spot, end)} - {count}", "marks")


def _parts(node: ast.expr) -> Sequence[ast.expr]:
    """What is put behind each other: the terms of a sum, the elements of a list, what is joined."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return summands(node)
    if isinstance(node, ast.List):
        return node.elts
    first = node.args[0] if isinstance(node, ast.Call) and called(node) in _JOINING and node.args else None
    return first.elts if isinstance(first, (ast.List, ast.Tuple)) else ()


def _marks(part: ast.expr, summed: bool) -> int:
    """How many entries a part is that are written out: those of a list, which alone are `summed`, or one."""
    if isinstance(part, ast.List):
        return len(part.elts) * all(not isinstance(one, ast.Starred) for one in part.elts)
    return int(not summed and isinstance(part, (ast.Name, ast.Attribute, ast.Constant)))


def _end(part: ast.expr) -> ast.expr | None:
    """Up to where a part is taken of something from its start: `n` of `ids[:n]`."""
    inner = part.value if isinstance(part, ast.Starred) else part
    cut = inner.slice if isinstance(inner, ast.Subscript) else None
    plain = isinstance(cut, ast.Slice) and cut.lower is None and cut.step is None
    return cut.upper if plain and not isinstance(cut.upper, ast.UnaryOp) else None  # type: ignore[union-attr]
