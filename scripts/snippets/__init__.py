"""Mistakes in one statement each, by area: `harvest.py` runs them to learn how the installed torch words its errors.

A module of this folder holds `SNIPPETS`, statements, and may hold `PREAMBLE`, names made anew for each of them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

#: Names that every statement may use: torch, nn, F, and x, y, labels, images, net made anew for each.
PREAMBLE = """
import torch
from torch import nn
from torch.nn import functional as F
x, y = torch.randn(4, 6), torch.randn(5, 7)
labels, images = torch.tensor([0, 1, 2, 3]), torch.randn(2, 3, 8, 8)
net = nn.Linear(6, 3)
"""


def areas() -> list[str]:
    """The names of the areas."""
    return [info.name for info in pkgutil.iter_modules(__path__)]


def snippets(area: str) -> Iterator[tuple[str, str]]:
    """Every statement of an area with the program that runs it: the names it may use, then the statement."""
    module = importlib.import_module(f"{__name__}.{area}")
    for code in module.SNIPPETS:
        yield code, PREAMBLE + getattr(module, "PREAMBLE", "") + code
