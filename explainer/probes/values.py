"""Values of expressions, read without running user code: what cannot be read that way is MISSING, never guessed."""

from __future__ import annotations

import ast
import builtins
import math
import operator
import sys
import types
from collections import OrderedDict
from typing import Any, TypeGuard

MISSING = type("Missing", (), {"__repr__": lambda self: "MISSING", "__bool__": lambda self: False})()

#: Tensor attributes that are metadata: no kernel runs and nothing is copied.
TENSOR_METADATA = frozenset(
    ["shape", "dtype", "device", "ndim", "requires_grad", "is_leaf", "layout", "itemsize", "nbytes", "is_cuda", "grad"]
)
_ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
}
_PLAIN = (int, float, bool, str, bytes, type(None))
_CONTAINERS = (list, tuple, dict, OrderedDict)


def torch_module() -> Any:
    """torch where the user's program has imported it, else None: we never import it for them."""
    return sys.modules.get("torch")


def is_tensor(value: Any) -> TypeGuard[Any]:
    """Whether a value is a tensor; asks no attribute of it."""
    torch = torch_module()
    return torch is not None and issubclass(type(value), torch.Tensor)


def readable(value: Any, most: float = math.inf) -> TypeGuard[Any]:
    """Whether a value is a tensor whose entries may be looked at: on the CPU, at least one and at most so many."""
    return is_tensor(value) and value.device.type == "cpu" and 0 < value.numel() <= most


def is_module(value: Any) -> bool:
    """Whether a value is an nn.Module; asks no attribute of it."""
    nn = sys.modules.get("torch.nn")
    return nn is not None and issubclass(type(value), nn.Module)


def is_optimizer(value: Any) -> bool:
    """Whether a value is one of torch's optimizers or of a class of the user's that builds on them."""
    return any(base.__name__ == "Optimizer" for base in type(value).__mro__)


def fields_of(value: Any) -> dict[str, Any]:
    """An object's own attributes from its `__dict__`, past any `__getattr__` or property."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return own if type(own) is dict else dict(own)


def attribute(value: Any, name: str) -> Any:
    """`value.name` as plain data would give it: own attributes, a module's layers, parameters and buffers."""
    if is_tensor(value):
        return getattr(value, name) if name in TENSOR_METADATA and _plain_tensor(value) else MISSING
    own = fields_of(value)
    if name in own:
        return own[name]
    if is_module(value):
        for store in ("_modules", "_parameters", "_buffers"):
            if name in (own.get(store) or ()):
                return own[store][name]
    return _class_attribute(value, name)


def _class_attribute(value: Any, name: str) -> Any:
    """A constant or function that a class holds; descriptors are not asked."""
    for base in type(value).__mro__ if not isinstance(value, type) else value.__mro__:
        if name in base.__dict__:
            found = base.__dict__[name]
            return found if isinstance(found, (*_PLAIN, *_CONTAINERS, types.FunctionType)) else MISSING
    return MISSING


def _plain_tensor(value: Any) -> bool:
    """Whether a tensor's class leaves metadata alone; a subclass may run Python for it."""
    torch = torch_module()
    return type(value) in (torch.Tensor, torch.nn.Parameter) or type(value).__module__.startswith("torch.")


def name_value(name: str, frame: types.FrameType) -> Any:
    """The value of a name as the frame sees it."""
    for scope in (frame.f_locals, frame.f_globals, vars(builtins)):
        if name in scope:
            return scope[name]
    return MISSING


def read(node: ast.AST, frame: types.FrameType) -> Any:
    """The value of an expression in a frame, or MISSING."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return name_value(node.id, frame)
    if isinstance(node, ast.Attribute):
        owner = read(node.value, frame)
        return MISSING if owner is MISSING else attribute(owner, node.attr)
    if isinstance(node, ast.Subscript):
        return _item(read(node.value, frame), read(node.slice, frame))
    if isinstance(node, (ast.Tuple, ast.List)):
        return _sequence(node, frame)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = read(node.operand, frame)
        return -value if type(value) in (int, float) else MISSING
    if isinstance(node, ast.BinOp):
        return _arithmetic(node, frame)
    if isinstance(node, ast.Call):
        return _metadata_call(node, frame)
    return MISSING


def _item(owner: Any, index: Any) -> Any:
    """`owner[index]` of plain containers, `torch.Size`, and the module containers of torch itself."""
    if is_module(owner) and type(owner).__module__.startswith("torch.nn.modules.container"):
        layers = fields_of(owner).get("_modules", {})
        keys = list(layers)
        index = keys[index] if type(index) is int and -len(keys) <= index < len(keys) else index
        return layers.get(index, MISSING) if isinstance(index, str) else MISSING
    plain = type(owner) in _CONTAINERS or type(owner).__name__ == "Size"
    if not plain or not isinstance(index, (int, str, float, bool, tuple)):
        return MISSING
    try:
        return owner[index]
    except (LookupError, TypeError):
        return MISSING


def _sequence(node: ast.Tuple | ast.List, frame: types.FrameType) -> Any:
    values = [read(item, frame) for item in node.elts]
    return MISSING if any(value is MISSING for value in values) else tuple(values)


def _arithmetic(node: ast.BinOp, frame: types.FrameType) -> Any:
    left, right = read(node.left, frame), read(node.right, frame)
    run = _ARITHMETIC.get(type(node.op))
    if run is None or type(left) not in (int, float) or type(right) not in (int, float):
        return MISSING
    try:
        return run(left, right)
    except ArithmeticError:
        return MISSING


def _metadata_call(node: ast.Call, frame: types.FrameType) -> Any:
    """`x.size(0)`, `x.dim()`, `x.numel()`, `len(x)` of a tensor or plain container."""
    if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        value = read(node.args[0], frame)
        if is_tensor(value):
            return value.shape[0] if value.dim() else MISSING
        return len(value) if type(value) in (*_CONTAINERS, str, range) else MISSING
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("size", "dim", "numel"):
        return MISSING
    owner = read(node.func.value, frame)
    arguments = [read(argument, frame) for argument in node.args]
    if not is_tensor(owner) or not _plain_tensor(owner) or any(type(a) is not int for a in arguments):
        return MISSING
    try:
        return getattr(owner, node.func.attr)(*arguments)
    except (IndexError, TypeError):
        return MISSING


def picked(node: ast.AST, frame: types.FrameType) -> Any:
    """`x[:, 0]` of a plain tensor with numbers and slices alone, as a detached view of it; else MISSING."""
    owner = read(node.value, frame) if isinstance(node, ast.Subscript) else MISSING
    if not isinstance(node, ast.Subscript) or not is_tensor(owner) or not _plain_tensor(owner):
        return MISSING
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    index = tuple(_part(one, frame) for one in parts)
    if any(not isinstance(one, (int, slice, type(None), type(...))) for one in index):
        return MISSING
    try:
        return owner.detach()[index]
    except (IndexError, TypeError, RuntimeError):
        return MISSING


def _part(node: ast.expr, frame: types.FrameType) -> Any:
    """A part of a subscript: a slice with the numbers that are written or named in it, or a plain value."""
    if not isinstance(node, ast.Slice):
        return read(node, frame)
    bounds = [read(one, frame) if one is not None else None for one in (node.lower, node.upper, node.step)]
    return slice(*bounds) if all(one is None or type(one) is int for one in bounds) else MISSING


def base_of(tensor: Any) -> Any:
    """The tensor that a view is of; a tensor itself where it is none."""
    return tensor if tensor._base is None else tensor._base
