"""Columns of an input that were cut out beside the forward pass, and whose gradients are wanted."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from explainer.edits.kinds.arguments import argument_node
from explainer.edits.place import Place
from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.autograd.gradients import failing_grad, input_of
from explainer.probes.call import call_node
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import is_tensor
from explainer.source import Source, called, without_methods

_CUTS = ("split", "chunk", "unbind", "select", "narrow", "tensor_split", "hsplit")
_MADE = ("clone", "requires_grad_", "contiguous", "detach", "unsqueeze", "squeeze", "view", "reshape")


@frozen
class Asking:
    """The call by which the program asks for a gradient, outside of its own helpers, and what it is asked of."""

    frame: LiveFrame
    source: Source
    call: ast.Call
    node: ast.expr


def asking(scene: Scene) -> Asking | None:
    """The failing call of `autograd.grad`, or the call of a helper that was handed the input it was given."""
    frames, found = scene.live.user if scene.live is not None else [], failing_grad(scene)
    if found is None:
        return None
    source, call = found
    node = input_of(scene, source, call)[1]
    at = len(frames) - 1
    while node is not None and at and _is_parameter(frames[at], source, node):
        outer = frames[at - 1].failing()
        above = call_node(outer.node) if outer is not None else None
        names = [name for name in frames[at].parameters if name not in ("self", "cls")]
        passed = argument_node(Place(outer.source, above), node.id, names) if isinstance(above, ast.Call) else None  # type: ignore
        if outer is None or passed is None or not isinstance(above, ast.Call):
            break
        source, call, node, at = outer.source, above, passed, at - 1
    return Asking(frames[at], source, call, node) if node is not None else None


def _is_parameter(frame: LiveFrame, source: Source, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in frame.parameters and last_binding(source, frame, node.id) is None


@frozen
class _Piece:
    """A name for a part of a tensor, the statement that binds it, the expression, and the live part."""

    name: str
    statement: ast.Assign
    value: ast.expr
    tensor: Any


@probe
def cut_beside(scene: Scene) -> SpanFact | None:
    """The statement that cut out the columns of an input whose gradient is wanted, beside what the network was given.

    `detail`: `name`, the column's; `base`, the input's; `fed`, where the network gets it whole (None where that is in
    another function); `joined`, the columns put together again (empty where they are not all there).
    """
    found = scene.once("pieces", lambda: _pieces(scene))
    if not found:
        return None
    ask, base, pieces, wanted = found
    fed = _fed(ask, base, pieces)
    text = _joined(ask.frame.locals.get(base), pieces)
    detail = {"base": base, "fed": span_fact(ask.source, fed) if fed is not None else None, "joined": text}
    return span_fact(ask.source, wanted.statement, name=wanted.name, call=ask.source.text(ask.call), **detail)


@probe
def gradients_of_pieces(scene: Scene, of: SpanFact | None = None) -> tuple[SpanFact, ...] | None:
    """The columns in the calls that ask for their gradients; `detail.cut`: the subscript that takes them of a whole."""
    found = scene.once("pieces", lambda: _pieces(scene)) if of is not None else None
    if not found:
        return None
    ask, base, pieces, _ = found
    cuts = {one.name: _subscript(ask.source, one, ask.frame.locals[base]) for one in pieces}
    facts = []
    for call in ast.walk(ask.source.scope_at(ask.call.lineno)):
        if not isinstance(call, ast.Call) or ask.source.text(call.func) != ask.source.text(ask.call.func):
            continue
        given = [*call.args[1:], *(word.value for word in call.keywords)]
        named = [one for one in given if isinstance(one, ast.Name) and one.id in cuts]
        facts += [span_fact(ask.source, one, cut=cuts[one.id]) for one in named]
    return tuple(facts) if facts and all(one["cut"] for one in facts) else None


def _subscript(source: Source, piece: _Piece, whole: Any) -> str:
    """`[:, 0:1]`, as it is written or as a view's place in memory tells; empty where neither does."""
    part = piece.tensor
    if isinstance(piece.value, ast.Subscript):
        return f"[{source.text(piece.value.slice)}]"
    if part.storage_offset() < whole.storage_offset() or part.data_ptr() == 0 or not part._is_view():
        return ""
    offset = part.storage_offset() - whole.storage_offset()
    apart = [dim for dim in range(whole.dim()) if part.dim() == whole.dim() and part.shape[dim] != whole.shape[dim]]
    if len(apart) != 1 or whole.stride(apart[0]) == 0 or part.stride() != whole.stride():
        return ""
    first = offset // whole.stride(apart[0])
    return f"[{':, ' * apart[0]}{first}:{first + part.shape[apart[0]]}]"


def _pieces(scene: Scene) -> tuple[Asking, str, list[_Piece], _Piece] | None:
    """The names for parts of one tensor in the function that asks, and the one whose gradient is wanted."""
    ask = asking(scene)
    if ask is None or not isinstance(ask.node, ast.Name):
        return None
    bound = last_binding(ask.source, ask.frame, ask.node.id)
    cut = _cut(bound, ask.node.id) if isinstance(bound, ast.Assign) else None
    base = _base(cut) if cut is not None else None
    whole = ask.frame.locals.get(base) if base is not None else None
    if base is None or not is_tensor(whole):
        return None
    pieces = []
    for name, value in ask.frame.locals.items():
        statement = last_binding(ask.source, ask.frame, name) if is_tensor(value) and name != base else None
        own = _cut(statement, name) if isinstance(statement, ast.Assign) else None
        if own is not None and _base(own) == base and value.numel() < whole.numel():
            pieces.append(_Piece(name, statement, own, value))  # type: ignore[arg-type]
    wanted = next((one for one in pieces if one.name == ask.node.id), None)
    return (ask, base, pieces, wanted) if wanted is not None else None


def _cut(statement: ast.Assign, name: str) -> ast.expr | None:
    """The expression that cuts a name's part out: of `x, t = p[:, :1], p[:, 1:]` its own element."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        pairs = zip(target.elts, value.elts, strict=False)
        return next((without_methods(part, _MADE) for one, part in pairs if getattr(one, "id", "") == name), None)
    return without_methods(value, _MADE)


def _base(node: ast.expr) -> str | None:
    """The variable that a part is cut out of: `p` of `p[:, 0]`, `p.split(1, dim=1)`, `torch.unbind(p, 1)`."""
    if isinstance(node, ast.Subscript):
        return node.value.id if isinstance(node.value, ast.Name) else None
    if not isinstance(node, ast.Call) or called(node) not in _CUTS or not isinstance(node.func, ast.Attribute):
        return None
    owner = node.func.value
    if isinstance(owner, ast.Name) and owner.id != "torch":
        return owner.id
    return node.args[0].id if node.args and isinstance(node.args[0], ast.Name) else None


def _fed(ask: Asking, base: str, pieces: Sequence[_Piece]) -> ast.expr | None:
    """The whole tensor where the one call that is no call of torch's is given it."""
    cuts = {id(part) for one in pieces for part in ast.walk(one.statement)}
    found = []
    for node in ast.walk(ask.source.scope_at(ask.call.lineno)):
        head = ask.source.text(node.func).split(".")[0] if isinstance(node, ast.Call) else "torch"
        if not isinstance(node, ast.Call) or head in ("torch", "F", "nn", base, "len", "print"):
            continue
        given = [*node.args, *(word.value for word in node.keywords)]
        found += [one for one in given if isinstance(one, ast.Name) and one.id == base and id(one) not in cuts]
    return found[0] if len(found) == 1 and found[0].lineno < ask.call.lineno else None


def _joined(whole: Any, pieces: Sequence[_Piece]) -> str:
    """`torch.cat([x, t], dim=1)` where the parts make up the whole; empty where they do not, or overlap."""
    parts = sorted(pieces, key=lambda one: one.tensor.storage_offset() if one.tensor._is_view() else 0)
    names = ", ".join(one.name for one in parts)
    ranks = {one.tensor.dim() for one in parts}
    if ranks == {whole.dim()}:
        for dim in range(whole.dim()):
            sizes = [tuple(one.tensor.shape) for one in parts]
            others = {(*size[:dim], *size[dim + 1 :]) for size in sizes}
            if sum(size[dim] for size in sizes) == whole.shape[dim] and len(others) == 1:
                return f"torch.cat([{names}], dim={dim})"
    if ranks == {whole.dim() - 1}:
        shape = tuple(whole.shape)
        for dim in range(whole.dim()):
            if shape[dim] == len(parts) and all(
                tuple(one.tensor.shape) == (*shape[:dim], *shape[dim + 1 :]) for one in parts
            ):
                return f"torch.stack([{names}], dim={dim})"
    return ""
