"""Edits of losses that became numbers on their way to backward: the tensor kept, and averaged by torch."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place
from explainer.source import walked

#: Methods that lead from a tensor to its values.
_READ = ("item", "tolist", "numpy", "detach", "cpu", "double", "float")
#: Functions of other libraries that make one number of many, and torch's name for each.
_REDUCED = {"mean": "mean", "nanmean": "mean", "average": "mean", "fmean": "mean", "sum": "sum", "fsum": "sum"}
_LIBRARIES = ("np", "numpy", "statistics", "math")


def as_tensor(at: Place) -> tuple[Edit, ...]:
    """`loss.item()` -> `loss`, also `loss.detach().cpu().numpy()` and `float(loss)`."""
    whole, tensor = _read(at)
    return changed(at.source, [(at.source.span(whole), at.source.text(tensor))])


def reduce_with_torch(at: Place) -> tuple[Edit, ...]:
    """As `as_tensor`, and the one `np.mean(losses)` of the file becomes `torch.stack(losses).mean()`."""
    source, (whole, tensor) = at.source, _read(at)
    calls = [node for node in source.nodes() if isinstance(node, ast.Call) and _reduces(node)]
    if len(calls) != 1:
        raise EditError("no one call makes a number of many")
    call, given = calls[0], calls[0].args[0]
    text, method = source.text(given), _REDUCED[call.func.attr]  # type: ignore[attr-defined]
    if any(one is whole for one in walked(call)):
        return changed(source, [(source.span(call), _stacked(_without(at, given, whole, tensor), method))])
    changes = [(source.span(whole), source.text(tensor)), (source.span(call), _stacked(text, method))]
    return changed(source, changes)


def _stacked(values: str, method: str) -> str:
    return f"torch.stack({values}).{method}()"


def _reduces(call: ast.Call) -> bool:
    function = call.func
    own = isinstance(function, ast.Attribute) and ast.unparse(function.value) in _LIBRARIES
    return own and function.attr in _REDUCED and len(call.args) == 1 and not call.keywords  # type: ignore[union-attr, attr-defined]


def _read(at: Place) -> tuple[ast.expr, ast.expr]:
    """The whole expression that reads a tensor's values, and the tensor."""
    node = at.node
    if not isinstance(node, ast.Call):
        raise EditError("no call stands here")
    if isinstance(node.func, ast.Name) and node.func.id in ("float", "int") and len(node.args) == 1:
        return node, node.args[0]
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _READ:
        raise EditError("no value is read here")
    tensor, whole = node.func.value, node
    for one in walked(at.statement().node):
        if isinstance(one, ast.Call) and _goes_on(one, node):
            whole = max(whole, one, key=lambda call: (call.end_lineno or 0, call.end_col_offset or 0))
    return whole, tensor


def _goes_on(call: ast.Call, node: ast.expr) -> bool:
    """Whether a call reads on what another has read: `x.detach().cpu().numpy()` on `x.detach()`."""
    inner: ast.expr = call
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in _READ:
        if inner is node:
            return True
        inner = inner.func.value
    return False


def _without(at: Place, outer: ast.expr, whole: ast.expr, tensor: ast.expr) -> str:
    """The source of an expression of one line with a part of it replaced by the tensor that the part reads."""
    base, span = at.source.span(outer), at.source.span(whole)
    if base.end_line not in (None, base.line):
        raise EditError("the expression goes over several lines")
    text = at.source.text(outer)
    first, last = (span.column or 1) - (base.column or 1), (span.end_column or 1) - (base.column or 1)
    return text[:first] + at.source.text(tensor) + text[last:]
