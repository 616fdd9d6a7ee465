"""What watching tells: of a script, a block, a checkup, to the writers in use, of what could not be looked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import types

import pytest

torch = pytest.importorskip("torch")

from commands import ROOT  # noqa: E402
from trainings import SOFTMAX_TWICE, ran, trained  # noqa: E402

from explainer.cli import Complaint  # noqa: E402
from explainer.cli.watch import seconds  # noqa: E402
from explainer.diagnosis import Report  # noqa: E402
from explainer.replay.confine import sandbox  # noqa: E402
from explainer.training import session  # noqa: E402
from explainer.training.watcher import Watcher  # noqa: E402


@pytest.mark.parametrize(("text", "value"), [("30", 30), ("30s", 30), ("2m", 120), ("0", 0)])
def test_a_budget_is_seconds_or_minutes(text, value):
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "soon", "-1", "3h", "1e400"])
def test_another_budget_is_complained_of(text):
    with pytest.raises(Complaint):
        seconds(text)


PROGRAM = (
    """
    import sys
    import torch
    print("args", sys.argv[1:])
    torch.manual_seed(0)
    x, y = torch.randn(64, 4), torch.randint(3, (64,))
"""
    + SOFTMAX_TWICE
    + """    print("drawn", torch.rand(1).item())
    sys.exit(int(sys.argv[1]))
"""
)


def watched(folder, *arguments):
    command = [sys.executable, "-m", "explainer", "watch", "--json", "out.json", "--no-trial", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    document = json.loads((folder / "out.json").read_text()) if (folder / "out.json").exists() else None
    return done, document


FUSED = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    model, top = nn.TransformerEncoder(layer, 1), nn.Linear(8, 2)
    optimizer = torch.optim.SGD([*model.parameters(), *top.parameters()], lr=0.1)
    x = torch.rand(6, 4, 8)
    for step in range(8):
        optimizer.zero_grad()
        nn.functional.cross_entropy(top(model(x).mean(1)), torch.arange(6) % 2).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        plain = model.layers[0].linear1.register_forward_hook(lambda *_: print("one by one"))
        model(x)
        plain.remove()
        calls = []
        own = torch._transformer_encoder_layer_fwd
        torch._transformer_encoder_layer_fwd = lambda *given: calls.append(1) or own(*given)
        model(x)
    print("fused", len(calls))
    """


def test_a_layer_that_torch_fuses_in_evaluation_is_fused_all_the_same(tmp_path):
    (tmp_path / "train.py").write_text(textwrap.dedent(FUSED))
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True)
    done, _ = watched(tmp_path, "train.py")
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    assert "fused 1" in plain.stdout


def test_a_script_runs_as_without_us_and_is_told_about(tmp_path):
    (tmp_path / "train.py").write_text(textwrap.dedent(PROGRAM))
    plain = subprocess.run([sys.executable, "train.py", "0"], cwd=tmp_path, capture_output=True, text=True)
    done, document = watched(tmp_path, "train.py", "0")
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    (report,) = document["reports"]
    assert report["error"] is None
    assert [(one["rule"], one["culprit"]["line"]) for one in report["diagnoses"]] == [
        ("softmax-before-cross-entropy", 7)
    ]
    assert "silent[softmax-before-cross-entropy]" in done.stderr
    assert done.stderr.startswith("explain: watching: ready in ")


def test_a_script_without_training_is_told_so_in_a_line(tmp_path):
    (tmp_path / "plain.py").write_text("print('no torch')")
    done, document = watched(tmp_path, "plain.py")
    assert (done.returncode, done.stdout) == (0, "no torch\n")
    assert done.stderr.count("\n") == 1
    assert "no training" in done.stderr
    assert document["reports"][0]["diagnoses"] == []


def test_a_block_is_watched_and_hands_its_report_over():
    import explainer

    reports: list[Report] = []
    with explainer.watch(report=reports.append):
        trained()
    assert [one.diagnoses for one in reports] == [()]


def test_a_checkup_looks_at_a_model_and_leaves_it_as_it_is():
    import explainer

    if sandbox.unavailable():
        pytest.skip("needs the sandbox")
    torch.manual_seed(0)
    batch = (torch.randn(16, 4), torch.randint(3, (16,)))
    good = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
    before = [one.detach().clone() for one in good.parameters()]
    drawn = torch.get_rng_state()
    seen = explainer.checkup(good, batch)
    assert seen.ok, seen.text()
    assert all(torch.equal(one, old) for one, old in zip(good.parameters(), before, strict=True))
    assert torch.equal(drawn, torch.get_rng_state())
    assert "<svg" in seen._repr_html_()
    bad = torch.nn.Sequential(good, torch.nn.Softmax(dim=1))
    found = explainer.checkup(bad, batch, loss=torch.nn.CrossEntropyLoss())
    assert not found.ok
    assert [one["rule"] for one in found.findings] == ["softmax-before-cross-entropy"]
    mixed = torch.nn.Sequential(torch.nn.Flatten(0), torch.nn.Unflatten(0, (4, 16)), torch.nn.Linear(16, 3))
    with pytest.raises(RuntimeError, match="checkup could not run"):
        explainer.checkup(mixed, batch)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = torch.nn.Linear(2, 2)\nx(torch.ones(1, 2)).sum().backward()", "only 1 steps"),
        (
            "w = torch.ones(2, requires_grad=True)\n"
            "for _ in range(8):\n    (w * w).sum().backward()\n    w.data -= 0.1 * w.grad\n    w.grad = None",
            "no optimizer of torch.optim",
        ),
        (
            "from torch.utils._device import DeviceContext\nw = torch.nn.Linear(2, 1)\n"
            "o = torch.optim.SGD(w.parameters(), lr=0.1)\nwith DeviceContext('cpu'):\n    for _ in range(8):\n"
            "        o.zero_grad()\n        w(torch.ones(1, 2)).sum().backward()\n        o.step()",
            "inside of a step could not be looked at",
        ),
    ],
)
def test_what_could_not_be_looked_at_is_said_in_a_line(tmp_path, text, said):
    watcher, program = ran(tmp_path, "import torch\n" + text)
    report = session.concluded(watcher, program, 0.0, 1.0, "en", lambda _: None)
    assert not report.diagnoses
    assert [said in remark for remark in report.remarks].count(True) == 1


def test_findings_go_to_the_writers_in_use(monkeypatch):
    import explainer

    class SummaryWriter:
        def __init__(self):
            self.texts = []

        def add_text(self, tag, text):
            self.texts.append((tag, text))

        def flush(self):
            self.texts.append(("flushed", ""))

    board, wandb = types.ModuleType("torch.utils.tensorboard"), types.ModuleType("wandb")
    board.SummaryWriter, wandb.run = SummaryWriter, types.SimpleNamespace(summary={})
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", board)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    writer = SummaryWriter()
    reports: list[Report] = []
    with explainer.watch(report=reports.append):
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Softmax(dim=1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(8):
            loss = torch.nn.functional.cross_entropy(model(torch.ones(4, 4)), torch.tensor([0, 1, 2, 0]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert [tag for tag, _ in writer.texts] == ["explainer", "flushed"]
    assert "softmax" in writer.texts[0][1].lower()
    assert wandb.run.summary["explainer"] == [one.headline for one in reports[0].diagnoses]


def test_a_loop_of_a_package_is_named(tmp_path):
    import sysconfig

    text = "def fit(o, m, x):\n  for _ in range(8):\n    o.zero_grad()\n    m(x).sum().backward()\n    o.step()\n"
    scope = {"__name__": "loops.trainer"}
    exec(compile(text, sysconfig.get_path("purelib") + "/loops/trainer.py", "exec"), scope)
    watcher = Watcher().start()
    model = torch.nn.Linear(2, 1)
    scope["fit"](torch.optim.SGD(model.parameters(), lr=0.1), model, torch.ones(4, 2))
    report = session.concluded(watcher, None, 0.0, 1.0, "en", lambda _: None)
    assert [remark for remark in report.remarks if "that of loops" in remark]


def test_what_a_loop_writes_to_is_found_behind_a_chain_of_calls():
    import ast

    from explainer.source import parsed_source
    from explainer.training.kinds.apart import _written_to

    source = parsed_source("x.py", "for a, b in zip(x, y):\n    a.data.mul_(d).add_(b, alpha=1 - d)\n")
    loop = source.tree.body[0]
    assert isinstance(loop, ast.For)
    assert _written_to(source, loop) == "a"
