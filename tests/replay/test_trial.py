"""Trials: an edit counts as checked only where the crash came again without it and went away with it."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from crashes import LOOP, crashed, replacing  # noqa: E402

from explainer.probes import Options  # noqa: E402
from explainer.replay import inprocess, trial  # noqa: E402
from explainer.replay.inprocess import try_in_process  # noqa: E402
from explainer.replay.stages import Trials  # noqa: E402
from explainer.replay.trial import try_candidates  # noqa: E402
from explainer.userframes import user_modules  # noqa: E402


def test_in_process_a_changed_layer_is_built_again(in_process: Path) -> None:
    scene = crashed(in_process, LOOP, whole=False)
    good, bad = replacing(in_process, 9, "5 * 5", "6 * 6"), replacing(in_process, 9, "5 * 5", "7 * 7")
    verdicts = try_in_process(scene, [bad, good], "forward")
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
    assert [one.passed for one in try_in_process(scene, [good], "forward")] == [True]


def test_in_process_a_changed_forward_is_swapped_in(in_process: Path) -> None:
    scene = crashed(in_process, LOOP, whole=False)
    edit = replacing(in_process, 13, "x.flatten(1)", "x[:, :, :5, :5].flatten(1)")
    assert [one.passed for one in try_in_process(scene, [edit], "forward")] == [True]


def test_in_process_the_users_objects_stay_as_they_are(in_process: Path) -> None:
    scene = crashed(in_process, LOOP, whole=False)
    names = scene.live.frames[0].frame.f_globals
    net, state, modules = names["net"], torch.get_rng_state(), user_modules()
    try_in_process(scene, [replacing(in_process, 9, "5 * 5", "6 * 6")], "forward")
    assert names["net"] is net
    assert net.fc.in_features == 100
    assert torch.equal(torch.get_rng_state(), state)
    assert user_modules() == modules


def test_replay_off_checks_nothing(in_process: Path) -> None:
    scene = crashed(in_process, LOOP, whole=False)
    scene.options = Options(replay=False)
    verdicts = try_in_process(scene, [replacing(in_process, 9, "5 * 5", "6 * 6")], "forward")
    assert [(one.passed, one.level) for one in verdicts] == [(False, "none")]


def test_the_program_runs_to_the_end_with_a_checked_edit(as_program: Path) -> None:
    scene = crashed(as_program, LOOP, whole=True)
    good, bad = replacing(as_program, 9, "5 * 5", "6 * 6"), replacing(as_program, 9, "5 * 5", "7 * 7")
    verdicts = try_candidates(scene, [bad, good], "forward")
    assert [(one.candidate, one.passed) for one in verdicts] == [(good, True), (bad, False)]
    assert verdicts[0].said == "runs to the end, with 3 samples too; samples stay independent"


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
    verdict, *_ = try_in_process(scene, [replacing(in_process, 6, ".numpy()", ".detach().numpy()")], "forward")
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
    monkeypatch.setattr(trial, "_MANY", 0)
    trials = Trials(crashed(in_process, LOOP, whole=False), inprocess._child)
    assert [(stage.text, stage.alone) for stage in trials.stages[:2]] == [("self.fc(x)", True), ("net(images)", True)]
    assert trials.at_once == 1
