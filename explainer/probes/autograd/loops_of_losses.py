"""Losses that share a graph, sent backward one after the other by a loop over them."""

from __future__ import annotations

import ast

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.places import enclosing, span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called, loaded, stored

#: Methods of dicts of losses by how their sum is written.
_OF_DICTS = ("items", "values")


@probe
def losses_loop(scene: Scene) -> SpanFact | None:
    """The innermost loop around a failing `backward`, where it goes over the losses: its span.

    `detail.summed` is the call that goes backward once through the sum of them, `only` whether that call replaces the
    whole loop, `loss` what is sent backward.
    """
    failing = scene.failing
    call = failing.node if failing is not None else None
    if failing is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    loop = next(iter(enclosing(failing.source, call.lineno, (ast.For,))), None)
    loss = call.func.value
    if not isinstance(loop, ast.For) or called(call) != "backward" or not loaded(loss) & stored(loop.target):
        return None
    if any(loaded(loss) & stored(one) for one in loop.body):  # computed in the loop
        return None
    if not isinstance(loss, ast.Name) and any(_steps(one) for one in ast.walk(loop)):  # a loop over batches
        return None
    text = f"{_sum(failing.source, loop, loss)}.backward()"
    return span_fact(failing.source, loop, summed=text, only=len(loop.body) == 1, loss=failing.source.text(loss))


def _steps(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called(node) == "step"


def _sum(source: Source, loop: ast.For, loss: ast.expr) -> str:
    """`sum(losses.values())`; where more is done to a loss than to name it, the sum over the loop."""
    every, target = loop.iter, loop.target
    if isinstance(loss, ast.Name):
        pair = target.elts[-1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
        last = isinstance(pair, ast.Name) and pair.id == loss.id
        if isinstance(every, ast.Call) and called(every) in _OF_DICTS and (last or not isinstance(target, ast.Tuple)):
            return f"sum({source.text(every.func.value)}.values())"  # type: ignore[attr-defined]
        if isinstance(every, ast.Call) and called(every) == "enumerate" and last:
            return f"sum({source.text(every.args[0])})"
        if isinstance(target, ast.Name):
            return f"sum({source.text(every)})"
    return f"sum({source.text(loss)} for {source.text(target)} in {source.text(every)})"
