"""The functions that make a tensor from nothing."""

from __future__ import annotations

import ast

#: Functions that make a tensor from nothing, on the default device unless they are told one.
FACTORIES = frozenset(
    [
        "zeros",
        "ones",
        "empty",
        "full",
        "rand",
        "randn",
        "randint",
        "randperm",
        "arange",
        "linspace",
        "logspace",
        "eye",
        "tensor",
        "as_tensor",
        "from_numpy",
        "tril_indices",
        "triu_indices",
        "hann_window",
        "hamming_window",
        "normal",
        "FloatTensor",
        "LongTensor",
        "Tensor",
    ]
)


def is_factory(node: ast.Call) -> bool:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    owner = ast.unparse(function.value) if isinstance(function, ast.Attribute) else "torch"
    return name in FACTORIES and owner == "torch" and not any(word.arg == "device" for word in node.keywords)
