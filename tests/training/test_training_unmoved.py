"""Gradients that are exactly zero at every step, and batches that are drawn anew and stay the same: what is offered."""

from __future__ import annotations

import textwrap

import pytest

torch = pytest.importorskip("torch")

from trainings import ran  # noqa: E402

from explainer.source import source_of  # noqa: E402
from explainer.training.finding import findings  # noqa: E402

BEGIN = """\
import random
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
"""
LOOP = """\
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(12):
    x = torch.randn(16, 4)
    loss = F.cross_entropy(model(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def offered(folder, body: str, rule: str) -> list[str]:
    """What the attempts of a rule's findings put into the lines that they change."""
    watcher, _ = ran(folder, BEGIN + textwrap.dedent(body))
    watcher.stop()
    watcher.sources = [source_of(str(folder / "train.py"))]
    assert not watcher.notes.trouble
    found = [one for one in findings(watcher) if one.rule == rule]
    return [edit.after for one in found for attempt in one.attempts for edit in attempt.edits]


MODEL = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 4))

    def forward(self, x):
        {line}
        return F.linear(x, used)

model = Net()
"""


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("used = self.weight + (self.weight.round() - self.weight)",
         "used = self.weight + (self.weight.round() - self.weight).detach()"),
        ("used = (self.weight.round() - self.weight) + self.weight",
         "used = (self.weight.round() - self.weight).detach() + self.weight"),
        ("used = self.weight.round() - self.weight + self.weight",
         "used = (self.weight.round() - self.weight).detach() + self.weight"),
        ("used = self.weight - (self.weight - self.weight.round())",
         "used = self.weight - (self.weight - self.weight.round()).detach()"),
        ("moved = self.weight.round() - self.weight; used = self.weight + moved", None),
        ("used = self.weight + (self.weight.round() - self.weight).detach()", None),
        ("used = self.weight + 0.5 * (self.weight.round() - self.weight)", None),
        ("used = torch.lerp(self.weight, self.weight.round(), 0.5)", None),
    ],
)  # fmt: skip
def test_a_value_that_meets_its_own_negation_gets_a_detach(tmp_path, line, new):
    found = offered(tmp_path, MODEL.format(line=line) + LOOP, "terms-cancel")
    if ";" in line:
        assert found == ["        moved = self.weight.round() - self.weight; used = self.weight + moved.detach()"]
    else:
        assert [one.strip() for one in found] == ([new] if new else [])


FACTORS = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 2)
        {first}
        {second}

    def forward(self, x):
        return self.base(x) + {product}

model = Net()
"""


@pytest.mark.parametrize(
    ("first", "second", "product", "new"),
    [
        ("self.down = nn.Parameter(torch.zeros(3, 4))", "self.up = nn.Parameter(torch.zeros(2, 3))",
         "x @ self.down.T @ self.up.T", ["self.down = nn.Parameter(0.5 * torch.randn(3, 4))",
                                         "self.up = nn.Parameter(0.6 * torch.randn(2, 3))"]),
        ("self.down = nn.Linear(4, 3, bias=False); nn.init.zeros_(self.down.weight)",
         "self.up = nn.Linear(3, 2, bias=False); nn.init.constant_(self.up.weight, 0.0)", "self.up(self.down(x))",
         ["self.down = nn.Linear(4, 3, bias=False); nn.init.normal_(self.down.weight, std=0.5)",
          "self.up = nn.Linear(3, 2, bias=False); nn.init.normal_(self.up.weight, std=0.6)"]),
        ("self.gate = nn.Parameter(torch.zeros(1))", "self.up = nn.Parameter(torch.zeros(2, 4))",
         "self.gate * (x @ self.up.T)", ["self.gate = nn.Parameter(0.1 * torch.randn(1))",
                                         "self.up = nn.Parameter(0.5 * torch.randn(2, 4))"]),
        ("self.both = nn.ParameterList([nn.Parameter(torch.zeros(*s)) for s in ((3, 4), (2, 3))])", "",
         "x @ self.both[0].T @ self.both[1].T",
         ["self.both = nn.ParameterList([nn.Parameter(0.5 * torch.randn(*s)) for s in ((3, 4), (2, 3))])"]),
        ("self.down, self.up = nn.Linear(4, 3, False), nn.Linear(3, 2, False)",
         "self.down.weight.data.zero_(); self.up.weight.data.fill_(0)", "self.up(self.down(x))",
         ["self.down.weight.data.normal_(std=0.5); self.up.weight.data.fill_(0)",
          "self.down.weight.data.zero_(); self.up.weight.data.normal_(std=0.6)"]),
        ("self.down = nn.Parameter(torch.randn(3, 4))", "self.up = nn.Parameter(torch.zeros(2, 3))",
         "x @ self.down.T @ self.up.T", []),
        ("self.gate = nn.Parameter(torch.zeros(1))", "self.up = nn.Parameter(torch.randn(2, 4))",
         "self.gate * (x @ self.up.T)", []),
        ("self.down = nn.Parameter(torch.zeros(3, 4), requires_grad=False)",
         "self.up = nn.Parameter(torch.zeros(2, 3))", "x @ self.down.T @ self.up.T", []),
    ],
)  # fmt: skip
def test_of_factors_that_all_begin_at_zero_each_may_begin_at_random(tmp_path, first, second, product, new):
    found = offered(tmp_path, FACTORS.format(first=first, second=second, product=product) + LOOP, "factors-zero")
    assert [one.strip() for one in found] == new


DRAWN = """\
model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
{before}
for step in range(12):
    {line}
    loss = F.cross_entropy(model(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("before", "line", "new"),
    [
        ("", "rng = np.random.default_rng(3); x = torch.tensor(rng.normal(size=(8, 4)), dtype=torch.float32)", None),
        ("def draw():\n    rng = random.Random(3)\n    return torch.tensor([[rng.random() for _ in range(4)]] * 8)",
         "x = draw()", ["_rng = random.Random(3)", "rng = _rng"]),
        ("def draw(n, seed):\n    g = torch.Generator().manual_seed(seed)\n    return torch.randn(n, 4, generator=g)",
         "x = draw(8, 3)", ["x = draw(8, 3 + step)"]),
        ("def draw(n, seed):\n    g = torch.Generator().manual_seed(seed)\n    return torch.randn(n, 4, generator=g)",
         "x = draw(8, step)", []),
        ("g = torch.Generator().manual_seed(3)", "x = torch.randn(8, 4, generator=g)", []),
        ("kept = torch.randn(8, 4)", "x = kept", []),
        ("kept = torch.randn(8, 4)", "x = kept.clone()", []),
        ("def draw():\n    rng = np.random.default_rng(3)\n    return torch.tensor(rng.normal(size=(8, 4))).float()\n"
         "kept = draw()", "x = kept * 1.0", []),
    ],
)  # fmt: skip
def test_a_generator_that_begins_again_at_every_step_is_begun_once(tmp_path, before, line, new):
    found = offered(tmp_path, DRAWN.format(before=before, line=line), "same-batch-every-step")
    if new is not None:
        assert [one.strip() for text in found for one in text.split("\n") if one.strip() in new] == new
        assert bool(found) == bool(new)
