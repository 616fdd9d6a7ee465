"""Calls a function as soon as a package has been imported, without importing it: the program decides when, as ever."""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from typing import Any


def when_imported(package: str, then: Callable[[], None]) -> None:
    """Call `then` once `package` is there: now, or right after the program's own import of it."""
    if package in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Finder(package, then))


class _Finder:
    """Finds one package as the standard finder would, and has its loader tell when it is done."""

    def __init__(self, package: str, then: Callable[[], None]):
        self._package, self._then = package, then

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """The spec of the package that is waited for; None for every other one."""
        if name != self._package:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._then)  # type: ignore[assignment]
        return spec


class _Loader:
    """A package's own loader, which it gives back to the package before it loads."""

    def __init__(self, loader: Any, then: Callable[[], None]):
        self._loader, self._then = loader, then

    def create_module(self, spec: Any) -> Any:
        """As the package's own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        """Load the package, then tell."""
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then()
