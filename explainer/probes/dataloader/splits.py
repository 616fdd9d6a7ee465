"""Datasets split into parts whose lengths do not add up to theirs."""

from __future__ import annotations

import ast
import functools
from typing import Any

from explainer.bindings import arguments_of, only_value
from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.files import named
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called

_WRITTEN = "the lengths of a split"


@probe
def split_lengths(scene: Scene) -> SpanFact | None:
    """The lengths that the failing `random_split` was given: the list, or the value that its name was bound to.

    `detail`: `name` of the list or empty, `dataset` as the call names it, `sum` and `size` (of the dataset, or none),
    `last` the last length as it would be right, where they are written out, there or in the function that makes them.
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
    written = scene.once(_WRITTEN, lambda: _written(scene, failing.source, value, f"len({dataset})"))
    last = written.rest if written is not None else ""
    known: dict[str, Any] = {"name": name, "dataset": dataset, "sum": given[0], "size": given[1], "last": last}
    return span_fact(failing.source, value, **known)


@frozen
class Written:
    """Lengths that are written out, and how the size of the whole is called there."""

    source: Source
    parts: list[ast.expr]
    size: str

    @property
    def last(self) -> ast.expr:
        """What makes the last length: its place in the list, or what its name is given above in the function."""
        one = self.parts[-1]
        scope = self.source.scope_at(one.lineno) if isinstance(one, ast.Name) else None
        return (only_value(scope, one.id) if scope is not None and isinstance(one, ast.Name) else None) or one

    @property
    def rest(self) -> str:
        """What the last length must be: `len(data) - int(0.8 * n)`; empty where that cannot be said."""
        if len(self.parts) < 2 or any(isinstance(one, ast.Starred) for one in self.parts):
            return ""
        return " - ".join([self.size, *(_operand(one) for one in self.parts[:-1])])


def _written(scene: Scene, source: Source, value: ast.AST, size: str) -> Written | None:
    """The list or tuple that a value is, or that the only function of its name in the program hands back."""
    if isinstance(value, (ast.List, ast.Tuple)):
        return Written(source, value.elts, size)
    found = list(named(scene, ast.FunctionDef, called(value))) if isinstance(value, ast.Call) else []
    if len(found) != 1 or not isinstance(value, ast.Call):
        return None
    (home, function), names = found[0], [one.arg for one in found[0][1].args.args]
    sizes = [name for name, one in arguments_of(value, names).items() if source.text(one) == size]
    returns = [one.value for one in ast.walk(function) if isinstance(one, ast.Return)]
    made = returns[0] if len(returns) == 1 and len(sizes) == 1 else None
    return Written(home, made.elts, sizes[0]) if isinstance(made, (ast.List, ast.Tuple)) else None


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


def _operand(node: ast.expr) -> str:
    return f"({ast.unparse(node)})" if isinstance(node, (ast.BinOp, ast.IfExp)) else ast.unparse(node)


@probe
def last_length(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """What makes the last of the lengths that are written out."""
    written = scene.once(_WRITTEN, lambda: None) if of is not None else None  # what `of` was made with
    return span_fact(written.source, written.last) if written is not None and len(written.parts) > 1 else None
