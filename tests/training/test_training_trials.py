"""Trials of a training: judged on what they show, on edits that fit, ended by Ctrl-C."""

from __future__ import annotations

import math
import signal
import time

import pytest

torch = pytest.importorskip("torch")

from trainings import SOFTMAX_TWICE, ran  # noqa: E402

from explainer.replay.confine import sandbox  # noqa: E402
from explainer.source import parsed_source  # noqa: E402
from explainer.training import rewrite, session  # noqa: E402
from explainer.training.judge import compared, metrics, rises, strong  # noqa: E402
from explainer.training.kinds import kept  # noqa: E402
from explainer.training.trials import Trials  # noqa: E402


@pytest.mark.parametrize(
    ("name", "up"),
    [
        ("acc", True),
        ("val_accuracy", True),
        ("r2", True),
        ("loss", False),
        ("valid_loss", False),
        ("rmse", False),
        ("epoch", None),
        ("lr", None),
    ],
)
def test_the_direction_of_a_programs_number_is_told_by_its_name(name, up):
    assert rises(name) is up


def test_the_last_line_with_numbers_of_a_known_direction_counts():
    assert metrics("epoch 1 loss 0.5\nacc=0.25 at lr=0.1\nsaved to out.pt\n") == {"acc": 0.25}
    assert metrics("nothing here") == {}
    assert math.isnan(metrics("loss nan")["loss"])


def run(losses: list[float], printed: str = "") -> dict:
    return {"losses": losses, "sites": [0] * len(losses), "steps": len(losses), "printed": printed}


def test_a_run_is_better_by_its_own_number_or_by_its_loss_in_nearly_every_stretch():
    flat, falling = [2.3] * 100, [2.3 * 0.97**step for step in range(100)]
    assert compared(run(flat, "acc 0.1"), run(flat, "acc 0.9")).better
    assert compared(run(flat, "acc 0.9"), run(falling, "acc 0.1")).worse
    assert compared(run(flat), run(falling)).better
    assert not compared(run(falling), run(flat)).better
    assert not compared(run(flat), run([loss - 0.01 for loss in flat])).better
    assert not compared(run(flat), run([math.nan] * 100)).better
    assert strong(compared(run(flat, "acc 0.1"), run(flat, "acc 0.9")))
    assert not strong(compared(run(flat, "acc 0.80"), run(flat, "acc 0.85")))


def test_a_number_is_followed_to_where_it_is_written():
    source = parsed_source("x.py", 'CFG = {"clip": 1e-4}\nclip(p, CFG["clip"])\nclip(p, cfg.rate)\nclip(p, unknown)\n')
    calls = [one for one in source.nodes() if type(one).__name__ == "Call"]
    found = [rewrite.literal_of(source, call.args[1], ()) for call in calls]
    assert [one and source.text(one[1]) for one in found] == ["1e-4", None, None]


def test_keywords_are_added_and_statements_moved():
    source = parsed_source("x.py", "for i in x:\n    a()\n    b(1,\n      2)\n    c()\n")
    body = source.tree.body[0].body
    call = body[1].value
    assert rewrite.with_keyword(source, call, "k", "3")[0].after == "    b(1,\n      2, k=3)"
    edits = rewrite.moved(source, body[2], body[0], False)
    assert [(edit.start_line, edit.after) for edit in edits] == [(2, "    c()"), (5, None)]


SILENT = (
    """
    import torch
    torch.manual_seed(0)
    x, y = torch.randn(32, 4), torch.randint(3, (32,))
"""
    + SOFTMAX_TWICE
)


def test_ctrl_c_ends_the_trials_and_what_is_known_is_told(tmp_path):
    watcher, program = ran(tmp_path, SILENT)
    begun = []

    def interrupts(_):
        begun.append(_)
        signal.raise_signal(signal.SIGINT)

    report = session.concluded(watcher, program, 60.0, 1.0, "en", interrupts)
    assert bool(begun) == (sandbox.unavailable() is None)
    assert [one.rule for one in report.diagnoses] == ["softmax-before-cross-entropy"]
    assert [fix.certainty for fix in report.diagnoses[0].fixes] == ["suggestion"]


@pytest.mark.skipif(sandbox.unavailable() is not None, reason="trials need the sandbox")
def test_a_run_without_learning_shows_the_number_of_weights_that_are_as_they_were_built(tmp_path):
    text = """
        import torch
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        first = model.weight.sum().item()
        for step in range(6):
            loss = model(torch.ones(8, 4)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"step {step}")
        print(f"drift={abs(model.weight.sum().item() - first):.3f} lr={optimizer.param_groups[0]['lr']}")
    """
    watcher, program = ran(tmp_path, text)
    watcher.stop()
    trials = Trials(program, 30.0, 1.0, lambda _: None)
    try:
        still, control = trials.still(), trials.control()
    finally:
        trials.close()
    assert metrics(still["printed"]) == {"drift": 0.0}
    assert metrics(control["printed"])["drift"] > 0.1
    assert "lr=0.5" in still["printed"]
    assert [step for step, text in control["early"] if text.startswith("step")] == [1, 2, 3, 4, 5, 6]


def test_a_factor_of_an_optimizer_is_none_of_an_average():
    text = "n, decay = 9, 0.9999\nAdam(p, betas=(0.9, 0.999))\nb = 0.9, 0.998\nE(o, gamma=0.995)\ne = Ema(m, 0.9995)\n"
    source = parsed_source("x.py", text)
    others = kept._factors_of_others(source)
    constants = [one for one in source.nodes() if type(one).__name__ == "Constant" and isinstance(one.value, float)]
    assert sorted(one.value for one in constants if id(one) not in others) == [0.9995, 0.9999]


@pytest.mark.skipif(sandbox.unavailable() is not None, reason="trials need the sandbox")
def test_trials_end_when_their_budget_is_over_by_the_clock(tmp_path):
    """The program is given one second; alone it would take ten minutes, of which a limit in work would count none."""
    watcher, program = ran(tmp_path, "import torch\n")
    watcher.stop()
    (tmp_path / "train.py").write_text("import time, torch\ntime.sleep(600)\n")
    began = time.monotonic()
    trials = Trials(program, 1.0, 1.0, lambda _: None)
    try:
        assert trials.control() is None
        assert trials.left <= 0
    finally:
        trials.close()
    assert time.monotonic() - began < 300
