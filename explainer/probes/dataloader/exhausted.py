"""Iterators of loaders that have given all their batches: where one was asked again, and where it was made."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.bindings import binding
from explainer.probes.places import enclosing, span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, fields_of, read
from explainer.source import called

_ITERATOR = "_BaseDataLoaderIter"


@probe
def exhausted(scene: Scene) -> SpanFact | None:
    """`next(batches)` of a loader's iterator that has no more: a span with `detail`.

    `iterator` is the source of what was asked, `batches` how many it had given, `lone` whether a statement does nothing
    but bind the result, `endless` whether only the end of the batches could have ended the loop around it.
    """
    frame, failing = scene.user_frame, scene.failing
    call = _next_call(failing.node) if failing is not None else None
    if frame is None or failing is None or call is None:
        return None
    given = _given(read(call.args[0], frame.frame), call.args[0])
    if given is None:
        return None
    source = failing.source
    statement = source.statement_at(call.lineno)
    lone = isinstance(statement, ast.Assign) and statement.value is call
    names = {"batches": given, "lone": lone, "endless": _endless(source, call.lineno)}
    iterator = source.text(call.args[0])
    return span_fact(source, call, iterator, iterator=iterator, **names)


def _next_call(node: ast.AST) -> ast.Call | None:
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call) and called(one) == "next"]
    return calls[0] if len(calls) == 1 and len(calls[0].args) == 1 else None


def _given(value: Any, node: ast.expr) -> int | None:
    """How many batches a loader's iterator had given; 0 for one that is made where it is asked; None for others."""
    if value is MISSING and isinstance(node, ast.Call) and called(node) == "iter":
        return 0
    known = any(base.__name__ == _ITERATOR for base in type(value).__mro__)
    return fields_of(value).get("_num_yielded", 0) if known else None


def _endless(source: Any, line: int) -> bool:
    """Whether the innermost loop around a line is a `while True` that nothing leaves."""
    loop = next(iter(enclosing(source, line, (ast.While, ast.For))), None)
    always = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant)
    return always and not any(isinstance(one, (ast.Break, ast.Return)) for one in ast.walk(loop))  # type: ignore[arg-type]


@probe
def iterator_made(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The `iter(loader)` that made an exhausted iterator; `detail.loader` is the loader's source.

    `near`: it stands where the loader's name means the same as at the call of `next`. `fixed`: a generator that looks
    the loader up later finds the same one.
    """
    failing = scene.failing
    call = _next_call(failing.node) if failing is not None else None
    if of is None or failing is None or call is None or scene.live is None:
        return None
    last = len(scene.live.user) - 1
    bound = binding(scene, call.args[0], last)
    if bound is None or not isinstance(bound.node, ast.Call) or called(bound.node) != "iter" or not bound.node.args:
        return None
    loader = bound.source.text(bound.node.args[0])
    near = bound.frame == last or (bound.frame is None and loader.startswith("self."))
    fixed = not isinstance(bound.node.args[0], ast.Call) and not _in_turn(bound.source, bound.node)
    return span_fact(bound.source, bound.node, loader, loader=loader, near=near and fixed, fixed=fixed)


def _in_turn(source: Any, call: ast.Call) -> bool:
    """Whether a call is made for each of several loaders, in a comprehension or a loop over them."""
    loops = (ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.For)
    around = [one for one in source.nodes() if isinstance(one, loops) and any(part is call for part in ast.walk(one))]
    named = {one.id for one in ast.walk(call.args[0]) if isinstance(one, ast.Name)}
    targets = [part.target for one in around for part in getattr(one, "generators", [one])]
    return any(one.id in named for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))


@probe
def counted_loop(scene: Scene, of: SpanFact | None = None, made: SpanFact | None = None) -> SpanFact | None:
    """The count of `for i in range(len(samples))` around a call of `next`, where it is not the loader's length."""
    loop = None
    source = scene.source(of.span.file) if of is not None else None
    if of is not None and source is not None and made is not None and made["near"]:
        loop = next(iter(enclosing(source, of.span.line, (ast.For,))), None)
    counted = loop.iter if loop is not None else None
    if source is None or made is None or not isinstance(counted, ast.Call) or called(counted) != "range":
        return None
    ends = counted.args[-1:] if "len(" in source.text(counted) else []
    return span_fact(source, ends[0]) if ends and f"len({made['loader']})" not in source.text(ends[0]) else None


@probe
def short_loader(scene: Scene) -> SpanFact | None:
    """The loader whose samples are too few for one batch, where `drop_last` drops that: the call that made it.

    `detail`: `loader`, `samples` (None where only code of the user's could tell), `batch`.
    """
    failing, frame = scene.failing, scene.user_frame
    call = _next_call(failing.node) if failing is not None else None
    if failing is None or frame is None or call is None or scene.live is None:
        return None
    node, number = call.args[0], len(scene.live.user) - 1
    if not (isinstance(node, ast.Call) and called(node) == "iter" and node.args):
        bound = binding(scene, node, number)
        node, number = (bound.node, bound.frame or 0) if bound is not None else (node, number)
    if not (isinstance(node, ast.Call) and called(node) == "iter" and node.args):
        return None
    loader = read(node.args[0], scene.live.user[number].frame)
    own, made = fields_of(loader), binding(scene, node.args[0], number)
    samples, batch = _length(own.get("dataset")), own.get("batch_size")
    if made is None or not own.get("drop_last") or not isinstance(batch, int) or (samples or 0) >= batch:
        return None
    loader = failing.source.text(node.args[0])
    return span_fact(made.source, made.node, loader, loader=loader, samples=samples, batch=batch)


def _length(dataset: Any) -> int | None:
    """The length of torch's own datasets and of those that keep one list; code of the user's is not run."""
    own = fields_of(dataset)
    for name in ("indices", "tensors", "samples", "data", "x", "items"):
        held = own.get(name)
        if name == "tensors" and isinstance(held, tuple) and held:
            held = held[0]
        if isinstance(held, (list, tuple, range)):
            return len(held)
        if held is not None and hasattr(type(held), "shape"):
            return int(held.shape[0])
    return None
