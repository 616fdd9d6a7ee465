"""What an expression says of its result's dtype: `x.half()`, `torch.zeros(3, dtype=torch.int64)`, `a > b`."""

from __future__ import annotations

import ast

_METHODS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64",
    "int": "int32", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool",
}  # fmt: skip
_TYPES = {
    "float": "float64", "double": "float64", "int": "int64", "long": "int64", "half": "float16", "single": "float32",
    "bool": "bool", "float_": "float64", "int_": "int64", "bool_": "bool",
}  # fmt: skip
_DTYPES = frozenset(["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"])
#: Functions whose result has one dtype, whatever they are given.
_MADE = {
    "argmax": "int64", "argmin": "int64", "argsort": "int64", "randint": "int64", "randperm": "int64",
    "bincount": "int64", "nonzero": "int64", "multinomial": "int64", "isnan": "bool", "isfinite": "bool",
    "one_hot": "int64", "logical_and": "bool", "logical_or": "bool", "logical_not": "bool", "eq": "bool",
    "ne": "bool", "gt": "bool", "lt": "bool", "ge": "bool", "le": "bool",
}  # fmt: skip
_NUMPY = ("np.", "numpy.", "rng.", "random.")
#: Makers that give floating-point numbers unasked: numpy's float64, torch's float32.
_FLOATS = frozenset(
    ["rand", "randn", "random", "normal", "uniform", "standard_normal", "linspace", "zeros", "ones", "eye"]
)


def converts(node: ast.AST) -> str | None:
    """The dtype that a call asks for in so many words, None where it asks for none."""
    if not isinstance(node, ast.Call):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name in _METHODS and not node.args and not node.keywords:
        return _METHODS[name]
    given = [word.value for word in node.keywords if word.arg == "dtype"]
    if name in ("to", "type", "astype", "view"):
        given += node.args
    found = (_named(one, ast.unparse(node.func)) for one in given)
    return next((one for one in found if one is not None), None)


def makes(node: ast.AST) -> str | None:
    """The dtype that an expression has by what it computes."""
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return "bool"
    if not isinstance(node, ast.Call):
        return None
    function = ast.unparse(node.func)
    name = function.rpartition(".")[2]
    if function.startswith(_NUMPY):
        return "float64" if name in _FLOATS else _MADE.get(name)
    if function.startswith("torch.") and name in _FLOATS:
        return "float32"
    return _of_entries(node) if function == "torch.tensor" else _MADE.get(name)


def _of_entries(call: ast.Call) -> str | None:
    """What `torch.tensor([1, 2.5])` makes of the numbers that are written in it."""
    kinds = {type(one.value) for part in call.args for one in ast.walk(part) if isinstance(one, ast.Constant)}
    if not kinds or kinds - {int, float, bool} or any(isinstance(one, ast.Name) for one in ast.walk(call.args[0])):
        return None
    return "float32" if float in kinds else "int64" if int in kinds else "bool"


def _named(node: ast.AST, function: str) -> str | None:
    """`torch.float64`, `np.float32`, `"int64"`, `float`: Python's `float` is float64 in both libraries' conversions."""
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
    last = text.rpartition(".")[2]
    if text.startswith("torch.") and last in ("float", "int", "half", "double", "long", "short"):
        return _METHODS.get(last)
    if last in _DTYPES:
        return last
    return _TYPES.get(last) if text == last or function.endswith("astype") else None
