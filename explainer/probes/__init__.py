"""The registry of probes: each turns what is live, or its source, into a frozen fact, without running user code."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from explainer.probes.homes import HOMES
from explainer.probes.scene import Live, LiveFrame, Options, Scene

__all__ = ["Live", "LiveFrame", "Options", "Scene", "find", "probe", "probes"]

Probe = Callable[..., Any]
_registry: dict[str, Probe] = {}


def probe(function: Probe) -> Probe:
    """Register a probe under its function's name: `function(scene, **arguments) -> fact or None`.

    Arguments that name other facts of the rule arrive as those facts. A probe that raises counts as absent.
    """
    _registry[function.__name__] = function
    return function


def probes() -> dict[str, Probe]:
    """All probes by name."""
    return {name: find(name) for name in HOMES}


def find(name: str) -> Probe:
    """A probe by name, importing its module alone; KeyError with the known names where there is none."""
    if name not in _registry:
        if name not in HOMES:
            raise KeyError(f"no probe is called {name!r} (see homes.py); known: {', '.join(sorted(HOMES))}")
        importlib.import_module(f"explainer.probes.{HOMES[name]}")
    return _registry[name]
