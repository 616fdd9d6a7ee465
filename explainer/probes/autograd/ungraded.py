"""Parameters whose gradient is read although there is none: frozen ones, and those that no loss used."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.autograd.graph import named_modules
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import is_tensor, read

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


@probe
def missing_gradient(scene: Scene) -> SpanFact | None:
    """The expression `p.grad` in a loop over parameters, None for this leaf while others have theirs.

    `detail`: `tensor` (`p`), `frozen` (it does not require grad), `loop` (what goes over what), `graded` (of how
    many parameters there is a gradient).
    """
    found = scene.once("gradient in a loop", lambda: _read_in_loop(scene))
    graded = [one for _, module in named_modules(scene) for one in module.parameters() if one.grad is not None]
    if found is None or not graded or scene.failing is None:
        return None
    node, tensor, around = found
    source = scene.failing.source
    detail: dict[str, Any] = {"tensor": source.text(node.value), "frozen": not tensor.requires_grad}
    detail["loop"] = f"{source.text(around.target)} in {source.text(around.iter)}"
    return span_fact(source, node, graded=len({id(one) for one in graded}), **detail)


@probe
def comprehension_end(scene: Scene) -> SpanFact | None:
    """The last part of the comprehension in which such a gradient is read: what it goes over, or its last condition.

    `detail.word` is what joins one more condition to it.
    """
    found = scene.once("gradient in a loop", lambda: _read_in_loop(scene))
    if found is None or scene.failing is None or not isinstance(found[2], ast.comprehension):
        return None
    around = found[2]
    last = around.ifs[-1] if around.ifs else around.iter
    return span_fact(scene.failing.source, last, word="and" if around.ifs else "if")


@probe
def loop_statement(scene: Scene) -> SpanFact | None:
    """The statement of a `for` loop in which such a gradient is read."""
    found, failing = scene.once("gradient in a loop", lambda: _read_in_loop(scene)), scene.failing
    if found is None or failing is None or not isinstance(found[2], ast.For):
        return None
    inner = next((one for one in found[2].body if any(part is found[0] for part in ast.walk(one))), None)
    return span_fact(failing.source, inner) if inner is not None else None


def _read_in_loop(scene: Scene) -> tuple[ast.Attribute, Any, Any] | None:
    """`p.grad` where it is None for a leaf `p`, the leaf, and the loop or comprehension that binds `p`."""
    frame, failing = scene.user_frame, scene.failing
    for node in ast.walk(failing.node) if frame is not None and failing is not None else ():
        if frame is None or failing is None or not isinstance(node, ast.Attribute) or node.attr != "grad":
            continue
        tensor = read(node.value, frame.frame)
        if is_tensor(tensor) and tensor.is_leaf and tensor.grad is None:
            around = [one for one in _around(failing.source.nodes(), node) if _binds(one, node.value)]
            return (node, tensor, around[-1]) if around else None
    return None


def _around(nodes: Any, node: ast.AST) -> list[Any]:
    """The loops and comprehensions that hold a node, the outer ones first."""
    found: list[Any] = []
    for one in nodes:
        if isinstance(one, (ast.For, *_COMPREHENSIONS)) and any(part is node for part in ast.walk(one)):
            found += [one] if isinstance(one, ast.For) else one.generators
    return found


def _binds(around: Any, tensor: ast.expr) -> bool:
    names = {part.id for part in ast.walk(around.target) if isinstance(part, ast.Name)}
    return isinstance(tensor, ast.Name) and tensor.id in names
