"""The door in child processes: multiprocessing prints a child's error and leaves without any hook."""

from __future__ import annotations

import functools
import sys
import traceback
from multiprocessing.process import BaseProcess

from explainer.hooks import process


def watch() -> None:
    """Explain what ends a `multiprocessing` (also `torch.multiprocessing`) child, after its own traceback."""
    bootstrap = vars(BaseProcess)["_bootstrap"]
    if not hasattr(bootstrap, "watched"):
        BaseProcess._bootstrap = _watched(bootstrap)  # type: ignore[attr-defined]


def _watched(bootstrap):
    """`_bootstrap` prints by `traceback.print_exc()` and returns the exit status: in that call the error is seen."""

    @functools.wraps(bootstrap)
    def watched(self, *args, **kwargs):
        errors, printed = [], traceback.print_exc

        def print_exc(*given, **named):
            if sys._getframe(1).f_code is bootstrap.__code__:
                errors.append(sys.exc_info()[1])
            printed(*given, **named)

        traceback.print_exc = print_exc
        try:
            return bootstrap(self, *args, **kwargs)
        finally:
            traceback.print_exc = printed
            for error in errors:
                if process.settings is not None and process.wanted(error):
                    process.explain_once(error, error.__traceback__)
            errors.clear()

    watched.watched = True
    return watched
