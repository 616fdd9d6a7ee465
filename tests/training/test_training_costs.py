"""Work that a program repeats for nothing: which statements are made of what an object has had since it was made."""

from __future__ import annotations

import ast

import pytest

torch = pytest.importorskip("torch")

from explainer.edits.lines import applied  # noqa: E402
from explainer.source import parsed_source  # noqa: E402
from explainer.training.finding import Attempt  # noqa: E402
from explainer.training.judge import Compared  # noqa: E402
from explainer.training.search.costs import _pays, _released, fixed_runs, kept_with  # noqa: E402
from explainer.training.trials import Tried  # noqa: E402

GRAPH = """import torch

class Graph:
    def __init__(self, near):
        self.near = near

    def forward(self, x):
        size = self.near.shape[0]
        near = self.near + torch.eye(size)
        values, vectors = torch.linalg.eigh(near)
        return vectors @ x
"""


def runs(text: str) -> list[str]:
    """The runs of statements that are the same at every call, each as text."""
    source = parsed_source("x.py", text)
    functions = [one for one in source.nodes() if isinstance(one, ast.FunctionDef)]
    return ["; ".join(map(source.text, run)) for one in functions for run in fixed_runs(source, one)]


def test_statements_of_what_an_object_holds_make_one_run():
    [found] = runs(GRAPH)
    assert found.startswith("size = self.near.shape[0]")
    assert found.endswith("torch.linalg.eigh(near)")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.eye(size)", "x"),  # depends on what is given
        ("torch.eye(size)", "torch.rand(size)"),  # is drawn
        ("size = self.near.shape[0]", "self.near = self.near * 2\n        size = 3"),  # is changed by the method
    ],
)
def test_what_depends_on_the_call_is_left_alone(old, new):
    assert not any("eigh" in one for one in runs(GRAPH.replace(old, new)))


def test_a_run_is_carried_out_once_for_each_object():
    source = parsed_source("x.py", GRAPH)
    forward = [one for one in source.nodes() if isinstance(one, ast.FunctionDef)][-1]
    [run] = fixed_runs(source, forward)
    scope: dict = {}
    exec(applied(GRAPH, kept_with(source, run).edits), scope)
    asked, plain = [], torch.linalg.eigh
    torch.linalg.eigh = lambda near: asked.append(near) or plain(near)
    try:
        graph, x = scope["Graph"](torch.ones(3, 3)), torch.rand(3, 2)
        assert torch.equal(graph.forward(x), graph.forward(x))
        assert len(asked) == 1
    finally:
        torch.linalg.eigh = plain


def test_what_only_saves_work_leaves_all_other_numbers_as_they_are():
    def pays(after: str) -> bool:
        pair = Compared(True, False, "grown_mb", 300.0, 20.0, loss_before=0.5, loss_after=0.5)
        printed = ("epoch 0 iou 0.87 ms=31\nPOOR grown_mb=300", after)
        return _pays(Tried(Attempt("once", ()), pair, 2, 2, True, True, printed), {"grown_mb"})

    assert pays("epoch 0 iou 0.87 ms=25\nOK grown_mb=20")
    assert not pays("epoch 0 iou 0.31 ms=25\nOK grown_mb=20")  # of a model that was not trained yet
    assert not pays("OK grown_mb=20")


def test_what_a_loop_adds_up_or_keeps_is_cut_from_its_graph():
    text = """
total += loss_of(0)
for x in rows:
    total += loss_of(x)
    kept.append(model(x))
    count += len(x)
    seen += loss_of(x).item()
    steps += 1
"""
    source = parsed_source("x.py", text)
    found = {one.names["value"]: one.names["text"] for one in _released([source])}
    assert found == {"loss_of(x)": "loss_of(x).detach()", "model(x)": "model(x).detach()"}
