"""Edits that keep what a call returns: `x.to(device)` as a statement moves nothing; the values of a result alone."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit, Span
from explainer.edits.lines import EditError, changed, indentation
from explainer.edits.place import Place, as_primary, by_file
from explainer.source import called, loaded, stored, walked

_NAMED = (ast.Name, ast.Attribute, ast.Subscript)
_LISTED = (ast.ListComp, ast.DictComp)
Changes = list[tuple[Span, str]]


def keep_moved(each: tuple[Place, ...]) -> tuple[Edit, ...]:
    """`v.to(device)` -> `batch[k] = v.to(device)`, of a loop's variable; else `x = x.to(device)`; several at once."""
    edits: list[Edit] = []
    for source, own in by_file(each):
        edits += changed(source, [change for place in own for change in _kept(place)])
    return tuple(edits)


def _kept(place: Place) -> Changes:
    node = place.node.value if isinstance(place.node, ast.Expr) else place.node
    if isinstance(node, _LISTED):
        return [(place.span, f"{_collected(place, node)} = {place.text}")]
    if not isinstance(node, ast.Call):
        raise EditError("no call stands here")
    if not isinstance(node.func, ast.Attribute) or called(node) not in ("to", "cuda"):
        return [(place.span, f"{_named(place, node.args[0])} = {place.text}")]
    loop = _loop(place, node.func.value)
    return _of_loop(place, node, loop) if loop is not None else [(place.span, _assigned(place, node.func.value))]


def _assigned(place: Place, receiver: ast.expr) -> str:
    return f"{_named(place, receiver)} = {place.text}"


def _named(place: Place, node: ast.expr) -> str:
    if not isinstance(node, _NAMED):
        raise EditError("what is moved has no name")
    return place.source.text(node)


def _collected(place: Place, node: ast.ListComp | ast.DictComp) -> str:
    """What a comprehension goes through, as the target of an assignment: `batch`, or `x, y` of `[... in (x, y)]`."""
    through = node.generators[0].iter
    if isinstance(through, ast.Call) and isinstance(through.func, ast.Attribute) and called(through) == "items":
        through = through.func.value
    if isinstance(through, (ast.Tuple, ast.List)):
        return ", ".join(_named(place, one) for one in through.elts)
    return _named(place, through)


def _loop(place: Place, receiver: ast.expr) -> ast.For | None:
    """The innermost loop one of whose variables is moved."""
    loops = [one for one in place.source.nodes() if isinstance(one, ast.For) and place.node in _inside(one)]
    return max((one for one in loops if loaded(receiver) & stored(one.target)), key=lambda o: o.lineno, default=None)


def _inside(loop: ast.For) -> list[ast.AST]:
    inner = [one for part in loop.body for one in walked(part)]
    return [*inner, *(one.value for one in inner if isinstance(one, ast.Expr))]


def _of_loop(place: Place, call: ast.Call, loop: ast.For) -> Changes:
    text, through, target = place.source.text, loop.iter, loop.target
    both = target.elts if isinstance(target, ast.Tuple) else []
    receiver = text(call.func.value)  # type: ignore[attr-defined]
    if isinstance(through, (ast.Tuple, ast.List)):
        return _of_names(place, call, loop, through.elts)
    method = called(through) if isinstance(through, ast.Call) else ""
    pair = len(both) == 2 and method in ("items", "enumerate") and text(both[1]) == receiver
    if pair and not _read_below(place, loop, receiver):
        return [(place.span, f"{_base(place, through)}[{text(both[0])}] = {place.text}")]
    if both or text(target) != receiver or _read_below(place, loop, receiver):
        return [(place.span, _assigned(place, call.func.value))]  # type: ignore[attr-defined]
    key, form = ("key", "{}.items()") if method == "values" else ("index", "enumerate({})")
    base = _base(place, through)
    header = f"{_free(place, key)}, {receiver}"
    return [
        (place.source.span(target), header),
        (place.source.span(through), form.format(base)),
        (place.span, f"{base}[{_free(place, key)}] = {place.text}"),
    ]


def _read_below(place: Place, loop: ast.For, name: str) -> bool:
    """Whether the loop goes on with its variable behind the move: then that is what has to be moved."""
    names = [one for part in loop.body for one in walked(part) if isinstance(one, ast.Name)]
    return any(one.id == name and one.lineno > place.line for one in names)


def _base(place: Place, through: ast.expr) -> str:
    """`batch` of `batch`, `batch.items()`, `batch.values()` and `enumerate(batch)`."""
    if isinstance(through, ast.Call) and called(through) == "enumerate" and through.args:
        through = through.args[0]
    elif isinstance(through, ast.Call) and isinstance(through.func, ast.Attribute):
        through = through.func.value
    return _named(place, through)


def _free(place: Place, name: str) -> str:
    scope = place.source.scope_at(place.line)
    used = loaded(scope) | stored(scope)
    return name if name not in used else f"{name}_"


def _of_names(place: Place, call: ast.Call, loop: ast.For, parts: list[ast.expr]) -> Changes:
    """`for t in (x, y): t.to(device)` -> `x, y = x.to(device), y.to(device)`."""
    if len(loop.body) != 1 or loop.orelse or not isinstance(loop.target, ast.Name):
        raise EditError("the loop does more than move")
    names = [_named(place, one) for one in parts]
    tail = place.text[len(place.source.text(call.func.value)) :]  # type: ignore[attr-defined]
    moved = ", ".join(f"{name}{tail}" for name in names)
    return [(place.source.span(loop), f"{', '.join(names)} = {moved}")]


def keep_values(at: Place) -> tuple[Edit, ...]:
    """`self.last = f(x)` -> `last = f(x)`, then `self.last = last.detach()`; below, its function reads `last`.

    Where the function reads it no more: `self.last = f(x).detach()`.
    """
    source, statement = at.source, at.statement().node
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    function = source.function_at(statement.lineno)
    if not isinstance(target, ast.Attribute) or function is None or not isinstance(at.node, ast.expr):
        raise EditError("no attribute of an object is set in a function here")
    whole, name = source.text(target), target.attr
    below = [one for one in walked(function) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)
             and source.text(one) == whole and one.lineno > (statement.end_lineno or 0)]  # fmt: skip
    if not below:
        return changed(source, [(at.span, f"{as_primary(at)}.detach()")])
    if any(isinstance(one, (ast.Name, ast.arg)) and name in (getattr(one, "id", ""), getattr(one, "arg", ""))
           for one in walked(function)):  # fmt: skip
        raise EditError(f"the function has another {name}")
    indent = indentation(source, statement.lineno)
    apart = f"{name} = {at.text}\n{indent}{whole} = {name}.detach()"
    return changed(source, [(source.span(statement), apart), *((source.span(one), name) for one in below)])
