"""Children without torch's compiler: importing it takes seconds, and plain code only asks it to stay out.

So do optimizers when they are made and when they step, and operations on the meta device (torch 2.13).
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import tempfile
import types
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from typing import Any

_NAME, _OTHER_HALF = "torch._dynamo", "torch._inductor"
#: What activation checkpointing asks for one of its flags.
_CONFIG = f"{_NAME}.config"


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
        if name == "config" and sys.modules.get(_NAME) is self:
            return importlib.import_module(_CONFIG)
        return getattr(_itself(), name)


def _itself() -> types.ModuleType:
    """The compiler's module, imported where only the stand-in was there."""
    if isinstance(sys.modules.get(_NAME), _StandIn):
        del sys.modules[_NAME]
    return importlib.import_module(_NAME)


class _WholeFirst(MetaPathFinder, Loader):
    """Parts of the compiler take it to be there whole, and would find the stand-in half way."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module that is there once the whole has been imported, as the one that is asked for."""
        if name != _OTHER_HALF and (not name.startswith(f"{_NAME}.") or name == _CONFIG):
            return None
        sys.meta_path.remove(self)
        _itself()
        return spec_from_loader(name, self) if name in sys.modules else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """The module itself."""
        self._spec = sys.modules[spec.name].__spec__
        return sys.modules[spec.name]

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing: it has run."""
        module.__spec__ = self._spec


def without_compiler() -> None:
    """In a child: keep torch from importing its compiler until something is compiled."""
    # The compiler asks for a folder for temporary files when it is imported, and there may be none to write to.
    tempfile.tempdir = tempfile.tempdir or os.environ.get("TMPDIR") or "/tmp"
    torch: Any = sys.modules["torch"]
    if _NAME in sys.modules or not hasattr(torch, "compile"):
        return
    stand_in = _StandIn(_NAME)
    stand_in.__path__ = [os.path.join(folder, "_dynamo") for folder in torch.__path__]
    sys.modules[_NAME] = torch._dynamo = stand_in
    sys.meta_path.insert(0, _WholeFirst())
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
