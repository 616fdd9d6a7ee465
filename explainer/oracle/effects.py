"""Writes that reach tensors which are kept: attributes of modules, parameters, names of the script."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from explainer.oracle.trees import tensors

_MOST = 400


class Effects:
    """Remembers kept tensors as they are when the first module is called, to tell which were written over."""

    def __init__(self, folder: str):
        self.folder = folder
        self.before: dict[str, tuple[Any, int]] = {}

    def begin(self, root: Any) -> None:
        """Note a module's tensors, and those of the script's names, as they are now."""
        for name, tensor in self._kept([root]):
            if name not in self.before and len(self.before) < _MOST:
                self.before[name] = tensor, tensor._version

    def written(self, roots: list[Any]) -> dict[str, bool]:
        """The kept tensors that are others now, or were written over in place (True), whoever holds them now."""
        found = {name: True for name, (tensor, version) in self.before.items() if tensor._version != version}
        for name, tensor in self._kept(roots):
            was, version = self.before.get(name, (tensor, tensor._version))
            if tensor is not was or tensor._version != version:
                found[name] = tensor is was
        return found

    def overwritten(self) -> set[int]:
        """The ids of the tensors that were written over in place."""
        return {id(tensor) for tensor, version in self.before.values() if tensor._version != version}

    def _kept(self, roots: list[Any]) -> Iterator[tuple[str, Any]]:
        for root in roots:
            for name, tensor in held_by(root):
                yield f"{type(root).__name__}.{name}", tensor
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(self.folder):
                for key, value in list(vars(module).items()):
                    for number, tensor in enumerate(tensors(value, 2)):
                        yield f"{name}:{key}[{number}]", tensor


def held_by(root: Any) -> Iterator[tuple[str, Any]]:
    """The tensors that a module and those in it hold, with their names."""
    for path, module in root.named_modules():
        own = {name: value for name, value in vars(module).items() if name[:1] != "_"}
        for name, value in [*module._parameters.items(), *module._buffers.items(), *own.items()]:
            for number, tensor in enumerate(tensors(value, 2)):
                yield f"{path}.{name}[{number}]", tensor
