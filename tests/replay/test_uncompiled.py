"""Errors of compiled code get the diagnosis that the same code gets without the compiler."""

from __future__ import annotations

import importlib
import os

import pytest

import explainer
from explainer.api import explain_text
from explainer.diagnosis import Diagnosis, Edit, ErrorFrame, Evidence, Fix, FixSource, Label, Report, Span
from explainer.render.places import user_frame
from explainer.replay.confine import sandbox
from explainer.transfer import received, sent

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

needs_sandbox = pytest.mark.skipif(sandbox.unavailable() is not None, reason="needs a sandbox")
needs_stance = pytest.mark.skipif(not hasattr(torch.compiler, "set_stance"), reason="torch.compiler.set_stance is new")


@pytest.fixture(autouse=True, scope="module")
def _forgotten():
    """A training is not watched in a process that has compiled anything: other tests of this process are."""
    yield
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 32)
        self.b = nn.Linear(64, 4)  # built for twice as many

    def forward(self, x):
        h = torch.relu(self.a(x))
        return self.b(h)


def compiled(net, x):
    return torch.compile(net, backend="eager")(x)


def scripted(net, x):
    return torch.jit.script(net)(x)


def plain(net, x):
    return net(x)


def explained(call):
    try:
        call(Net(), torch.randn(8, 16))
    except Exception as error:
        return explainer.explain(error, lang="en").reports[0]
    raise AssertionError("nothing was raised")


@needs_sandbox
@needs_stance
@pytest.mark.parametrize("call", [compiled, scripted])
def test_it_ends_at_the_users_line_with_the_same_words(call):
    report, usual = explained(call), explained(plain)
    found, expected = report.diagnoses[0], usual.diagnoses[0]
    assert (found.rule, found.headline, found.cause) == (expected.rule, expected.headline, expected.cause)
    assert found.culprit.code == "nn.Linear(64, 4)"
    assert any(frame.code == "return self.b(h)" for frame in report.frames)
    assert found.fixes[0].certainty == "checked"
    assert "without the compiler" in found.fixes[0].checked
    assert found.untried is None
    assert report.message != usual.message
    assert usual.message in report.remarks[0]


SAVED = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Linear(64, 4)

    def forward(self, x):
        return self.b(x)

def run():
    return torch.compile(Net(), backend="eager")(torch.rand(8, 16))
"""


@needs_sandbox
@needs_stance
def test_a_file_that_was_saved_again_as_it_was_has_not_changed(tmp_path, monkeypatch):
    """What runs without the compiler is a part of the program: no code of its file is like it."""
    (tmp_path / "saved_again.py").write_text(SAVED)
    monkeypatch.syspath_prepend(tmp_path)
    saved_again = importlib.import_module("saved_again")
    os.utime(saved_again.__file__)
    report = explained(lambda *_: saved_again.run())
    assert report.diagnoses[0].culprit.code == "nn.Linear(64, 4)"
    assert not [remark for remark in report.remarks if "was changed" in remark]


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 32)

    def forward(self, x):
        return torch.relu(self.a(x))


def traced(*_):
    half = torch.jit.trace(Half(), torch.ones(2, 16))
    x = torch.ones(2, 5)
    return half(x)


@needs_sandbox
@needs_stance
@pytest.mark.filterwarnings("ignore")
def test_a_traced_model_ends_at_the_users_line_too():
    report = explained(traced)
    assert report.diagnoses[0].headline == "a expects 16 features per row, but x has 5"
    assert any(frame.code == "return torch.relu(self.a(x))" for frame in report.frames)


@needs_sandbox
@needs_stance
def test_the_compilers_wrapper_is_in_no_name():
    net = torch.compile(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(12, 4)), backend="eager")
    found = explained(lambda _, x: net(x[:, :8])).diagnoses[0]
    assert found.headline == "net[2] expects 12 features per row, but the input of net[2] has 16"
    assert found.culprit.code == "nn.Linear(12, 4)"


class Branching(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x + 1
        return x


def test_a_graph_break_ends_at_the_users_line_that_broke_it_also_in_a_log():
    """No frame of Python's ran that line: the compiler's message names it."""
    with pytest.raises(Exception, match="from user code") as caught:
        torch.compile(Branching(), fullgraph=True, backend="eager")(torch.ones(2))
    live = explainer.explain(caught.value, lang="en").reports[0]
    (read,) = explain_text(f"torch._dynamo.exc.Unsupported: {caught.value}").reports
    for report in (live, read):
        assert report.diagnoses[0].rule == "data-dependent-branch"
        assert user_frame(report).code == "if x.sum() > 0:"
        assert all(frame.code != "if x.sum() > 0:" for frame in report.frames)
    assert live.frames
    assert not read.frames


def test_what_a_child_sends_arrives_whole():
    """Every field of every part, so that a new one cannot be forgotten."""
    span = Span("net.py", 1, 2, 3, 4, "code", "Net")
    fix = Fix(
        "title", "checked", "ran", (Edit("net.py", 1, 1, "a", None),), FixSource("atom", "literal", "net.py", 1, 2)
    )
    label, row = Label("net.py", 1, "text", 2, 3), Evidence("x", "[4]", "net.py", 1)
    diagnosis = Diagnosis("r", "shape", "h", "c", "proved", False, "o", span, (label,), (row,), (fix,), ("n",), ("l",))
    frame = ErrorFrame("net.py", 1, "f", "code", True, 2, 3)
    more = {"rank": 3, "language": "zh", "operands": (row,), "traced": (frame,), "remarks": ("r",)}
    more["source"] = {("net.py", 1): "text"}
    chain = ({"relation": "cause", "type": "E", "message": "m"},)
    report = Report("E", "m", (frame,), chain, (diagnosis,), "in", 5, 2, **more)
    assert received(sent(report)) == report
    assert received(sent(report)).source == report.source
