"""Explains PyTorch errors: `import explainer; explainer.install()`, `explainer.explain(error_or_text)`."""

from __future__ import annotations

import sys

__version__ = "0.1.0"
__all__ = ["Explanation", "callback", "checkup", "explain", "install", "repro", "uninstall", "watch"]

_HOMES = {
    "install": "hooks.process", "uninstall": "hooks.process", "explain": "api", "repro": "api", "Explanation": "api",
    "callback": "hooks.callbacks", "watch": "training.watching", "checkup": "training.checkup",
    "load_ipython_extension": "hooks.ipython", "unload_ipython_extension": "hooks.ipython",
}  # fmt: skip


def __getattr__(name: str):
    """Load the public names on first use, so that `import explainer` costs next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = f"{__name__}.{_HOMES[name]}"
    __import__(home)  # `importlib` would be one more module that every program pays for
    found = globals()[name] = getattr(sys.modules[home], name)
    return found
