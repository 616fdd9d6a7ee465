"""Findings of trainings that are run once, watched in this process: what is offered, and what is left alone."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from trainings import ran  # noqa: E402

from explainer.source import parsed_source  # noqa: E402
from explainer.training.finding import findings  # noqa: E402
from explainer.training.inspect import labels_of  # noqa: E402
from explainer.training.kinds import memory  # noqa: E402
from explainer.training.kinds.targets import written_back  # noqa: E402

HEAD = """
import copy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
data = TensorDataset(torch.randn(120, 4), torch.randint(0, 2, (120,)))
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def learn(epochs=2):
    for epoch in range(epochs):
        for x, y in DataLoader(data, batch_size=12):
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


def found(folder, text: str, rule: str) -> list:
    """The findings of a rule in a training that goes on with a text."""
    watcher, _ = ran(folder, HEAD + text)
    watcher.stop()
    return [one for one in findings(watcher) if one.rule == rule]


@pytest.mark.parametrize(("value", "many"), [("loss", 1), ("loss.item()", 0)])
def test_a_sum_of_an_evaluation_that_keeps_its_graphs(tmp_path, value, many):
    text = f"""
def validate():
    total = 0.0
    for x, y in DataLoader(data, batch_size=4):
        loss = nn.functional.cross_entropy(net(x), y)
        total += {value}
    return total

learn()
validate()
"""
    assert len(found(tmp_path, text, "graph-kept-across-steps")) == many


@pytest.mark.parametrize(("before", "many"), [("", 1), ("    for one in handles: one.remove()\n", 0)])
def test_hooks_that_pile_up_by_the_epoch(tmp_path, before, many):
    text = f"""
handles = []

def probe():
{before}    handles[:] = [net[1].register_forward_hook(lambda *_: None)]

for turn in range(14):
    probe()
    learn(1)
"""
    assert len(found(tmp_path, text, "hooks-pile-up")) == many


def test_where_data_hold_a_class_for_each_sample():
    data = torch.utils.data.TensorDataset(torch.randn(6, 2), torch.tensor([0, 1, 2, 0, 1, 2]))
    data.names, data.groups = list("abcdef"), [0, 0, 1, 1, 0, 5]
    assert labels_of(data, 3) == [".tensors[1]"]
    assert labels_of(data, 6) == [".groups", ".tensors[1]"]


def test_layers_that_forward_makes_are_put_into_the_constructor(tmp_path):
    text = """
class Wide(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, x):
        first = nn.Linear(x.shape[1], self.width)
        return first(x)

net = Wide(2)
learn()
"""
    [one] = found(tmp_path, text, "layer-made-anew")
    assert "self.first = nn.Linear(4, self.width)" in str(one.attempts[0].edits)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("for o, c in zip(e.parameters(), n.parameters()):\n    c.mul_(d)\n", ["zip(n.parameters(), e.parameters())"]),
        ("for o, c in zip(e.parameters(), n.parameters()):\n    print(o, c)\n", []),
        ("for o, c in zip(rows, labels):\n    o.mul_(c)\n", []),
    ],
)  # fmt: skip
def test_which_of_two_models_is_written_to_is_turned_round(text, new):
    assert [one.names["new"] for one in written_back([parsed_source("x.py", text)])] == new


def test_what_keeps_graphs_is_looked_for_in_the_function_that_was_seen_to_keep_them(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(
        "def train(rows):\n    for loss in rows:\n        total += loss\n\n"
        "def test(rows):\n    for loss in rows:\n        total += loss\n"
    )
    held = {"kind": "sum", "count": 30, "file": str(file), "function": "test", "line": 7}
    watcher = SimpleNamespace(kept={"total": held}, notes=SimpleNamespace(steps=40))
    [finding] = memory.kept_graphs(watcher)
    assert finding.culprit.line == 7
