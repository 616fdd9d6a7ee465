"""Which numbers in a source name dimensions: by the keyword they are given for, or their position in known calls."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from explainer.source import Source, called

#: Arguments that name a dimension.
DIMENSIONS = ("dim", "axis", "dim0", "dim1", "start_dim", "end_dim", "dims", "axes", "batch_dim")
#: By the last name of a call: the positions of its arguments that are dimensions, the receiver of a method left out.
_POSITIONS: Mapping[str, Sequence[int]] = {
    **dict.fromkeys(
        ("unsqueeze", "squeeze", "softmax", "log_softmax", "sum", "mean", "argmax", "argmin", "max", "min", "size",
         "amax", "amin", "norm", "std", "var", "prod", "cumsum", "cumprod", "unbind", "logsumexp", "any", "all", "sort",
         "argsort", "flip", "select", "narrow", "index_select", "gather", "scatter", "scatter_", "scatter_add",
         "scatter_add_", "index_add", "index_add_", "index_fill", "median", "diff"), (0,)),
    **dict.fromkeys(("chunk", "split", "topk", "repeat_interleave", "roll", "cat", "stack", "concat"), (1,)),
    **dict.fromkeys(("transpose", "swapaxes", "flatten", "movedim", "permute"), (0, 1)),
}  # fmt: skip
_ALL = ("permute",)
_JOINING = ("cat", "stack", "concat")
#: From which number on none is a dimension: `Transformer(dim=64)` says how wide a model is.
_NO_RANK = 10
#: What modules with functions of tensors are called.
MODULES = ("torch", "F", "nn", "np", "functional", "einops")


def is_dimension(source: Source, node: ast.AST) -> bool:
    """Whether an expression names a dimension: by its keyword, or its position in a call that is known."""
    parent = source.parent_of(node)
    while isinstance(parent, (ast.Tuple, ast.List)):
        node, parent = parent, source.parent_of(parent)
    if isinstance(parent, ast.keyword):
        return parent.arg in DIMENSIONS and not _is_size(node)
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        return isinstance(parent.value, ast.Attribute) and parent.value.attr == "shape"
    if not isinstance(parent, ast.Call) or node not in parent.args:
        return False
    name = called(parent)
    at = parent.args.index(node)  # type: ignore[arg-type]
    if not _of_module(parent) and name in _JOINING:
        return False
    shift = 1 if _of_module(parent) and name not in _JOINING and name not in ("chunk", "split", "topk", "roll") else 0
    shift = 1 if _of_module(parent) and name in ("chunk", "split", "topk", "roll", "repeat_interleave") else shift
    return name in _POSITIONS and (at - shift in _POSITIONS[name] or (name in _ALL and at >= shift))


def _is_size(node: ast.AST) -> bool:
    """Whether a number that is written is, or one of several are, more than any tensor has dimensions."""
    values = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
    return any(isinstance(value, int) and value >= _NO_RANK for value in values)


def _of_module(call: ast.Call) -> bool:
    """Whether a function of a module is called, `torch.sum(x, 1)`, not a method."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return True
    return (isinstance(function.value, ast.Name) and function.value.id in MODULES) or of_torch(function.value)


def of_torch(node: ast.AST) -> bool:
    """Whether a node is a module of torch, by its path."""
    return isinstance(node, ast.Attribute) and ast.unparse(node).startswith(("torch.nn", "torch."))
