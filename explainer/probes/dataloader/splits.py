"""Datasets split into parts whose lengths do not add up to theirs."""

from __future__ import annotations

import ast
import functools
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import called


@probe
def split_lengths(scene: Scene) -> SpanFact | None:
    """The lengths that the failing `random_split` was given: the list, or the value that its name was bound to.

    `detail`: `name` of the list or empty, `dataset` as the call names it, `sum` and `size` (of the dataset, or none),
    `last` the last element as it would be right, of a list that is written out.
    """
    frame, failing = scene.user_frame, scene.failing
    call = failing.node if failing is not None else None
    given = _given(scene)
    if frame is None or failing is None or given is None or not isinstance(call, ast.Call):
        return None
    arguments = [*call.args, *(word.value for word in call.keywords if word.arg == "lengths")]
    if called(call) != "random_split" or len(arguments) < 2:
        return None
    dataset, lengths = failing.source.text(arguments[0]), arguments[1]
    name = lengths.id if isinstance(lengths, ast.Name) else ""
    bound = last_binding(failing.source, frame, name) if name else None
    value = bound.value if isinstance(bound, ast.Assign) else lengths
    known: dict[str, Any] = {
        "name": name,
        "dataset": dataset,
        "sum": given[0],
        "size": given[1],
        "last": _last(dataset, value),
    }
    return span_fact(failing.source, value, **known)


def _given(scene: Scene) -> tuple[int, int | None] | None:
    """The sum of the lengths in torch's own frame, and the dataset's size as its `__len__` tells it in a sandbox."""
    from explainer.replay import run

    for frame in scene.live.frames if scene.live is not None else ():
        held: Any = frame.locals
        if frame.frame.f_code.co_name == "random_split" and all(type(one) is int for one in held.get("lengths", "x")):
            dataset = held["dataset"]
            size = run.sandboxed(scene, functools.partial(len, dataset)) if run.why_not(scene) is None else None
            return sum(held["lengths"]), size
    return None


def _last(dataset: str, lengths: ast.AST) -> str:
    """What the last of several lengths must be: `len(data) - int(0.8 * n)`."""
    parts = lengths.elts if isinstance(lengths, (ast.List, ast.Tuple)) else []
    if len(parts) < 2 or any(isinstance(one, ast.Starred) for one in parts):
        return ""
    return " - ".join([f"len({dataset})", *(_operand(one) for one in parts[:-1])])


def _operand(node: ast.expr) -> str:
    return f"({ast.unparse(node)})" if isinstance(node, (ast.BinOp, ast.IfExp)) else ast.unparse(node)


@probe
def last_length(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The last element of a list of lengths that is written out."""
    source = scene.source(of.span.file) if of is not None else None
    if of is None or source is None:
        return None
    lists = (one for one in source.nodes() if isinstance(one, (ast.List, ast.Tuple)) and len(one.elts) > 1)
    found = next((one for one in lists if source.span(one) == of.span), None)
    return span_fact(source, found.elts[-1]) if found is not None else None
