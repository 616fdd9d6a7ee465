"""A part of a program runs again where the whole cannot: late crashes, notebooks' cells, tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import python

torch = pytest.importorskip("torch")

from crashes import crashed  # noqa: E402

from explainer.edits.generators.driver import recorded  # noqa: E402
from explainer.remedies import Remedy, of_search  # noqa: E402
from explainer.replay import held  # noqa: E402
from explainer.replay.excerpt import excerpt_of  # noqa: E402
from explainer.replay.programs import checker  # noqa: E402
from explainer.replay.trimmed import MAKING, TURNS, trimmed  # noqa: E402

LATE = """
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.body = nn.Linear(6, wide)
        self.head = nn.Linear(wide, 3)

    def forward(self, x):
        return self.head(self.body(x))

def fetch():
    for _ in range(SLOW):
        sum(range(1000))
    return [torch.rand(4, 6), torch.rand(4, 6), torch.rand(4, 7)]

def epoch(net, rows):
    for x in rows:
        net(x).sum().backward()

SLOW = 10
words = {}
for word in "abc":
    words[word] = len(words)
batches = fetch()
net = Net(8)
for _ in range(3):
    epoch(net, batches[:2])
net.eval()
for x in batches:
    out = net(x)
    F.mse_loss(out, torch.zeros(4, 3)).backward()
"""


def lines_of(scene, but):
    """The lines of the program that differ in an excerpt, by their number, shortened."""
    live = scene.live.user
    (text,) = trimmed(live, but).texts().values()
    old = Path(live[0].file).read_text().splitlines()
    new = text.split("\n")[:-1]
    assert len(new) == len(old)
    return {old[at]: new[at] for at in range(len(old)) if old[at] != new[at]}


@pytest.fixture
def late(tmp_path):
    return crashed(tmp_path, LATE, whole=False)


def test_what_trains_is_left_out_and_every_other_line_stands_where_it_stood(late):
    """Places found in an excerpt are places of the program."""
    assert lines_of(late, ()) == {
        "for _ in range(3):": f"_ = {held.text(0, '_')}",
        "    epoch(net, batches[:2])": "",
    }


def test_a_loop_takes_the_turn_that_failed(late):
    """A crash of the thousandth batch is reached at once."""
    assert lines_of(late, (TURNS,))["for x in batches:"] == f"for x in [{held.text(0, 'x')}]:"


def test_what_may_have_taken_long_is_held_and_models_are_made_anew(late):
    """Layers are built again, so that edits of what builds them show; data, and what a loop filled, are there."""
    changed = lines_of(late, (MAKING,))
    assert changed["batches = fetch()"] == f"batches = {held.text(0, 'batches')}"
    assert changed['for word in "abc":'] == f"word, words = {held.text(0, 'word')}, {held.text(0, 'words')}"
    assert not {"net = Net(8)", "net.eval()", "words = {}"} & changed.keys()


def test_values_are_held_for_children_alone():
    """The crashed process keeps nothing longer than its excerpts take."""
    with held.keeping([{"x": 3}]):
        assert eval(held.text(0, "x")) == 3
    with pytest.raises(IndexError):
        held.value(0, "x")


def test_a_late_crash_is_searched_with_what_its_process_holds(tmp_path):
    """Fetching takes longer than all of a replay may: the data are those at hand, the search goes on around them."""
    slow = LATE.replace("SLOW = 10", "SLOW = 100_000").replace("torch.rand(4, 7)]", "torch.rand(4, 6)]")
    scene = crashed(tmp_path, slow.replace("nn.Linear(wide, 3)", "nn.Linear(9, 3)"), whole=False)
    evidence = recorded(scene)
    assert evidence is not None
    assert [layer.type for layer in evidence.layers_around()][:1] == ["Linear"]
    found = of_search("shape", scene, Remedy())
    assert found.checked
    assert not found.proves
    assert {edit.after.strip() for edit in found.fixes[0].edits} <= {
        "self.head = nn.Linear(wide, 3)", "self.head = nn.Linear(8, 3)", "net = Net(9)"
    }  # fmt: skip
    assert found.fixes[0].checked is None or "to the end" not in found.fixes[0].checked


def test_a_process_whose_excerpts_fail_otherwise_searches_nothing(tmp_path):
    """An edit proves nothing where the same statements do not fail again."""
    flag = tmp_path / "flag"
    flag.write_text("")
    checking = f"    x = x if os.path.exists({str(flag)!r}) else x[:, :6]\n    out = net(x)"
    scene = crashed(tmp_path, "import os\n" + LATE.replace("    out = net(x)", checking), whole=False)
    flag.unlink()
    assert excerpt_of(scene) is None
    assert recorded(scene) is None


def test_all_that_is_tried_says_what_was_run(late):
    """Under a part of the program nothing is said of its end."""
    made = checker(late)
    assert made.excerpt is not None
    assert made.control().error["type"] == late.crash.name
    assert of_search("shape", late, Remedy()).proves is False


TEST = """
import pytest
from net import Net
import torch

@pytest.fixture
def net(width):
    return Net(width)

@pytest.fixture
def width():
    return 32

@pytest.mark.parametrize("rows", [4])
def test_shapes(net, rows):
    assert net(torch.randn(rows, 10)).shape == (rows, 4)
"""
MODEL = """
from torch import nn

class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.a = nn.Linear(10, hidden)
        self.b = nn.Linear(64, 4)

    def forward(self, x):
        a = self.a(x).relu()
        return self.b(a)
"""


def test_a_failing_test_is_called_again_with_its_fixtures(tmp_path):
    """The model comes from a fixture, built anew under each edit of its class in another file."""
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "net.py").write_text(MODEL)
    said = python("-m", "pytest", "-p", "no:cacheprovider", "--explain", cwd=tmp_path).stdout
    assert "net.py:8" in said
    assert "checked: the statements that crashed run" in said
    assert "+         self.b = nn.Linear(32, 4)" in said
