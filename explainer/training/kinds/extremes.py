"""Settings far from where they are of use: a trial with the usual value tells whether that was meant."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from explainer.source import called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.fits import learned
from explainer.training.sources import program_sources

_OPTIMIZERS = ("SGD", "Adam", "AdamW", "NAdam", "RAdam", "RMSprop", "Adagrad")
_DROPS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "dropout")
_NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d")
#: Calls, the keyword with its place, which values are worth a trial, the usual one.
_SETTINGS: tuple[tuple[tuple[str, ...], str, int | None, Callable[[float], bool], str], ...] = (
    (_DROPS[:-1], "p", 0, lambda value: value >= 0.7, "0.1"),
    (_DROPS[-1:], "p", 1, lambda value: value >= 0.7, "0.1"),
    (_NORMS, "momentum", 2, lambda value: value >= 0.9 or value < 1e-3, "0.1"),
    (_NORMS, "eps", 1, lambda value: value >= 0.1, "1e-5"),
    (_OPTIMIZERS, "momentum", None, lambda value: value >= 0.98, "0.9"),
    (_OPTIMIZERS, "eps", None, lambda value: value >= 1e-3, "1e-8"),
    (("CrossEntropyLoss", "cross_entropy"), "label_smoothing", None, lambda value: value >= 0.5, "0.1"),
)


@finder
def extreme(watcher: Any) -> Iterator[Finding]:
    """A setting that is written as a number and lies far off, where little was learned or it spoils evaluation."""
    done = learned(watcher) > 0.5
    for source in program_sources(watcher):
        for node in source.nodes():
            if not isinstance(node, ast.Call):
                continue
            for names, keyword, place, off, usual in _SETTINGS:
                if done and names is not _NORMS:
                    continue
                given = rewrite.argument(node, keyword, place) if called(node) in names else None
                written = rewrite.literal_of(source, given, ()) if given is not None else None
                number = written[1] if written is not None else None
                value = number.value if isinstance(number, ast.Constant) else None
                if written is None or number is None or not isinstance(value, (int, float)) or not off(value):
                    continue
                edits = rewrite.replaced(*written, usual)
                told = {"name": keyword, "call": called(node), "value": written[0].text(number), "usual": usual}
                attempts = (Attempt("usual", edits, told),)
                yield Finding("setting-extreme", told, written[0].span(number), attempts, proved=False, seen=True)
