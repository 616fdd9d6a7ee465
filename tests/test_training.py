"""Watching a training: nothing of the program is changed, trials are judged on what they show, edits fit."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import subprocess
import sys
import textwrap
import types

import pytest

torch = pytest.importorskip("torch")

from commands import ROOT  # noqa: E402

from explainer.cli import Complaint  # noqa: E402
from explainer.cli.watch import seconds  # noqa: E402
from explainer.diagnosis import Report  # noqa: E402
from explainer.replay.confine import sandbox  # noqa: E402
from explainer.replay.program import Program  # noqa: E402
from explainer.source import parsed_source  # noqa: E402
from explainer.training import holding, rewrite, session  # noqa: E402
from explainer.training.judge import compared, metrics, rises, strong  # noqa: E402
from explainer.training.kinds import kept  # noqa: E402
from explainer.training.watcher import Watcher, sampled  # noqa: E402

HOOKED = (
    (torch.autograd, "backward"),
    (torch.optim.Optimizer, "__init__"),
    (torch.optim.Optimizer, "zero_grad"),
    (torch.nn.Module, "__init__"),
    (torch.nn.Module, "load_state_dict"),
    (torch.no_grad, "__enter__"),
    (torch.nn.utils, "clip_grad_norm_"),
)


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


def test_watching_changes_no_number_and_leaves_nothing_behind():
    before = [getattr(owner, name) for owner, name in HOOKED]
    plain = trained()
    watcher = Watcher().start()
    watched = trained()
    notes = watcher.stop()
    assert watched == plain
    assert [getattr(owner, name) for owner, name in HOOKED] == before
    assert not torch.overrides._get_current_function_mode_stack()
    assert not torch.nn.modules.module._global_forward_hooks
    assert (notes.counts["step"], notes.counts["zero"], notes.losses) == (12, 12, watched)
    assert not notes.trouble


def test_nothing_of_ours_is_recorded_saved_or_dispatched_inside_of_the_program(monkeypatch):
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.checkpoint import checkpoint

    counts = [0, 0]

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            counts[0] += 1
            return func(*args, **(kwargs or {}))

    def saved(tensor):
        counts[1] += 1
        return tensor

    def program():
        torch.manual_seed(0)
        layer = torch.nn.Sequential(torch.nn.LayerNorm(4), torch.nn.Linear(4, 4), torch.nn.ReLU())
        model = torch.nn.Sequential(layer, torch.nn.RNN(4, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        counts[:] = 0, 0
        for step in range(6):
            given = torch.randn(8, 4, requires_grad=True)
            kept = torch.autograd.graph.saved_tensors_hooks(saved, lambda tensor: tensor)
            with Counting() if step == 1 else contextlib.nullcontext(), kept if step == 2 else contextlib.nullcontext():
                hidden = layer(given) if step == 2 else checkpoint(layer, given, use_reentrant=step > 3)
                loss = model[1](hidden, torch.ones(1, 4))[0].square().mean()
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return [*counts, loss.item()]

    bare = program()
    watcher = Watcher().start()
    watched = program()
    assert watched == bare
    monkeypatch.setattr(torch.export, "export", lambda: watcher.deep.awake)
    watcher.deep.wake()
    assert watcher._exports(torch.export.export)() is False
    assert not watcher.stop().trouble


def test_gradients_of_any_layout_and_type_are_looked_at():
    table, number = torch.nn.Embedding(9, 4, sparse=True), torch.nn.Parameter(torch.ones(3, dtype=torch.cfloat))
    watcher = Watcher().start()
    optimizers = [torch.optim.SparseAdam(list(table.parameters())), torch.optim.Adam([number])]
    for _ in range(10):
        loss = table(torch.arange(5)).square().sum() + number.abs().square().sum()
        for one in optimizers:
            one.zero_grad()
        loss.backward()
        for one in optimizers:
            one.step()
    notes = watcher.stop()
    assert not notes.trouble
    assert [(one.looked > 3, one.lost) for one in notes.optimizers] == [(True, 0), (True, 0)]


def test_a_module_is_not_asked_for_its_hash_before_it_is_built():
    class Metric(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kinds = ("mean",)

        def __hash__(self):
            return hash(self.kinds)

        def __eq__(self, other):
            raise TypeError("metrics are compared value by value")

    watcher = Watcher().start()
    try:
        made = Metric()
        assert watcher.notes.built.get(made)[0].file == __file__
        assert [one for one in watcher.notes.built.living() if one is made]
        del made
        assert not watcher.notes.built.living()
    finally:
        watcher.stop()


def test_a_failure_of_a_hook_is_noted_and_never_the_programs(monkeypatch):
    from explainer.training import inspect

    def fails(*_):
        raise ValueError("ours")

    monkeypatch.setattr(inspect, "before_step", fails)
    monkeypatch.setattr(inspect, "root_called", fails)
    watcher = Watcher().start()
    trained()
    assert any("ours" in one for one in watcher.stop().trouble)


def test_steps_are_looked_at_ever_more_rarely():
    looked = [count for count in range(10_000) if sampled(count)]
    assert looked[:5] == [0, 1, 2, 3, 4]
    assert len(looked) < 20


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


@pytest.mark.parametrize(("text", "value"), [("30", 30), ("30s", 30), ("2m", 120), ("0", 0)])
def test_a_budget_is_seconds_or_minutes(text, value):
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "soon", "-1", "3h", "1e400"])
def test_another_budget_is_complained_of(text):
    with pytest.raises(Complaint):
        seconds(text)


SOFTMAX_TWICE = """\
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Softmax(dim=1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(10):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
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
        command, cwd=folder, capture_output=True, text=True, env={**__import__("os").environ, "PYTHONPATH": str(ROOT)}
    )
    document = json.loads((folder / "out.json").read_text()) if (folder / "out.json").exists() else None
    return done, document


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
    from explainer.replay.confine import sandbox

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


SILENT = (
    """
    import torch
    torch.manual_seed(0)
    x, y = torch.randn(32, 4), torch.randint(3, (32,))
"""
    + SOFTMAX_TWICE
)


def ran(folder, text: str) -> tuple[Watcher, Program]:
    """A script run watched in this process, and what a trial runs."""
    path = folder / "train.py"
    path.write_text(textwrap.dedent(text))
    watcher = Watcher().start()
    exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__", "__file__": str(path)})
    return watcher, Program(str(path), None, (), str(folder), 1.0)


def test_ctrl_c_ends_the_trials_and_what_is_known_is_told(tmp_path):
    watcher, program = ran(tmp_path, SILENT)
    begun = []

    def interrupts(_):
        begun.append(_)
        signal.raise_signal(signal.SIGINT)

    report = session.concluded(watcher, program, 60.0, 1.0, "en", interrupts)
    assert len(begun) == (sandbox.unavailable() is None)
    assert [one.rule for one in report.diagnoses] == ["softmax-before-cross-entropy"]
    assert [fix.certainty for fix in report.diagnoses[0].fixes] == ["suggestion"]


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


@pytest.mark.parametrize(
    ("dtype", "size"),
    [(torch.float16, 6e6), (torch.complex64, 6e6), (torch.int64, 6e6), (torch.float64, 6e6)],
)
def test_a_norm_is_told_without_a_warning_and_without_infinity(dtype, size, recwarn):
    assert holding.size(torch.full((10_000,), size / 100).to(dtype)) == pytest.approx(size, rel=1e-3)
    assert not recwarn.list


def test_a_leaf_without_strides_is_no_trouble():
    watcher = Watcher().start()
    weight = torch.eye(4).to_sparse().requires_grad_()
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        model(torch.sparse.mm(weight, torch.ones(4, 4))).sum().backward()
        optimizer.step()
    assert not watcher.stop().trouble
    assert not holding._LEAVES


def test_a_factor_of_an_optimizer_is_none_of_an_average():
    text = "n, decay = 9, 0.9999\nAdam(p, betas=(0.9, 0.999))\nb = 0.9, 0.998\nE(o, gamma=0.995)\ne = Ema(m, 0.9995)\n"
    source = parsed_source("x.py", text)
    others = kept._factors_of_others(source)
    constants = [one for one in source.nodes() if type(one).__name__ == "Constant" and isinstance(one.value, float)]
    assert sorted(one.value for one in constants if id(one) not in others) == [0.9995, 0.9999]
