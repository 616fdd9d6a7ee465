"""Trials in process: what an edit puts behind the crash runs too, and what does not come by is not judged."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from crashes import crashed  # noqa: E402

from explainer.diagnosis import Edit, Span  # noqa: E402
from explainer.edits import Candidate  # noqa: E402
from explainer.replay.confine import sandbox  # noqa: E402
from explainer.replay.inprocess import try_in_process  # noqa: E402
from explainer.replay.trial import Verdict  # noqa: E402

pytestmark = pytest.mark.skipif(sandbox.unavailable() is not None, reason="no sandbox here")

STEPS = """
    import torch
    from torch import nn

    def freeze(net):
        for p in net.parameters():
            p.requires_grad = False

    def train(net):
        for _ in range(2):
            loss = net(torch.rand(2, 3)).mean()
            loss.item().backward()
            done = True

    net = nn.Linear(3, 1)
    train(net)
"""


def tried(folder: Path, *edits: Edit) -> Verdict:
    """The verdict on edits of the program."""
    scene = crashed(folder, STEPS, whole=False)
    candidate = Candidate(edits, "replace", "", Span(str(folder / "main.py"), edits[0].start_line))
    return try_in_process(scene, [candidate], "backward")[0]


def repaired(folder: Path) -> Edit:
    """The edit under which the crashing line runs."""
    before = "        loss.item().backward()"
    return Edit(str(folder / "main.py"), 12, 12, before, "        loss.backward()")


def inserted(folder: Path, line: int, text: str) -> Edit:
    """A line put before another."""
    return Edit(str(folder / "main.py"), line, line - 1, None, text)


def test_a_line_put_behind_the_crash_has_to_run(tmp_path: Path) -> None:
    assert tried(tmp_path, repaired(tmp_path), inserted(tmp_path, 13, "        step = loss + 1")).passed
    failing = inserted(tmp_path, 13, "        step = net.body.weight")
    assert not tried(tmp_path, repaired(tmp_path), failing).passed


def test_an_edit_of_a_function_that_does_not_run_is_not_refuted(tmp_path: Path) -> None:
    verdict = tried(tmp_path, inserted(tmp_path, 8, "    net.weight.requires_grad_(True)"))
    assert (verdict.passed, verdict.level) == (False, "none")
