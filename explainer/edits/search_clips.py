"""Candidates for crops and frames: a batch of several images a sample, where the model takes one image a sample."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_primary


def folded(evidence: Evidence) -> Iterator[Candidate]:
    """`net(x)` of (N, T, C, H, W) -> `net(x.flatten(0, 1)).unflatten(0, x.shape[:2])`, or the mean over T of that."""
    crash = evidence.crash
    shapes = [shape for shape, _ in crash.before[:2]] if crash is not None else []
    if crash is None or not crash.function.startswith("conv") or len(shapes) < 2:
        return
    if len(shapes[0]) != len(shapes[1]) + 1:
        return
    for frame in evidence.frames:
        for given in _given(frame, shapes[0]):
            yield from _around(evidence, frame.place, given, "fold", "")
            yield from _around(evidence, frame.place, given, "fold-mean", ".mean(1)")


def _given(frame: Call, shape: list[int]) -> list[Place]:
    """The argument of a call of a model, or of a layer, that has the shape."""
    node = frame.place.node
    if not isinstance(node, ast.Call) or ast.unparse(node.func).split(".")[0] in ("torch", "F", "nn"):
        return []
    return [frame.place.at(one) for one in node.args if frame.shape(ast.unparse(one)) == shape]


def _around(evidence: Evidence, call: Place, given: Place, title: str, ending: str) -> Iterator[Candidate]:
    name = as_primary(given)
    behind = f".unflatten(0, {name}.shape[:2]){ending}"
    spans = [(given.span, f"{name}.flatten(0, 1)"), (call.end, behind)]
    yield from evidence.made(partial(changed, call.source, spans), "insert-method", call, title, what=given.text)
