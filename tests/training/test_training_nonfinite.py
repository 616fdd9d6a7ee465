"""A loss that turns nan without an error: told as by the rules of crashes, with edits that the whole run confirms."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from trainings import ran

from explainer.replay.confine import sandbox
from explainer.training import session
from explainer.training.nonfinite import since, spoilt
from explainer.training.notes import Notes

TRAINING = """
    import numpy as np
    import torch
    torch.manual_seed(0)
    table = np.random.default_rng(0).normal(size=(64, 3))
    {gap}
    x = torch.tensor(table, dtype=torch.float32)
    y = torch.zeros(64, 1)
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def loss_of(i):
        out = net(x[i : i + 8])
        return {loss}

    for step in range(16):
        loss = loss_of(step % 8 * 8)
        optimizer.zero_grad(){apart}loss.backward()
        optimizer.step()
    print(f"loss={{loss.item():.4f}}")
"""
PLAIN = "((out - y[:8]) ** 2).mean()"
CASES = [
    ("nan-in-data", "table[20, 1] = np.nan", PLAIN, "table[20, 1] = np.nan"),
    ("nan-in-data", "table[:, 1] = 1; table = (table - table.mean(0)) / (spread := table.std(0))", PLAIN, "std(0)"),
    ("nan-sqrt-at-zero", "table[16:24] = 0; y = 0", "(out - out.detach()).pow(2).sum().sqrt()", "sqrt()"),
]


@pytest.mark.skipif(sandbox.unavailable() is not None, reason="the program runs once more in the sandbox")
@pytest.mark.parametrize(
    ("apart", "rule", "gap", "loss", "culprit"),
    [*(("\n        ", *case) for case in CASES), ("; ", *CASES[2])],
    ids=["gap", "constant", "root", "root in one line"],
)
def test_what_made_a_loss_nan_is_told(tmp_path, apart, rule, gap, loss, culprit):
    watcher, program = ran(tmp_path, TRAINING.format(gap=gap, loss=loss, apart=apart))
    report = session.concluded(watcher, program, 60.0, 1.0, "en", lambda _: None)
    best = report.diagnoses[0]
    assert (best.rule, best.family) == (rule, "training")
    assert culprit in (tmp_path / "train.py").read_text().splitlines()[best.culprit.line - 1]
    assert best.cause.startswith("From backward ")
    assert all("isfinite" not in f"{edit.before}{edit.after}" for fix in best.fixes for edit in fix.edits)


def test_without_trials_it_is_said_that_the_loss_is_nan(tmp_path):
    watcher, program = ran(tmp_path, TRAINING.format(gap=CASES[0][1], loss=PLAIN, apart="; "))
    report = session.concluded(watcher, program, 0.0, 1.0, "en", lambda _: None)
    assert not report.diagnoses
    assert report.remarks[0] == "From backward 3 of 16 on, the loss is not finite."


NAN = float("nan")


@pytest.mark.parametrize(
    ("losses", "sites", "first"),
    [
        ([1.0, NAN, NAN], [0, 0, 0], 1),
        ([1.0, NAN, 0.5], [0, 0, 0], None),  # a step that a scaler skips
        ([1.0, NAN, 2.0, NAN], [0, 1, 0, 1], 1),
        ([1.0, 2.0], [0, 0], None),
        ([], [], None),
    ],
)
def test_a_loss_is_spoilt_from_where_it_stays_so(losses, sites, first):
    notes = Notes(losses=losses, loss_sites=sites)
    assert spoilt(notes) == first
    assert bool(since(notes, "en")) == (first is not None)
