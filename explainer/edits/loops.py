"""Loops read from source: what an expression is in each pass, and which sequence a name goes through."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from explainer.edits.expressions import evaluated
from explainer.edits.place import Place
from explainer.frozen import frozen
from explainer.source import called

_MOST = 64
_LOOPS = (ast.For, ast.ListComp, ast.GeneratorExp, ast.SetComp)
_STEPS = {ast.FloorDiv: lambda a, b: a // b, ast.Mult: lambda a, b: a * b, ast.Add: lambda a, b: a + b,
          ast.Sub: lambda a, b: a - b, ast.Div: lambda a, b: a // b}  # fmt: skip


@frozen
class Loop:
    """A `for` statement or the `for` of a comprehension: its target, what it goes through, its body."""

    target: ast.expr
    iterated: ast.expr
    body: Sequence[ast.stmt]

    def values(self, node: ast.expr, scope: Mapping[str, Any]) -> list[int]:
        """What an expression is in each pass, in turn; empty where that is not known.

        It may name the loop's counter, or be a name that each pass changes: `side //= 2`.
        """
        passes = self.passes(scope)
        if isinstance(node, ast.Name) and (change := self._change(node.id)) is not None:
            return self._changed(node, change, passes, scope)
        counter = self._counter()
        every = [evaluated(node, {**scope, counter: at}) for at in range(passes)] if counter else []
        known = [one for one in every if one is not None]
        return known if len(known) == len(every) and len(set(known)) > 1 else []

    def passes(self, scope: Mapping[str, Any]) -> int:
        """How often the body is run; 0 where that is not known."""
        node = self.iterated
        given = node.args if isinstance(node, ast.Call) else []
        name = called(node) if isinstance(node, ast.Call) else ""
        if name == "range":
            found = evaluated(given[0], scope) if len(given) == 1 else None
        elif name in ("enumerate", "zip") and given:
            found = min((size for size in (_length(one, scope) for one in given) if size), default=None)
        else:
            found = _length(node, scope)
        return min(found or 0, _MOST)

    def sequence(self, node: ast.expr) -> ast.expr | None:
        """The sequence of which an expression is the present entry: `flags` of `zip(widths, flags)`, of `flags[i]`."""
        if isinstance(node, ast.Subscript):
            return node.value if ast.unparse(node.slice) == self._counter() else None
        target, through = self.target, self.iterated
        if isinstance(through, ast.Call) and called(through) == "enumerate" and isinstance(target, ast.Tuple):
            target, through = target.elts[-1], through.args[0]
        if isinstance(through, ast.Call) and called(through) == "zip" and isinstance(target, ast.Tuple):
            pairs = zip(target.elts, through.args, strict=False)
            return next((one for name, one in pairs if ast.unparse(name) == ast.unparse(node)), None)
        return through if ast.unparse(target) == ast.unparse(node) else None

    def _counter(self) -> str:
        """The name that counts the passes; empty where none does."""
        name = called(self.iterated) if isinstance(self.iterated, ast.Call) else ""
        if name == "enumerate" and isinstance(self.target, ast.Tuple):
            return ast.unparse(self.target.elts[0])
        return ast.unparse(self.target) if name == "range" else ""

    def _change(self, name: str) -> tuple[type[ast.operator], ast.expr] | None:
        """The sign and the number of the one statement of the body that computes a name from itself."""
        for one in (part for stmt in self.body for part in ast.walk(stmt)):
            if isinstance(one, ast.AugAssign) and ast.unparse(one.target) == name:
                return type(one.op), one.value
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.BinOp):
                own = ast.unparse(one.targets[0]) == name == ast.unparse(one.value.left)
                if own:
                    return type(one.value.op), one.value.right
        return None

    def _changed(self, node: ast.Name, change: Any, passes: int, scope: Mapping[str, Any]) -> list[int]:
        """The present value of a name that each pass changes and those that follow, as many as there can be."""
        by, value = evaluated(change[1], scope), evaluated(node, scope)
        if change[0] not in _STEPS or by is None or value is None:
            return []
        found = [value]
        while len(found) < (passes or 4) and found[-1] > 0:
            found.append(_STEPS[change[0]](found[-1], by))
        return found


def loops_around(place: Place) -> list[Loop]:
    """The loops whose body, or whose element, holds a place, the innermost first."""
    found: list[Loop] = []
    for node in place.source.nodes():
        if not isinstance(node, _LOOPS) or not any(one is place.node for one in ast.walk(node)):
            continue
        if isinstance(node, ast.For):
            found.insert(0, Loop(node.target, node.iter, tuple(node.body)))
        else:
            found[:0] = [Loop(one.target, one.iter, ()) for one in reversed(node.generators)]
    return found


def _length(node: ast.expr, scope: Mapping[str, Any]) -> int | None:
    """The length of a sequence that a scope knows, or that the source writes out."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return len(node.elts)
    return evaluated(ast.parse(f"len({ast.unparse(node)})", mode="eval").body, scope)
