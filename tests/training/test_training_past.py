"""What keeps gradients from arriving though the graph is whole, and what is offered: choices, roundings, flat ends."""

from __future__ import annotations

import textwrap

import pytest

torch = pytest.importorskip("torch")

from trainings import ran  # noqa: E402

from explainer.source import parsed_source, source_of  # noqa: E402
from explainer.training.finding import findings  # noqa: E402
from explainer.training.proposals import proposals  # noqa: E402
from explainer.training.proposals.through import past_choice, past_pick, straight_through  # noqa: E402
from explainer.training.waiting import Waits  # noqa: E402

LOOP = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BEGIN = """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(64, 6)
y = torch.randint(3, (64,))
"""


def watched(folder, *parts: str):
    """The notes on a small training."""
    watcher, _ = ran(folder, BEGIN + "".join(map(textwrap.dedent, parts)))
    watcher.stop()
    watcher.sources = [source_of(str(folder / "train.py"))]
    assert not watcher.notes.trouble
    return watcher


def offered(watcher, rule: str) -> list[str]:
    """What the attempts of a rule's proposals put in."""
    return [each.names.get("new", "") for one in proposals(watcher) if one.rule == rule for each in one.attempts]


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("q + (z - q).detach()", "z + (q - z).detach()"),
        ("z + (q - z).detach()", "q + (z - q).detach()"),  # both are offered; a trial tells which was meant
        ("q + (z - p).detach()", ""),
        ("q - (z - q).detach()", ""),
        ("q + z.detach()", ""),
    ],
)
def test_a_straight_through_line_is_turned_round(text: str, new: str) -> None:
    source = parsed_source("train.py", f"e = {text}")
    assert straight_through(source, source.tree.body[0].value) == new


@pytest.mark.parametrize(
    ("choice", "new"),
    [
        ("w.argmax(1, keepdim=True)", "(each * w).sum(1, keepdim=True)"),
        ("w.topk(2, 1).indices", ""),
        ("torch.randint(4, (8, 1))", ""),
    ],
)
def test_a_pick_by_the_largest_weight_becomes_the_sum_that_the_weights_make(choice: str, new: str) -> None:
    source = parsed_source("train.py", f"i = {choice}\nout = each.gather(1, i)")
    assert past_pick(source, source.tree.body[1].value) == new


def test_a_value_that_was_chosen_and_cut_gets_the_gradient_of_what_it_was_chosen_for():
    text = """
        def forward(self, x):
            z = self.enc(x)
            d = torch.cdist(z, self.book.weight)
            q = self.book(d.argmin(1))
            return self.dec(q.detach())
        def teach(self, x):
            t = self.teacher(x)
            return t.detach()
    """
    source = parsed_source("x.py", textwrap.dedent(text))
    cuts = {source.text(one): one for one in source.nodes() if type(one).__name__ == "Call"}
    assert "z + (q - z).detach()" in list(past_choice(source, cuts["q.detach()"]))
    assert list(past_choice(source, cuts["t.detach()"])) == []


def test_a_rounding_is_offered_straight_through_only_where_gradients_are_zero(tmp_path):
    body = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one, self.two = nn.Linear(6, 8), nn.Linear(8, 3)
            def forward(self, x):
                h = self.one(x)
                h = {}
                return self.two(h)
        model = Net()
    """
    rounded = watched(tmp_path, body.format("torch.round(h)"), LOOP)
    assert offered(rounded, "gradient-cut") == ["h + (torch.round(h) - h).detach()"]
    through = watched(tmp_path, body.format("h + (torch.round(h) - h).detach()"), LOOP)
    assert "h + (torch.round(h) - h).detach()" not in offered(through, "gradient-cut")


@pytest.mark.parametrize(("factor", "told"), [("50.0 ** 1.0", True), ("0.3 ** 1.0", False)])
def test_shares_of_which_one_takes_all_from_the_first_step_on_are_offered_another_factor(tmp_path, factor, told):
    body = f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.keys, self.values = nn.Linear(6, 12), nn.Parameter(torch.randn(12, 3))
            def forward(self, x):
                shares = torch.softmax(self.keys(x) * 9 * {factor}, dim=1)
                return shares @ self.values
        model = Net()
    """
    found = offered(watched(tmp_path, body, LOOP), "saturated-units")
    assert (f"self.keys(x) * 9 / {factor}" in found) == told


def test_the_factor_of_a_schedule_is_offered_without_rounding_down(tmp_path):
    body = """
        model = nn.Linear(6, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step // 15)
        for step in range(20):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    """
    assert "step / 15" in offered(watched(tmp_path, body), "learning-rate-scheduled-away")


@pytest.mark.parametrize(
    ("compared", "told"), [("torch.sigmoid(out) > 0", True), ("torch.sigmoid(out) > 0.5", False), ("out > 0", False)]
)
def test_a_share_that_is_compared_with_an_end_of_its_range_is_found(tmp_path, compared, told):
    body = "model = nn.Linear(6, 3)\n" + LOOP
    body += f"with torch.no_grad():\n    out = model(x)\n    chosen = {compared}\n"
    found = [one.rule for one in findings(watched(tmp_path, body)) if one.rule == "decision-constant"]
    assert bool(found) == told


def test_only_batches_of_one_pass_in_training_tell_how_long_a_loader_is_waited_for():
    waits, one, other = Waits(), object(), object()
    waits.batch(one, 0.0, 1.0, True)
    waits.batch(one, 1.5, 3.5, True)
    waits.batch(one, 4.0, 9.0, False)
    waits.batch(one, 9.0, 10.0, True)
    waits.batch(other, 20.0, 21.0, True)
    waits.batch(other, 21.25, 22.25, True)
    assert waits.told == (3.0, 0.75, 2)


def test_numbers_that_are_collected_from_weights_stay_tensors(tmp_path):
    """Protects what a policy's losses are made of: both the list and the new tensor of it cut the graph."""
    body = """
    net = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(20):
        kept = []
        for row, label in zip(x[:8], y[:8]):
            kept.append(net(row).log_softmax(0)[label].item())
        kept = torch.tensor(kept, requires_grad=True)
        loss = -kept.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """
    tried = [each for one in proposals(watched(tmp_path, body)) if one.rule == "gradient-cut" for each in one.attempts]
    first = [edit.after.strip() for edit in tried[0].edits]
    assert first == ["kept.append(net(row).log_softmax(0)[label])", "kept = torch.stack(kept)"]
