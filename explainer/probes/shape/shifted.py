"""Where labels or indices left their range: the expression that moved them, found by what the names hold."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import Settings, SpanFact, TensorFact
from explainer.probes import probe
from explainer.probes.follow import Trait, followed
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.shape.indices import LARGEST
from explainer.probes.values import readable
from explainer.source import called

#: The label that torch's losses leave out unasked.
_IGNORED = -100
#: Calls that hand the same numbers on.
_SAME = frozenset(
    """to cpu cuda long int clone detach contiguous view reshape flatten squeeze unsqueeze tensor as_tensor from_numpy
    stack cat permute transpose expand repeat roll flip astype array asarray concatenate index_select split chunk
    unbind tensor_split""".split()  # noqa: SIM905
)


@probe
def left_range(scene: Scene, of: TensorFact | None = None, wrong: Settings | None = None) -> SpanFact | None:
    """The expression that took entries out of the range that `wrong` (a fact of `out_of_range`) names: `labels + 1`.

    `detail`: `kept`, the source of what was shifted or scaled by a number where it does no more, else none;
    `alone`, whether the statement does nothing else (`x = x + 1`); `function`, where it stands.
    """
    found = followed(scene, of, Range(int(wrong["low"]), int(wrong["limit"]))) if wrong is not None else None
    if found is None:
        return None
    shifted = found.source.text(found.node.left) if _by_number(found.node) is not None else None  # type: ignore[attr-defined]
    function = found.source.qualified_at(found.node.lineno)  # type: ignore[attr-defined]
    statement = found.source.statement_at(found.node.lineno)  # type: ignore[attr-defined]
    alone = isinstance(statement, ast.Assign) and [found.source.text(one) for one in statement.targets] == [shifted]
    return span_fact(found.source, found.node, kept=shifted, alone=alone, function=function)


class Range(Trait):
    """Integers outside of `low` to `limit - 1`."""

    wanted = "outside"

    def __init__(self, low: int, limit: int):
        self.low, self.limit = low, limit

    def of(self, value: Any) -> str | None:
        if not _readable(value):
            return None
        plain = value.detach()
        wrong = ((plain < self.low) | (plain >= self.limit)) & (plain != _IGNORED)
        return "outside" if bool(wrong.any()) else "inside"

    def of_expression(self, node: ast.AST) -> str | None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.right, ast.Constant):
            return "outside" if type(node.right.value) is int and node.right.value > self.limit else None
        function = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        ends: list[Any] = [one.value for one in getattr(node, "args", ())[:2] if isinstance(one, ast.Constant)]
        if function != "torch.randint" or not ends or not all(type(one) is int for one in ends):
            return None
        low, high = (0, ends[0]) if len(ends) == 1 else ends
        return "outside" if low < self.low or high > self.limit else "inside"

    def keeps(self, node: ast.AST) -> bool:
        return not isinstance(node, ast.Call) or called(node) in _SAME

    def gives(self, node: ast.AST) -> bool:
        return isinstance(node, ast.BinOp)

    def before(self, value: Any, node: ast.AST) -> str | None:
        by = _by_number(node)
        if by is None or not _readable(value):
            return None
        if isinstance(node.op, ast.Mult):  # type: ignore[attr-defined]
            return self.of(value // by) if by and not bool((value % by).any()) else None
        return self.of(value - by if isinstance(node.op, ast.Add) else value + by)  # type: ignore[attr-defined]


def _readable(value: Any) -> bool:
    if not readable(value, LARGEST) or value.is_floating_point() or value.is_complex():
        return False
    return str(value.dtype) != "torch.bool"


def _by_number(node: ast.AST) -> int | None:
    """The whole number that an expression adds to its left operand, takes from it or multiplies it with."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        return None
    by = node.right.value if isinstance(node.right, ast.Constant) else None
    return by if type(by) is int else None
