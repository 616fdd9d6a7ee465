"""Trials: an edit counts as checked only where the crash came again without it and went away with it."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from explainer.catalogue import load  # noqa: E402
from explainer.diagnosis import Edit, Span  # noqa: E402
from explainer.edits import Candidate, search  # noqa: E402
from explainer.live import crash_from  # noqa: E402
from explainer.probes import Options, Scene  # noqa: E402
from explainer.replay import inprocess, sandbox, stages  # noqa: E402
from explainer.replay.program import Program, one_clean_process, unavailable  # noqa: E402
from explainer.replay.stages import Trials  # noqa: E402
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


@pytest.fixture(scope="module")
def clean_process() -> Iterator[None]:
    with one_clean_process():
        yield


@pytest.fixture
def as_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean_process: None) -> Path:
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


def test_in_process_a_launcher_does_not_refute_an_edit_of_the_file_it_runs(in_process: Path) -> None:
    """Run again as a whole, the launcher's statement would read the unedited file from disk."""
    launched = in_process / "launched"
    launched.mkdir()
    inner = launched / "main.py"
    inner.write_text(textwrap.dedent(LOOP))
    scene = crashed(in_process, f"import runpy\nrunpy.run_path({str(inner)!r})", whole=False)
    good = replacing(launched, 9, "5 * 5", "6 * 6")
    assert [one.passed for one in try_candidates(scene, [good], "forward")] == [True]


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


def test_a_long_program_counts_as_running_when_it_takes_further_steps(as_program: Path) -> None:
    text = LOOP.replace("range(2)", "range(10**9)").replace("optimizer.step()", "optimizer.step(); sleep(0.05)")
    scene = crashed(as_program, text.replace("import torch\n", "import torch; from time import sleep\n", 1), whole=True)
    [verdict] = try_candidates(scene, [replacing(as_program, 9, "5 * 5", "6 * 6")], "forward")
    assert verdict.passed
    assert verdict.said.startswith("with this edit the program passes the crash and takes ")


SEARCHED = {
    "a linear layer after flatten": (LOOP, "shape", "nn.Linear(4 * 6 * 6, 2)"),
    "a size that is a product of names": (
        """
        import torch
        from torch import nn
        WINDOW = 3
        class Net(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.embed = nn.Embedding(9, width)
                self.out = nn.Linear(width, 2)
            def forward(self, ids):
                return self.out(self.embed(ids).flatten(1))
        Net(5)(torch.zeros(4, WINDOW, dtype=torch.long)).sum().backward()
        """, "shape", "nn.Linear(WINDOW * width, 2)"),
    "a literal in a configuration": (
        """
        import torch
        CONFIG = {"features": 6, "hidden": 8}
        net = torch.nn.Linear(CONFIG["features"], CONFIG["hidden"])
        net(torch.ones(2, 7)).sum().backward()
        """, "shape", '"features": 7'),
    "sizes of a loop that do not follow": (
        """
        import torch
        from torch import nn
        def layers(before, sizes):
            made = []
            for size in sizes:
                made.append(nn.Linear(before, size))
            return nn.Sequential(*made)
        layers(4, [8, 8, 3])(torch.ones(2, 4)).sum().backward()
        """, "shape", "before = size"),
    "a fixed batch size": (
        """
        import torch
        from torch import nn
        BATCH = 4
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(3, 5, batch_first=True)
            def forward(self, x):
                return self.rnn(x, torch.zeros(1, BATCH, 5))[0]
        net = Net()
        for x in torch.ones(6, 2, 3).split(4):
            net(x).sum().backward()
        """, "shape", "torch.zeros(1, x.size(0), 5)"),
    "a mask without the dimensions of its scores": (
        """
        import torch
        def attend(scores, mask):
            return scores.masked_fill(mask, -1e9).softmax(-1)
        attend(torch.ones(3, 2, 5, 5), torch.zeros(3, 5, dtype=torch.bool)).sum()
        """, "shape", "mask[:, None, None, :]"),
    "a view that repeats a wrong size": (
        """
        import torch
        def grid(x):
            return x.view(-1, 2, 4, 4)
        grid(torch.ones(5, 18)).sum()
        """, "shape", "x.view(-1, 2, 3, 3)"),
    "channels last in the data": (
        """
        import numpy as np
        import torch
        def sample():
            return torch.from_numpy(np.ones((6, 6, 3), dtype=np.float32))
        net = torch.nn.Conv2d(3, 2, 3)
        batch = torch.stack([sample(), sample()])
        net(batch).sum().backward()
        """, "shape", "dtype=np.float32)).permute(2, 0, 1)"),
    "samples of unequal length": (
        """
        import torch
        from torch.utils.data import DataLoader
        samples = [(torch.ones(2), 0), (torch.ones(3), 1)]
        for x, y in DataLoader(samples, batch_size=2):
            print(x.shape, y.shape)
        """, "shape", "def collate_padded(batch):"),
    "one-based labels": (
        """
        import torch
        from torch.nn.functional import cross_entropy
        scores = torch.ones(4, 3, requires_grad=True)
        labels = torch.tensor([1, 2, 3, 1])
        cross_entropy(scores, labels).backward()
        """, "index", "torch.tensor([1, 2, 3, 1]) - 1"),
    "a loop that ends one step late": (
        """
        import torch
        x = torch.ones(4, 2)
        steps = [x[i + 1] - x[i] for i in range(3)]
        for i in range(len(x)):
            steps.append(x[i + 1] - x[i])
        """, "index", "range(len(x) - 1)"),
    "a label for what is left out": (
        """
        import torch
        loss = torch.nn.CrossEntropyLoss()
        loss(torch.ones(3, 2, requires_grad=True), torch.tensor([0, -1, 1])).backward()
        """, "index", "CrossEntropyLoss(ignore_index=-1)"),
    "a table that is too short": (
        """
        import torch
        class Places(torch.nn.Module):
            def __init__(self, longest=8):
                super().__init__()
                self.table = torch.nn.Embedding(longest, 3)
            def forward(self, x):
                return self.table(torch.arange(x.size(1)))
        Places()(torch.ones(2, 11)).sum().backward()
        """, "index", "longest=11"),
    "a count that leaves out one": (
        """
        import torch
        WORDS = ["a", "b"]
        table = torch.nn.Embedding(len(WORDS), 3)
        table(torch.tensor([0, 1, len(WORDS)])).sum().backward()
        """, "index", "len(WORDS) + 1"),
    "a dimension that is not there": (
        """
        import torch
        x = torch.ones(2, 3)
        y = torch.softmax(x, dim=2)
        """, "index", "dim=-1"),
    "numpy's float64": (
        """
        import numpy as np
        import torch
        net = torch.nn.Linear(3, 1)
        data = torch.from_numpy(np.ones((2, 3)))
        net(data).sum().backward()
        """, "dtype", "torch.from_numpy(np.ones((2, 3))).float()"),
    "one minus a bool mask": (
        """
        import torch
        def outside(mask):
            return (1 - mask) * 2.0
        outside(torch.ones(3) > 0)
        """, "dtype", "(~mask) * 2.0"),
    "a part of the model in another dtype": (
        """
        import torch
        net = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 3), "b": torch.nn.Linear(3, 1)})
        class Both(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = net
                self.first = net["a"]
            def forward(self, x):
                return self.parts["b"](self.first(x.double()))
        both = Both()
        both.first.double()
        both(torch.ones(1, 2)).sum()
        """, "dtype", "both.double()"),
    "a view of memory in another order": (
        """
        import torch
        x = torch.ones(2, 3).t()
        y = x.view(6)
        """, "view", "x.reshape(6)"),
    "a write into expanded memory": (
        """
        import torch
        rows = torch.ones(1, 3).expand(4, 3)
        rows[:, 0] += 1
        """, "view", "expand(4, 3).clone()"),
    "more windows than fit": (
        """
        import torch
        def windows(signal, size, hop):
            return signal.as_strided((len(signal) // hop, size), (hop, 1))
        windows(torch.ones(20), 6, 4)
        """, "view", "signal.unfold(0, size, hop)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SEARCHED))
def test_the_search_finds_an_edit_under_which_the_program_runs(as_program: Path, name: str) -> None:
    text, family, expected = SEARCHED[name]
    scene = crashed(as_program, text, whole=True)
    best = next(one for one in try_candidates(scene, search(scene, family), "program") if one.passed)
    assert any(expected in (edit.after or "") for edit in best.candidate.edits)
    assert os.path.basename(best.candidate.culprit.file) == "main.py"


LONG = """
    import time
    import torch

    def score(predictions):
        return predictions.numpy()

    def main():
        layer = torch.nn.Linear(3, 1)
        for step in range(1000):
            score(layer(torch.ones(2, 3)))
            time.sleep(0.05)

    main()
"""


def test_in_process_a_long_program_that_goes_on_is_judged_by_a_frame_further_in(in_process: Path) -> None:
    """Repaired, `main()` would run for minutes: that the loop's round which crashed runs is shown instead."""
    scene = crashed(in_process, LONG, whole=False)
    scene.options = Options(deadline=8.0)
    verdict, *_ = try_candidates(scene, [replacing(in_process, 6, ".numpy()", ".detach().numpy()")], "forward")
    assert verdict.passed
    assert verdict.said == "with this edit `score(layer(torch.ones(2, 3)))` runs, on CPU"


def test_in_process_a_value_that_was_to_be_returned_counts_as_made(in_process: Path) -> None:
    """`return self.fc(x)` ends the frame once it has its value: that is no other way than the crashed run went."""
    scene = crashed(in_process, LOOP, whole=False)
    trials = Trials(scene, inprocess._child)
    trials.stages = [replace(stage, alone=True) for stage in trials.stages if stage.text == "self.fc(x)"]
    edit = replacing(in_process, 9, "5 * 5", "6 * 6")
    assert trials.of([list(edit.edits)]) == [(True, "self.fc(x)")]


def test_in_process_a_large_process_runs_the_crashed_statement_alone_first(
    in_process: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements before it may have built the model: there is neither room nor time to build it again."""
    monkeypatch.setattr(stages, "_LARGE", 0)
    trials = Trials(crashed(in_process, LOOP, whole=False), inprocess._child)
    assert [(stage.text, stage.alone) for stage in trials.stages[:2]] == [("self.fc(x)", True), ("net(images)", True)]
    assert trials.at_once == 1
