"""Streams that are shared between workers: where each takes its share, and what was bound to nothing of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.bindings import arguments_of
from explainer.facts import SpanFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.dataloader.datasets import dataset_of
from explainer.probes.files import calls_named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import attribute, fields_of
from explainer.source import Function, Source, called, loaded

_WORKER = Pattern(r"in DataLoader worker process (\d+)")
#: What is said of nothing.
_EMPTY = Pattern(r"empty|at least (?:one|1)\b|index out of range|got 0\b|num_samples=0|division by zero")
#: Functions that hand on as many entries as they are given.
_KEEPING = ("sorted", "list", "tuple", "reversed", "enumerate")


@probe
def worker_share(scene: Scene) -> SpanFact | None:
    """The expression by which each worker takes its share of what a stream holds, where there are more workers.

    `detail`: `workers`, the `worker` that failed and got nothing, `entries`, how many there are, `of`, what they are
    called, and the `dataset`'s class.
    """
    workers, worker, dataset = _workers(scene), _worker(scene), dataset_of(scene)
    if workers is None or worker is None or dataset is None or not _EMPTY.search(scene.crash.message):
        return None
    about = {"workers": workers, "worker": worker, "dataset": type(dataset).__name__}
    for source, function in _asking(scene):
        for node, shared in _shares(function):
            of = _origin(scene, function, shared)
            held: Any = attribute(dataset, of.attr) if of is not None else None
            if of is None or type(held) not in (list, tuple) or not 0 < len(held) < workers:
                continue
            if worker >= len(held) or not _evenly(node):
                name = getattr(function, "name", "")
                return span_fact(source, node, entries=len(held), of=of.attr, function=name, **about)
    return None


def _workers(scene: Scene) -> int | None:
    for frame in reversed(scene.live.frames if scene.live is not None else []):
        count = fields_of(frame.locals.get("self")).get("_num_workers") if "self" in frame.locals else None
        if type(count) is int:
            return count
    return None


def _worker(scene: Scene) -> int | None:
    error = scene.live.error if scene.live is not None else None
    told = error.args[0] if error is not None and error.args else ""
    found = _WORKER.search(told) if type(told) is str else None
    return int(found[1]) if found is not None else None


def _asking(scene: Scene) -> Iterator[tuple[Source, Function]]:
    """The functions that ask which worker they run in."""
    for source, call in calls_named(scene, "get_worker_info"):
        function = source.function_at(call.lineno)
        if function is not None:
            yield source, function


def _shares(function: Function) -> Iterator[tuple[ast.expr, ast.expr]]:
    """`files[worker.id::worker.num_workers]`, `islice(files, ...)` and the like, with what each takes a part of."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            yield node, node.value
        elif isinstance(node, ast.Call) and called(node) == "islice" and len(node.args) == 4:
            yield node, node.args[0]


def _evenly(node: ast.expr) -> bool:
    """Whether a share is every n-th entry."""
    return not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)) or node.slice.step is not None


def _origin(scene: Scene, function: Function, node: ast.expr) -> ast.Attribute | None:
    """The attribute of the dataset that an expression has its entries from: through names, arguments and `sorted`."""
    for _ in range(4):
        while isinstance(node, ast.Call) and called(node) in _KEEPING and node.args:
            node = node.args[0]
        if not isinstance(node, ast.Name):
            break
        node = _bound(function, node.id) or _given(scene, function, node.id) or ast.Constant(None)
    own = isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self"
    return node if isinstance(node, ast.Attribute) and own else None


def _bound(function: Function, name: str) -> ast.expr | None:
    found = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and _target(one) == name]
    found = [one for one in found if name not in loaded(one.value)] or found
    return found[0].value if found else None


def _given(scene: Scene, function: Function, name: str) -> ast.expr | None:
    """What the only call of a function gives a parameter."""
    arguments = getattr(function, "args", None)
    names = [one.arg for one in arguments.args if one.arg != "self"] if arguments is not None else []
    calls = calls_named(scene, getattr(function, "name", "")) if name in names else []
    return arguments_of(calls[0][1], names).get(name) if len(calls) == 1 else None


def _target(node: ast.Assign) -> str:
    return getattr(node.targets[0], "id", "")


@probe
def bound_to_nothing(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The statement of a generator that bound a name to what was made of an empty share; `detail.name`."""
    for frame in reversed(scene.crash.frames) if of is not None else ():
        source = scene.frame_source(frame) if frame.user else None
        function = source.function_at(frame.line) if source is not None else None
        if source is None or of is None or function is None or not _yields(function):
            continue
        made = _made_of(source, function, of)
        failing = source.statement_at(frame.line)
        above = [one for one in made if one.lineno < frame.line]
        near = [one for one in above if failing is not None and _target(one) in loaded(failing)] or above
        return span_fact(source, near[-1], name=_target(near[-1])) if near else None
    return None


def _yields(function: Function) -> bool:
    return any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in ast.walk(function))


def _made_of(source: Source, function: Function, share: SpanFact) -> list[ast.Assign]:
    """The assignments of a function that are made of a share, one from the other, in their order."""
    names: set[str] = set()
    found = []
    for one in sorted((one for one in ast.walk(function) if isinstance(one, ast.Assign)), key=lambda one: one.lineno):
        calls = {called(part) for part in ast.walk(one.value) if isinstance(part, ast.Call)}
        written = source.file == share.span.file and share.text in source.text(one.value)
        if _target(one) and (written or share["function"] in calls or loaded(one.value) & names):
            names.add(_target(one))
            found.append(one)
    return found
