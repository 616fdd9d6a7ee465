"""Explains PyTorch errors: `import explainer; explainer.install()`, `explainer.explain(error_or_text)`."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["Explanation", "checkup", "explain", "install", "repro", "uninstall", "watch"]

_HOMES = {
    "install": "hooks.process", "uninstall": "hooks.process", "explain": "api", "repro": "api", "Explanation": "api",
    "watch": "training.watching", "checkup": "training.checkup",
    "load_ipython_extension": "hooks.ipython", "unload_ipython_extension": "hooks.ipython",
}  # fmt: skip


def __getattr__(name: str):
    """Load the public names on first use, so that `import explainer` costs next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
