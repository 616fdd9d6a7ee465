"""Small trainings that the tests of watching share."""

from __future__ import annotations

import textwrap

import torch

from explainer.replay.program import Program
from explainer.training.watcher import Watcher


def trained(steps: int = 12) -> list[float]:
    """A short training with dropout, its losses."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(16, 4)), torch.randint(2, (16,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


SOFTMAX_TWICE = """\
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Softmax(dim=1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(10):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def ran(folder, text: str) -> tuple[Watcher, Program]:
    """A script run watched in this process, and what a trial runs."""
    path = folder / "train.py"
    path.write_text(textwrap.dedent(text))
    watcher = Watcher().start()
    exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__", "__file__": str(path)})
    return watcher, Program(str(path), None, (), str(folder), 1.0)
