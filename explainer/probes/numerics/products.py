"""Matrix products of a tensor with its own transpose: over the positions where the other order is over the channels."""

from __future__ import annotations

import ast
from math import prod
from types import FrameType
from typing import Any

from explainer.edits.kinds.products import exchanged, factors
from explainer.edits.place import Place
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, is_tensor, picked, read
from explainer.source import Source, called

#: Methods and attributes that show the same memory again; those of the last group only where it is contiguous.
_TRANSPOSED = ("t", "transpose", "permute", "swapaxes", "swapdims", "adjoint")
_ATTRIBUTES = ("T", "mT", "H", "mH")
_FLAT = ("view", "reshape", "flatten", "squeeze", "unsqueeze")
#: What is asked of each row of all pairs: which others are nearest, how much each one counts.
_OF_ROWS = ("topk", "softmax", "log_softmax", "argsort", "sort", "argmax", "argmin", "kthvalue", "fill_diagonal_")


@probe
def own_product(scene: Scene) -> SpanFact | None:
    """`f.t() @ f`, or a call of mm, matmul or bmm with these: a product of a tensor's own columns, each with each.

    `detail`: the `tensor` that is multiplied and its `shape`; `made` and `other`, the shapes of the product and of the
    one with the operands `exchanged` (its source); `bytes` of the product; `ranked`, whether the function asks of each
    row which columns are largest, and so means all pairs.
    """
    failing, frame = scene.failing, scene.user_frame
    node = call_node(failing.node) if failing is not None else None
    pair = factors(node) if node is not None else None
    if failing is None or frame is None or not isinstance(node, ast.expr) or pair is None:
        return None
    left, right = (viewed(one, frame.frame) for one in pair)
    if not _transposes(left, right) or not _first_is_transposed(pair, left, right):
        return None
    made, other = (*left.shape[:-1], right.shape[-1]), (*right.shape[:-1], left.shape[-1])
    about = {"tensor": failing.source.text(pair[1]), "shape": tuple(right.shape), "made": made, "other": other}
    about |= {"exchanged": exchanged(Place(failing.source, node)), "bytes": prod(made) * left.element_size()}
    return span_fact(failing.source, node, **about, ranked=_ranks(failing.source, node))


def viewed(node: ast.AST, frame: FrameType) -> Any:
    """A tensor, or a view of one that the source makes with numbers alone, and no data is touched; else MISSING."""
    value = read(node, frame)
    value = picked(node, frame) if value is MISSING else value
    if value is not MISSING:
        return value.detach() if is_tensor(value) and type(value).__module__.startswith("torch") else MISSING
    name, inner, given = _view(node)
    base = viewed(inner, frame) if inner is not None else MISSING
    numbers = [read(one, frame) for one in given]
    if base is MISSING or name == "contiguous" or any(type(one) is not int for one in numbers):
        return base if name == "contiguous" else MISSING
    if name in _FLAT and not base.is_contiguous():
        return MISSING
    try:
        return getattr(base, name) if name in _ATTRIBUTES else getattr(base, name)(*numbers)
    except (RuntimeError, IndexError, TypeError):
        return MISSING


def _view(node: ast.AST) -> tuple[str, ast.expr | None, list[ast.expr]]:
    """The name of a view, what it is a view of, and its arguments: of `x.transpose(0, 1)`, `torch.t(x)` and `x.T`."""
    if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
        return node.attr, node.value, []
    known = (*_TRANSPOSED, *_FLAT, "contiguous")
    if not isinstance(node, ast.Call) or called(node) not in known or not isinstance(node.func, ast.Attribute):
        return "", None, []
    if ast.unparse(node.func.value) == "torch":
        return called(node), node.args[0] if node.args else None, node.args[1:]
    return called(node), node.func.value, node.args


def _transposes(left: Any, right: Any) -> bool:
    """Whether two matrices, or batches of them, are the same memory, one seen across."""
    if left is MISSING or right is MISSING or left.dim() < 2 or left.dim() != right.dim():
        return False
    across = right.transpose(-1, -2)
    return (left.data_ptr(), left.shape, left.stride()) == (right.data_ptr(), across.shape, across.stride())


def _first_is_transposed(pair: tuple[ast.expr, ast.expr], left: Any, right: Any) -> bool:
    """Whether the first is written as the transpose of the second; of two names, the one that is not in order."""
    written = [_across(one) for one in pair]
    if any(written):
        return written == [True, False]
    return right.is_contiguous() and not left.is_contiguous()


def _across(node: ast.expr) -> bool:
    name, inner, _ = _view(node)
    return _across(inner) if name == "contiguous" and inner is not None else name in (*_TRANSPOSED, *_ATTRIBUTES)


def _ranks(source: Source, node: ast.AST) -> bool:
    scope = source.scope_at(node.lineno)  # type: ignore[attr-defined]
    inner = ast.walk(scope) if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) else ()
    return any(isinstance(one, ast.Call) and called(one) in _OF_ROWS for one in inner)
