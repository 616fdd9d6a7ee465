"""The diagnosis as a section of another tool's report: pytest's, a log's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from explainer.hooks import process


def section(
    error: BaseException | None, traceback: Any, then: Callable[[Any], Any] | None = None, search: float = 0.0
) -> str:
    """The diagnosis as plain text, one line where a stage of ours failed, nothing for an error that is not torch's.

    `then` is given the explanation, and returns the one to show; `search` is as in `showing.explain`.
    """
    if error is None or not process.wanted(error):
        return ""
    try:
        from explainer.hooks import showing

        settings = process.settings or process.Settings()
        explanation = showing.explain(error, traceback, settings, search=search)
        if then is not None and explanation:
            explanation = then(explanation)
        text = showing.shown(explanation, None, settings)
        return text.strip("\n")
    except BaseException as failure:
        if isinstance(failure, KeyboardInterrupt):
            raise
        return f"explainer: the diagnosis failed ({type(failure).__name__}); the error above is unchanged"
