"""What the tests of trials share: a program that crashes, its scene, and an edit of one of its lines."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from explainer.catalogue import load
from explainer.diagnosis import Edit, Span
from explainer.edits import Candidate
from explainer.live import crash_from
from explainer.probes import Options, Scene
from explainer.replay.program import Program

LOOP = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)
            self.fc = nn.Linear(4 * 5 * 5, 2)

        def forward(self, x):
            x = self.conv(x)
            x = x.flatten(1)
            return self.fc(x)

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        images = torch.ones(2, 3, 8, 8)
        loss = net(images).sum()
        loss.backward()
        optimizer.step()
"""


def crashed(folder: Path, text: str, whole: bool) -> Scene:
    """The scene of a program's crash in this process; `whole` where the program can be run again."""
    path = folder / "main.py"
    path.write_text(textwrap.dedent(text))
    names: dict[str, Any] = {"__name__": "crashing", "__file__": str(path)}
    try:
        exec(compile(path.read_text(), str(path), "exec"), names)
    except Exception as error:
        traceback = error.__traceback__.tb_next if error.__traceback__ else None
        crash = crash_from(error, traceback, load().knows)
        program = Program("main.py", None, (), str(folder), 1.0) if whole else None
        return Scene(crash, Options(program=program, deadline=20.0))
    raise AssertionError("the program did not crash")


def replacing(folder: Path, line: int, old: str, new: str, **words: Any) -> Candidate:
    """A candidate that changes one line of the program."""
    before = (folder / "main.py").read_text().split("\n")[line - 1]
    assert old in before
    edit = Edit(str(folder / "main.py"), line, line, before, before.replace(old, new))
    return Candidate((edit,), "replace", new, Span(str(folder / "main.py"), line), **words)
