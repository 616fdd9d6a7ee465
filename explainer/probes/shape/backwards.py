"""Numpy arrays that run through memory backwards, followed to the flip that made them so."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.follow import At, Follow, Trait
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source

_FLIPS = ("flip", "flipud", "fliplr", "rot90")
_COPIES = ("copy", "ascontiguousarray", "array", "astype")


@probe
def reversed_array(scene: Scene) -> SpanFact | None:
    """The flip behind the array that a failing call (`torch.from_numpy(image)`) was given, else that argument.

    `detail`: `flip` tells whether it is the flip, `name` what the call was given.
    """
    failing, live = scene.failing, scene.live
    node = failing.node if failing is not None else None
    if failing is None or live is None or not isinstance(node, ast.Call) or not node.args:
        return None
    given = node.args[0]
    trait = Backwards()
    found = Follow(live.user, trait, scene).entry(At(failing.source, given, node.lineno, len(live.user) - 1))
    name = failing.source.text(given)
    if found is not None and _alone(found.source, found.node, trait):
        return span_fact(found.source, found.node, flip=True, name=name)
    return span_fact(failing.source, given, flip=False, name=name)


def _alone(source: Source, flip: ast.AST, trait: Trait) -> bool:
    """Whether no other flip stands in a flip's function: of several that are made at times, each may be the one."""
    scope = source.scope_at(flip.lineno)  # type: ignore[attr-defined]
    return sum(trait.of_expression(node) == "backwards" for node in ast.walk(scope)) == 1


class Backwards(Trait):
    """An array with a negative stride."""

    wanted = "backwards"

    def of(self, value: Any) -> str | None:
        strides = getattr(value, "strides", None) if type(value).__module__ == "numpy" else None
        if not isinstance(strides, tuple):
            return None
        return "backwards" if any(one < 0 for one in strides) else "forwards"

    def gives(self, node: ast.AST) -> bool:
        return False  # only a flip does, and that is told by its source

    def of_expression(self, node: ast.AST) -> str | None:
        if isinstance(node, ast.Subscript):
            return "backwards" if any(_is_reverse(one) for one in ast.walk(node.slice)) else None
        name = ast.unparse(node.func).rsplit(".", 1)[-1] if isinstance(node, ast.Call) else ""
        return "backwards" if name in _FLIPS else "forwards" if name in _COPIES else None


def _is_reverse(node: ast.AST) -> bool:
    """Whether a slice has the step -1, -2, ..."""
    return isinstance(node, ast.Slice) and isinstance(node.step, ast.UnaryOp) and isinstance(node.step.op, ast.USub)
