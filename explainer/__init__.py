"""Explains PyTorch errors: `import explainer; explainer.install()`, `explainer.explain(error_or_text)`."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["Explanation", "checkup", "explain", "install", "repro", "uninstall", "watch"]


def __getattr__(name: str):
    """Load the public names on first use, so that `import explainer` costs next to nothing."""
    if name in ("install", "uninstall"):
        from explainer.hooks import process

        return getattr(process, name)
    if name in ("explain", "repro", "Explanation"):
        from explainer import api

        return getattr(api, name)
    if name == "watch":
        from explainer.training import watching

        return watching.watch
    if name == "checkup":
        from explainer.training import checkup

        return checkup.checkup
    if name in ("load_ipython_extension", "unload_ipython_extension"):
        from explainer.hooks import ipython

        return getattr(ipython, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
