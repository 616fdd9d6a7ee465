"""The kinds of silent faults: each module looks for some of them in what was noted."""

from __future__ import annotations

import importlib

NAMES = (
    "losses",
    "terms",
    "optimizers",
    "clearing",
    "strength",
    "batches",
    "attention",
    "states",
    "sizes",
    "evaluations",
    "memory",
    "scaling",
    "ties",
    "splits",
    "averages",
    "accumulation",
    "ranges",
    "frozen",
    "orders",
    "projections",
    "resorted",
    "switches",
    "padded",
    "kept",
    "extremes",
    "weighing",
    "precision",
    "growing",
    "apart",
    "effects",
    "unmoved",
    "drawn",
    "drifting",
    "pairs",
    "passes",
    "schedules",
    "shifts",
    "targets",
    "codes",
)


def load() -> None:
    """Have every kind register what looks for it."""
    for name in NAMES:
        importlib.import_module(f"explainer.training.kinds.{name}")
