"""Writes that reach tensors which are kept: attributes of modules, parameters, names of the script."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from explainer.oracle.trees import digest, tensors

_MOST = 400


class Effects:
    """Remembers kept tensors as they are when the first module is called, to tell which were written over."""

    def __init__(self, folder: str):
        self.folder = folder
        self.before: dict[str, tuple[Any, Any]] = {}

    def begin(self, root: Any) -> None:
        """Note a module's tensors, and those of the script's names, as they are now."""
        for name, tensor in self._kept([root]):
            if name not in self.before and len(self.before) < _MOST:
                self.before[name] = tensor, digest(tensor)

    def written(self, roots: list[Any]) -> dict[str, bool]:
        """The kept tensors that hold other values now; True where they were written over in place."""
        found: dict[str, bool] = {}
        for name, tensor in self._kept(roots):
            was, values = self.before.get(name, (None, None))
            if values is not None and digest(tensor) != values:
                found[name] = tensor is was
        return found

    def _kept(self, roots: list[Any]) -> Iterator[tuple[str, Any]]:
        for root in roots:
            kind = type(root).__name__
            for path, module in root.named_modules():
                for name, value in [*module._parameters.items(), *module._buffers.items(), *vars(module).items()]:
                    if name[:1] != "_" or name in module._buffers:
                        for number, tensor in enumerate(tensors(value, 2)):
                            yield f"{kind}.{path}.{name}[{number}]", tensor
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(self.folder):
                for key, value in list(vars(module).items()):
                    for number, tensor in enumerate(tensors(value, 2)):
                        yield f"{name}:{key}[{number}]", tensor
