"""The closed table of what a repro may call: torch's own functions, by the name that a script uses for them."""

from __future__ import annotations

import functools
from typing import Any

from explainer.probes.values import torch_module

#: Where torch's functions live, and how a script names the place. Earlier ones win.
_HOMES = (
    ("torch", "torch"),
    ("torch.nn.functional", "F"),
    ("torch.linalg", "torch.linalg"),
    ("torch.fft", "torch.fft"),
    ("torch.special", "torch.special"),
    ("torch.sparse", "torch.sparse"),
    ("torch.nn.utils.rnn", "torch.nn.utils.rnn"),
    ("torch.nn.utils", "torch.nn.utils"),
    ("torch.autograd", "torch.autograd"),
    ("torch.utils.data", "torch.utils.data"),
    ("torch.nn.init", "nn.init"),
)
#: What reads or writes files, starts something or changes the process: never part of a repro.
_REFUSED = frozenset(
    ["load", "save", "hub", "compile", "from_file", "set_num_threads", "set_default_dtype", "import_ir_module"]
)


def name_of(function: Any) -> str | None:
    """`F.cross_entropy`, `torch.cat`: how a script names a function of torch; None for all other functions."""
    try:
        return _table().get(function)
    except TypeError:
        return None


@functools.cache
def _table() -> dict[Any, str]:
    import sys

    found: dict[Any, str] = {}
    if torch_module() is None:
        return found
    for home, said in _HOMES:
        for name, value in list(vars(sys.modules.get(home)).items()) if home in sys.modules else ():
            if callable(value) and not isinstance(value, type) and not name.startswith("_") and name not in _REFUSED:
                try:
                    found.setdefault(value, f"{said}.{name}")
                except TypeError:
                    continue
    return found


def is_method(name: str) -> bool:
    """Whether tensors have a method of this name that a repro may call."""
    torch = torch_module()
    return torch is not None and hasattr(torch.Tensor, name) and not name.startswith("_") and name != "register_hook"
