"""Children without torch's compiler: importing it takes seconds, and plain code only asks it to stay out.

So do optimizers when they are made and when they step, and operations on the meta device (torch 2.13).
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import types
from typing import Any

_NAME = "torch._dynamo"


class _StandIn(types.ModuleType):
    """`torch._dynamo` for code that is not compiled; the module itself takes its place where more is asked of it."""

    @staticmethod
    def graph_break(*_: Any, **__: Any) -> None:
        """Nothing: no graph is being made."""

    @staticmethod
    def disable(function: Any = None, *_: Any, **__: Any) -> Any:
        """The function as it is."""
        return function if function is not None else lambda decorated: decorated

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "config" and sys.modules.get(_NAME) is self:  # activation checkpointing asks for one of its flags
            return importlib.import_module(f"{_NAME}.config")
        return getattr(_itself(), name)


def _itself() -> types.ModuleType:
    """The compiler's module, imported where only the stand-in was there."""
    if isinstance(sys.modules.get(_NAME), _StandIn):
        del sys.modules[_NAME]
    return importlib.import_module(_NAME)


def without_compiler() -> None:
    """In a child: keep torch from importing its compiler until something is compiled."""
    torch: Any = sys.modules["torch"]
    if _NAME in sys.modules or not hasattr(torch, "compile"):
        return
    stand_in = _StandIn(_NAME)
    stand_in.__path__ = [os.path.join(folder, "_dynamo") for folder in torch.__path__]
    sys.modules[_NAME] = torch._dynamo = stand_in
    compiled = torch.compile

    @functools.wraps(compiled)
    def compiling(*args: Any, **kwargs: Any) -> Any:
        _itself()
        return compiled(*args, **kwargs)

    torch.compile = compiling


def compiles() -> bool:
    """Whether this process has compiled anything; optimizers import the compiler in any case."""
    counters = getattr(sys.modules.get(f"{_NAME}.utils"), "counters", {})
    return bool(counters.get("frames"))
