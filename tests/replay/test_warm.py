"""Scripts that crash by themselves, tried again whole in forks of their process: what that finds, keeps and leaves."""

from __future__ import annotations

import json

import pytest
from commands import python

pytest.importorskip("torch")

from explainer.replay import ahead
from explainer.replay.program import Program

SCRIPT = """
import explainer
explainer.install()
import torch
from torch import nn

SETTINGS = {"inputs": 10, "hidden": 16, "classes": 4}


def build(settings):
    wide = settings["hidden"]
    return nn.Sequential(nn.Linear(settings["inputs"], wide), nn.ReLU(), nn.Linear(wide, settings["classes"]))


torch.manual_seed(0)
model = build(SETTINGS)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 12), torch.randint(0, 4, (8,))
for step in range(3):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def crashed(tmp_path, script, **more):
    """What a script that fails prints, without its traceback."""
    (tmp_path / "train.py").write_text(script)
    done = python("train.py", cwd=tmp_path, **more)
    assert done.returncode == 1
    return done.stderr[done.stderr.index("error[") :]


@pytest.fixture
def told(runner):
    """What is found out about a script in a fork of a process that has torch: to start one takes longer than most."""

    def found(script, **files):
        script = script.replace("import explainer\nexplainer.install()\n", "")
        return json.dumps(runner.run(script, files, "warm")["document"]["reports"][0]["diagnoses"][0])

    return found


def test_a_number_that_a_factory_was_given_is_found_and_tried(tmp_path):
    """No statement that crashed can be run again with another config: the model was built before."""
    said = crashed(tmp_path, SCRIPT)
    assert "train.py:7" in said
    assert "checked: runs to the end, with 5 samples too" in said
    assert '"inputs": 12' in said


def test_modes_that_the_program_set_do_not_reach_its_second_run(told):
    """A default dtype left at float64 would make the control fail in another way."""
    script = SCRIPT.replace("torch.randn(8, 12)", "torch.randn(8, 12, dtype=torch.float32)")
    late = script.replace("for step in", "torch.set_default_dtype(torch.float64)\nfor step in")
    assert "runs to the end, with 5 samples too" in told(late)


def test_nothing_that_the_script_wrote_is_written_again(tmp_path):
    """Each run of the script adds a line to its log: only the user's own run may."""
    script = SCRIPT.replace("torch.manual_seed(0)", "with open('log.txt', 'a') as log:\n    log.write('began\\n')")
    assert "checked: runs to the end" in crashed(tmp_path, script)
    assert (tmp_path / "log.txt").read_text() == "began\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".pyc") == [
        *[".state"] * (tmp_path / ".state").exists(), "log.txt", "train.py",
    ]  # fmt: skip


def test_it_is_not_run_again_where_it_may_not_be(tmp_path):
    """Without replay the script's statements are left alone; the report says why."""
    said = crashed(tmp_path, SCRIPT, EXPLAINER_REPLAY="0")
    assert "runs to the end" not in said
    assert "not tried: running it again is switched off" in said


def test_a_rank_runs_a_part_again_and_says_no_more(tmp_path):
    """What one rank of several does to its end, the others have a part in."""
    said = crashed(tmp_path, SCRIPT, RANK="0")
    assert "runs to the end" not in said
    assert "the statements that crashed run" in said


def test_a_script_that_does_not_fail_alike_again_proves_nothing(told):
    """Its second run fails by a file that the first has removed: no edit may be called checked."""
    said = told(SCRIPT.replace("torch.manual_seed(0)", "import os\nos.remove('once')"), once="")
    assert "runs to the end" not in said
    assert '"untried": "control"' in said


@pytest.mark.parametrize("error", [KeyError("lr"), FileNotFoundError("data"), AssertionError(), KeyboardInterrupt()])
def test_nothing_is_run_again_ahead_for_errors_that_torch_does_not_raise(error, tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(SCRIPT)
    monkeypatch.setattr(ahead, "begun", lambda *_: pytest.fail("a run was begun"))
    program = Program(str(tmp_path / "train.py"), folder=str(tmp_path), warm=True)
    assert ahead.begun_for(error, program, 2.0) is None


def test_an_error_of_the_programs_own_stays_uncommented_after_a_run_was_begun_for_it(tmp_path):
    """A ValueError may be torch's: that it is not is known a moment later."""
    own = "import explainer\nexplainer.install()\nimport torch\nraise ValueError('no such split: tset')\n"
    (tmp_path / "train.py").write_text(own)
    done = python("train.py", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("ValueError: no such split: tset")


def test_where_no_run_can_begin_the_diagnosis_goes_on_without(tmp_path):
    """A full disk, or no more processes: what can be said from the live objects is still said."""
    broken = "import tempfile\ntempfile.mkdtemp = lambda **_: (_ for _ in ()).throw(OSError('no space left'))\n"
    said = crashed(tmp_path, broken + SCRIPT)
    assert "error[linear-input-size]" in said
    assert "not tried: no more processes can be started, or no files written" in said
    assert "failed (" not in said
