"""The registry of probes: each turns what is live, or its source, into a frozen fact, without running user code."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from explainer.probes.scene import Live, LiveFrame, Options, Scene

__all__ = ["Live", "LiveFrame", "Options", "Scene", "find", "probe", "probes"]

Probe = Callable[..., Any]
_registry: dict[str, Probe] = {}
#: Modules that register probes; imported when the first probe is asked for.
MODULES = (
    "call",
    "shapes",
    "indices",
    "module",
    "origin",
    "built",
    "graph",
    "writes",
    "cuts",
    "carried",
    "births",
    "device",
    "memory",
    "data",
    "checkpoint",
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
        try:
            importlib.import_module(f"explainer.probes.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"explainer.probes.{name}":
                raise
    return _registry


def find(name: str) -> Probe:
    """A probe by name; KeyError with the known names where there is none."""
    known = probes()
    if name not in known:
        raise KeyError(f"no probe is called {name!r}; known: {', '.join(sorted(known))}")
    return known[name]
