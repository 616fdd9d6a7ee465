"""Updates by hand that make new tensors while nothing is recorded: `[p - lr * p.grad for p in params]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.edits.kinds.updates import unrecorded
from explainer.edits.place import Place
from explainer.facts import CutFact, SpanFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.files import sources
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import fields_of, is_tensor
from explainer.source import Source, called, source_of, stored

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp)
_GRADIENT = Pattern(r"\.grad\b|\bd?grads?\w*\b|\w+_grads?\b|\bgradients?\b")


@probe
def renewed(scene: Scene, of: CutFact | None = None) -> SpanFact | None:
    """The expression that makes a new tensor of an old one and its gradient, where nothing is recorded.

    It is where the graph was cut; without such a cut, the only one in the program whose results a live name holds, none
    of them requiring grad. `detail`: `old`, the tensor whose place the new one takes.
    """
    if of is not None and of.kind != "gradient":
        return _at_cut(scene, of)
    found = list(_held(scene))
    homes = {(source.file, source.function_at(value.lineno)) for source, value in found}
    return _fact(*found[0]) if len(homes) == 1 else None


def _at_cut(scene: Scene, of: CutFact) -> SpanFact | None:
    source = scene.source(of.statement.span.file) if of.statement is not None else None
    node = _cut_node(source, of) if source is not None else None
    value = _whole(source, node) if source is not None and node is not None else None
    if source is None or value is None or of.kind != "no-grad" or not _by_gradient(source, value):
        return None
    return _fact(source, value)


def _fact(source: Source, value: ast.expr) -> SpanFact | None:
    old, function = _old(value), source.qualified_at(value.lineno)
    return span_fact(source, value, old=source.text(old), function=function) if old is not None else None


def _held(scene: Scene) -> Iterator[tuple[Source, ast.expr]]:
    """The updates without recording whose results a live name holds, assigned at once or by a call."""
    for source in sources(scene) if scene.live is not None else ():
        for value in _kept(source):
            if _old(value) is None or not _by_gradient(source, value) or not unrecorded(Place(source, value)):
                continue
            function = getattr(source.function_at(value.lineno), "name", "")
            frames = scene.live.user if scene.live is not None else []
            if any(_ungraded(frame, value, function) or _in_object(frame, source, value) for frame in frames):
                yield source, value


def _ungraded(frame: LiveFrame, value: ast.expr, function: str) -> bool:
    """Whether a frame's variable that was assigned an update, or the call of its function, has no grad."""
    source = source_of(frame.file, frame.frame.f_globals)
    scope = source.scope_at(frame.line)
    for one in ast.walk(scope) if scope is not None else ():
        if isinstance(one, ast.Assign) and _gives(one.value, value, function):
            held = list(tensors_of([frame.locals.get(name) for name in stored(one.targets[0])]))
            if held and not any(tensor.requires_grad for tensor in held):
                return True
    return False


def _in_object(frame: LiveFrame, home: Source, value: ast.expr) -> bool:
    """Whether an update is assigned to an attribute that an object of the frame has, of its class, without grad."""
    owner, statement = home.class_at(value.lineno), home.statement_at(value.lineno)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if owner is None or not isinstance(target, ast.Attribute) or home.text(target.value) != "self":
        return False
    objects = [one for one in list(frame.locals.values()) if type(one).__name__ == owner.name]
    held = list(tensors_of([fields_of(one).get(target.attr) for one in objects]))
    return bool(held) and not any(tensor.requires_grad for tensor in held)


def _gives(assigned: ast.expr, value: ast.expr, function: str) -> bool:
    """Whether what is assigned holds an expression (the same place; the tree may be another), or calls a function."""
    parts = list(ast.walk(assigned))
    calls = {called(one) for one in parts if isinstance(one, ast.Call)}
    same = any(ast.dump(one, include_attributes=True) == ast.dump(value, include_attributes=True) for one in parts)
    return same or (bool(function) and function in calls)


def tensors_of(value: Any, depth: int = 3) -> Iterator[Any]:
    """The floating tensors in lists, tuples and dicts."""
    if is_tensor(value) and value.is_floating_point():
        yield value
    elif depth and type(value) in (list, tuple, dict):
        for one in list(value.values() if isinstance(value, dict) else value)[:200]:
            yield from tensors_of(one, depth - 1)


@probe
def renewed_all(scene: Scene, of: SpanFact | None = None) -> tuple[SpanFact, ...] | None:
    """An update that makes a new tensor, and the others that its function assigns in the same way."""
    source = scene.source(of.span.file) if of is not None else None
    scope = source.scope_at(of.span.line) if source is not None and of is not None else None
    if of is None or source is None or scope is None:
        return None
    return of, *(one for one in _beside(source, scope) if one.span != of.span)


def _beside(source: Source, scope: ast.AST) -> Iterator[SpanFact]:
    """The values of `w = w - lr * w.grad` in a function."""
    for node in ast.walk(scope):
        value = node.value if isinstance(node, ast.Assign) else None
        old = _old(value) if isinstance(value, ast.expr) else None
        if not isinstance(node, ast.Assign) or value is None or old is None or not _by_gradient(source, value):
            continue
        if source.text(old) == source.text(node.targets[0]):
            yield span_fact(source, value, old=source.text(old))


def _cut_node(source: Source, of: CutFact) -> ast.expr | None:
    """The expression of a cut in its statement."""
    statement = source.statement_at(of.statement.span.line) if of.statement is not None else None
    found = [one for one in ast.walk(statement) if isinstance(one, ast.expr)] if statement is not None else []
    return next((one for one in found if source.text(one) == of.text), None)


def _whole(source: Source, node: ast.expr) -> ast.expr | None:
    """The expression around a node whose value is kept: an element, what is assigned, returned or appended."""
    for one in _kept(source):
        if any(inner is node for inner in ast.walk(one)):
            return one
    return None


def _kept(source: Source) -> Iterator[ast.expr]:
    """The values that a file's comprehensions make, then those that its statements keep."""
    statements = [one for one in source.nodes() if isinstance(one, (ast.Assign, ast.AnnAssign, ast.Return))]
    for one in source.nodes():
        if isinstance(one, ast.DictComp):
            yield one.value
        elif isinstance(one, _COMPREHENSIONS):
            yield from one.elt.elts if isinstance(one.elt, ast.Tuple) else [one.elt]
        elif isinstance(one, ast.Call) and getattr(one.func, "attr", "") == "append" and len(one.args) == 1:
            yield one.args[0]
    for statement in statements:
        value = statement.value
        if value is not None:
            yield from value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]


def _old(value: ast.AST | None) -> ast.expr | None:
    """`p` of `p - lr * g`, `p + d`, `p.sub(g)`, `torch.sub(p, g)`."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Sub, ast.Add)):
        left = value.left
        return _old(left) or left if isinstance(left, (ast.BinOp, ast.Name, ast.Attribute, ast.Subscript)) else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("sub", "add"):
        library = isinstance(value.func.value, ast.Name) and value.func.value.id == "torch"
        return value.args[0] if library and value.args else value.func.value
    return None


def _by_gradient(source: Source, value: ast.expr) -> bool:
    """Whether a value is made of a gradient: `p.grad`, or a name of gradients, or one that runs over these."""
    if _GRADIENT.search(source.text(value)):
        return True
    names = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
    loops = [one for one in source.nodes() if isinstance(one, (ast.comprehension, ast.For))]
    return any(
        _GRADIENT.search(source.text(one.iter)) and names & stored(one.target) and _around(one, value) for one in loops
    )


def _around(loop: ast.comprehension | ast.For, value: ast.expr) -> bool:
    """Whether a loop is the one that an expression stands in: of a comprehension its `for` stands close by."""
    if isinstance(loop, ast.For):
        return loop.lineno <= value.lineno <= (loop.end_lineno or 0)
    return abs(loop.iter.lineno - value.lineno) <= 3
