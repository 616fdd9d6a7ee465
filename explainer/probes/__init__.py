"""The registry of probes: each turns what is live, or its source, into a frozen fact, without running user code."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from explainer.probes.scene import Live, LiveFrame, Options, Scene

__all__ = ["Live", "LiveFrame", "Options", "Scene", "find", "probe", "probes"]

Probe = Callable[..., Any]
_registry: dict[str, Probe] = {}
#: Modules that register probes, those that most rules need first; each is imported when a probe is not found yet.
MODULES = (
    "call",
    "shapes",
    "indices",
    "parts",
    "listed",
    "samples",
    "asked_cuda",
    "resized",
    "toplevel",
    "module",
    "origin",
    "built",
    "decided",
    "sizes",
    "graph",
    "gradients",
    "writes",
    "updates",
    "cuts",
    "carried",
    "births",
    "device",
    "elsewhere",
    "memory",
    "held",
    "data",
    "checkpoint",
    "windows",
    "history",
)


def probe(function: Probe) -> Probe:
    """Register a probe under its function's name: `function(scene, **arguments) -> fact or None`.

    Arguments that name other facts of the rule arrive as those facts. A probe that raises counts as absent.
    """
    _registry[function.__name__] = function
    return function


def probes() -> dict[str, Probe]:
    """All probes by name."""
    for name in MODULES:
        _load(name)
    return _registry


def find(name: str) -> Probe:
    """A probe by name, importing no more than it takes; KeyError with the known names where there is none."""
    for module in MODULES:
        if name in _registry:
            return _registry[name]
        _load(module)
    if name not in _registry:
        raise KeyError(f"no probe is called {name!r}; known: {', '.join(sorted(_registry))}")
    return _registry[name]


def _load(name: str) -> None:
    importlib.import_module(f"explainer.probes.{name}")
