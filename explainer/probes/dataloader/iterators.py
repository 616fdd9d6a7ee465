"""Loaders used as what they are not: an iterator with `.next()`, an iterator themselves, a list."""

from __future__ import annotations

import ast

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import holds


@probe
def one_batch(scene: Scene) -> SpanFact | None:
    """The expression that asks a loader or its iterator for one batch in a way that it does not have.

    `detail.to` is how it is asked for; `detail.of` what is asked.
    """
    failing = scene.failing
    if failing is None or "DataLoader" not in scene.crash.message:
        return None
    line, source = failing.node.lineno, failing.source
    around = [one for one in source.nodes() if isinstance(one, ast.Call) and holds(one, line)]
    for node in (failing.node, *around):
        asked = _asked(node)
        if asked is not None:
            base, form = asked
            text = source.text(base)
            return span_fact(source, node, of=text, to=form.format(text))
    return None


def _asked(node: ast.AST) -> tuple[ast.expr, str] | None:
    """What is asked for a batch, and the right way: of `it.next()`, `next(loader)`, `loader[0]`, `loader()`."""
    if isinstance(node, ast.Subscript):
        return node.value, "next(iter({}))"
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("next", "__next__") and not node.args:
        return node.func.value, "next({})"
    if isinstance(node.func, ast.Name) and node.func.id == "next" and node.args:
        return node.args[0], "next(iter({}))"
    return (node.func, "next(iter({}))") if not node.args and not node.keywords else None
