"""Trials: an edit counts as checked only where the crash came again without it and went away with it."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from explainer.catalogue import load  # noqa: E402
from explainer.diagnosis import Edit, Span  # noqa: E402
from explainer.edits import Candidate, search  # noqa: E402
from explainer.live import crash_from  # noqa: E402
from explainer.probes import Options, Scene  # noqa: E402
from explainer.replay import sandbox  # noqa: E402
from explainer.replay.program import Program, unavailable  # noqa: E402
from explainer.replay.trial import try_candidates  # noqa: E402

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


@pytest.fixture
def in_process(tmp_path: Path) -> Path:
    if sandbox.unavailable():
        pytest.skip(str(sandbox.unavailable()))
    return tmp_path


@pytest.fixture
def as_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if unavailable(Program("main.py", None, (), str(tmp_path))):
        pytest.skip("no sandbox that leaves a folder writable")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_in_process_a_changed_layer_is_built_again(in_process: Path) -> None:
    scene = crashed(in_process, LOOP, whole=False)
    good, bad = replacing(in_process, 9, "5 * 5", "6 * 6"), replacing(in_process, 9, "5 * 5", "7 * 7")
    verdicts = try_candidates(scene, [bad, good], "forward")
    assert [(one.candidate, one.passed, one.level) for one in verdicts] == [
        (good, True, "forward"), (bad, False, "forward")
    ]  # fmt: skip
    assert verdicts[0].said == "with this edit `net(images)` runs, on CPU"


def test_in_process_a_changed_forward_is_swapped_in(in_process: Path) -> None:
    scene = crashed(in_process, LOOP, whole=False)
    edit = replacing(in_process, 13, "x.flatten(1)", "x[:, :, :5, :5].flatten(1)")
    assert [one.passed for one in try_candidates(scene, [edit], "forward")] == [True]


def test_in_process_the_users_objects_stay_as_they_are(in_process: Path) -> None:
    scene = crashed(in_process, LOOP, whole=False)
    names = scene.live.frames[0].frame.f_globals
    net, state, lines = names["net"], torch.get_rng_state(), dict(sys.modules)
    try_candidates(scene, [replacing(in_process, 9, "5 * 5", "6 * 6")], "forward")
    assert names["net"] is net
    assert net.fc.in_features == 100
    assert torch.equal(torch.get_rng_state(), state)
    assert dict(sys.modules) == lines


def test_replay_off_checks_nothing(in_process: Path) -> None:
    scene = crashed(in_process, LOOP, whole=False)
    scene.options = Options(replay=False)
    verdicts = try_candidates(scene, [replacing(in_process, 9, "5 * 5", "6 * 6")], "forward")
    assert [(one.passed, one.level) for one in verdicts] == [(False, "none")]


def test_the_program_runs_to_the_end_with_a_checked_edit(as_program: Path) -> None:
    scene = crashed(as_program, LOOP, whole=True)
    good, bad = replacing(as_program, 9, "5 * 5", "6 * 6"), replacing(as_program, 9, "5 * 5", "7 * 7")
    verdicts = try_candidates(scene, [bad, good], "forward")
    assert [(one.candidate, one.passed) for one in verdicts] == [(good, True), (bad, False)]
    assert verdicts[0].said == "with this edit the program runs to the end, on CPU"


def test_a_program_that_does_not_fail_again_checks_nothing(as_program: Path) -> None:
    scene = crashed(as_program, LOOP, whole=True)
    edit = replacing(as_program, 9, "5 * 5", "6 * 6")
    (as_program / "main.py").write_text("print('another program')\n")
    assert [one.level for one in try_candidates(scene, [edit], "forward")] == ["none"]


def test_a_lower_tier_that_holds_ends_the_trials(as_program: Path) -> None:
    scene = crashed(as_program, LOOP, whole=True)
    first = replacing(as_program, 9, "5 * 5", "6 * 6")
    second = replacing(as_program, 9, "5 * 5", "36", tier=1)
    assert [one.candidate for one in try_candidates(scene, [first, second], "forward")] == [first]


def test_an_edit_with_new_warnings_comes_after_one_without(as_program: Path) -> None:
    scene = crashed(as_program, LOOP, whole=True)
    loud = replacing(as_program, 9, "nn.Linear(4 * 5 * 5, 2)", "__import__('warnings').warn('x') or nn.Linear(144, 2)")
    quiet = replacing(as_program, 9, "5 * 5", "6 * 6")
    assert [one.candidate for one in try_candidates(scene, [loud, quiet], "forward")] == [quiet, loud]


SEARCHED = {
    "a linear layer after flatten": (LOOP, "shape", "nn.Linear(4 * 6 * 6, 2)"),
    "one-based labels": (
        """
        import torch
        from torch.nn.functional import cross_entropy
        scores = torch.ones(4, 3, requires_grad=True)
        labels = torch.tensor([1, 2, 3, 1])
        cross_entropy(scores, labels).backward()
        """, "index", "torch.tensor([1, 2, 3, 1]) - 1"),
    "numpy's float64": (
        """
        import numpy as np
        import torch
        net = torch.nn.Linear(3, 1)
        data = torch.from_numpy(np.ones((2, 3)))
        net(data).sum().backward()
        """, "dtype", "torch.from_numpy(np.ones((2, 3))).float()"),
    "a view of memory in another order": (
        """
        import torch
        x = torch.ones(2, 3).t()
        y = x.view(6)
        """, "view", "x.reshape(6)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SEARCHED))
def test_the_search_finds_an_edit_under_which_the_program_runs(as_program: Path, name: str) -> None:
    text, family, expected = SEARCHED[name]
    scene = crashed(as_program, text, whole=True)
    best = next(one for one in try_candidates(scene, search(scene, family), "program") if one.passed)
    assert expected in best.candidate.edits[0].after
    assert os.path.basename(best.candidate.culprit.file) == "main.py"
