"""What an edit reads: only what is bound there, and what is of the kind that stands there."""

from __future__ import annotations

import ast

import pytest
from made_spots import spot_of

from explainer.edits.place import Place
from explainer.edits.titles import MEANINGS
from explainer.repair.atoms import ATOMS
from explainer.repair.offer import Offer
from explainer.repair.sense import changes_kind, overlaps, reads_unbound, repeats, senseless
from explainer.repair.spots import Spot
from explainer.source import parsed_source

torch = pytest.importorskip("torch")

PROGRAM = """\
import torch
from data import rows as loaded

LIMIT = 3

def build(width, depth=2):
    inner = width * depth
    for step in range(depth):
        inner = grow(inner, later)
        later = step
    return [f(one) for one in loaded]

def other(x):
    local = x
    return local

def batch(rows, made, wanted):
    record = {"user": [row["user"] for row in rows], "item": [row["item"] for row in rows]}
    return record, loss(made, wanted)

result = build(1)
count = len(result)
"""


def offer_for(old: str, new: str, scope: dict | None = None, line: int | None = None) -> Offer:
    """The offer that puts one text in the place of the first expression of another."""
    source = parsed_source("main.py", PROGRAM)
    node = next(one for one in source.nodes() if isinstance(one, ast.expr) and source.text(one) == old
                and (line is None or one.lineno == line))  # fmt: skip
    return Offer("name", Spot(Place(source, node), "crash", 0, scope=scope or {}), node, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("width * depth", "width * LIMIT"),
        ("width * depth", "torch.tensor(width)"),
        ("width * depth", "math.ceil(width)"),  # the import comes with the edit
        ("grow(inner, later)", "grow(step, later)"),
        ("f(one)", "f(one, one)"),
        ("f(one)", "[other(two) for two in one]"),
        ("len(result)", "max(result)"),
        ("build(1)", "(lambda n: n)(LIMIT)"),
        ("grow(inner, later)", "grow(later, later)"),  # bound further down, in a loop that comes round again
    ],
)
def test_names_that_are_bound_may_be_read(old, new):
    assert not reads_unbound(offer_for(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("width * depth", "width * local"),  # another function's
        ("local", "width"),
        ("build(1)", "build(count)"),  # bound below
        ("build(1)", "build(inner)"),
        ("f(one)", "f(two)"),
    ],
)
def test_an_edit_that_reads_what_nothing_has_bound_there_is_none(old, new):
    assert reads_unbound(offer_for(old, new))


@pytest.mark.parametrize(
    ("new", "other"),
    [
        ("grow(later, inner)", True),  # exchanged
        ("grow(inner, inner)", True),
        ("grow(width, later)", False),  # a number for a number
        ("grow(depth, later)", False),  # of which nothing is known
        ("grow(later)", False),  # another form, of which the names do not stand for each other
    ],
)
def test_a_value_of_another_kind_is_told_from_one_of_the_same(new, other):
    scope = {"inner": 3, "width": 8, "type(later)": "Adam"}
    assert changes_kind(offer_for("grow(inner, later)", new, scope)) is other


@pytest.mark.parametrize(
    ("old", "new", "twice"),
    [
        ("loss(made, wanted)", "loss(made, made)", True),
        ("wanted", "made", True),
        ("loss(made, wanted)", "loss(wanted, made)", False),
        ("grow(inner, later)", "grow(inner, inner)", False),  # numbers may be equal
        ('row["item"]', 'row["user"]', True),  # as the entry beside it
        ('row["user"]', 'row["other"]', False),
        ("range(depth)", "range(0)", True),  # no turn at all
        ("range(depth)", "range(1)", False),
    ],
)
def test_no_call_or_record_gets_twice_what_differed(old, new, twice):
    scope = {"made": [[4, 2], "float32"], "wanted": [[4], "int64"], "inner": 3, "later": 4}
    assert repeats(offer_for(old, new, scope)) is twice


def test_the_kinds_of_what_is_no_size_are_recorded():
    import sys

    from explainer.replay.recorders.scope import scope

    def f(model, optimizer, rows, name, rate, nothing, size):
        return scope(sys._getframe())

    model = torch.nn.Linear(2, 3)
    found = f(model, torch.optim.SGD(model.parameters(), 0.1), [1.5], "run", 0.1, None, 4)
    kinds = {name: found.get(f"type({name})") for name in ("model", "optimizer", "rows", "name", "rate", "nothing")}
    assert kinds == {"model": "Module", "optimizer": "SGD", "rows": "sequence", "name": "str", "rate": "number",
                     "nothing": None}  # fmt: skip
    assert found["size"] == 4
    assert found["len(rows)"] == 1


@pytest.mark.parametrize(
    ("text", "old", "new", "apart"),
    [
        ("w, v = q[..., :1], q[..., 1:]", "q[..., 1:]", "q[..., 0:]", True),
        ("w, v = q[..., :1], q[..., 1:]", "q[..., :1], q[..., 1:]", "q[..., :2], q[..., 2:]", False),  # both
        ("def f(x, k):\n    a = x[:k]\n    return a, x[k:]", "x[k:]", "x[k + 1:]", True),
        ("def f(x, y, k):\n    return x[:k], y[k:]", "y[k:]", "y[:k]", False),  # of two wholes
        ("y = x[1:]", "x[1:]", "x[:]", False),  # alone
    ],
)
def test_a_part_is_cut_where_the_other_part_is(text, old, new, apart):
    source = parsed_source("main.py", text)
    node = next(one for one in source.nodes() if isinstance(one, ast.expr) and source.text(one) == old)
    assert overlaps(Offer("slice", Spot(Place(source, node), "crash", 0), node, new)) is apart


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ("slope, = torch.autograd.grad(y.sum(), x)", "y.sum()", "x.sum()"),  # a value by itself
        ("size = (n - kernel) // stride + 1", "1", "4"),  # a formula fitted to what is there
        ("h = h.view(-1, 64, 8)", "h.view(-1, 64, 8)", "h.view(8, 64, -1)"),  # as many samples each time
        ("gap = 2 ** level", "2", "1"),  # the same at each level
    ],
)
def test_what_nobody_would_write_is_not_offered(line, old, new):
    assert senseless(offer_in(line, old, new))


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ("slope, = torch.autograd.grad(y.sum(), x)", "y.sum()", "z.sum()"),
        ("size = (n - kernel) // stride + 1", "1", "2"),
        ("rows = vocabulary + 1", "1", "4"),
        ("gap = 2 ** level", "2", "3"),
        ("h = h.view(-1, 64, 8)", "h.view(-1, 64, 8)", "h.view(-1, 64, 10)"),
        ("h = h.view(-1, 64, 8)", "h.view(-1, 64, 8)", "h.view(n, 64, 8)"),
    ],
)
def test_what_a_line_may_well_say_is_offered(line, old, new):
    assert not senseless(offer_in(line, old, new))


def test_a_tensor_is_not_added_twice_where_another_was():
    source = parsed_source("main.py", "y = a + b + c")
    node = next(one for one in source.nodes() if isinstance(one, ast.Name) and one.id == "c")
    tensors = {name: [[4, 8], "float32"] for name in "abc"}
    spots = [Spot(Place(source, node), "crash", 0, scope=scope) for scope in (tensors, {"a": 4, "b": 8, "c": 4})]
    assert [senseless(Offer("name", spot, node, "a")) for spot in spots] == [True, False]  # sizes may be alike


def offer_in(line: str, old: str, new: str) -> Offer:
    """The offer that puts one text in the place of an expression of a line."""
    source = parsed_source("main.py", line)
    node = next(one for one in source.nodes() if isinstance(one, ast.expr) and source.text(one) == old)
    return Offer("name", Spot(Place(source, node), "crash", 0, scope={}), node, new)


def test_what_speaks_for_an_edit_is_said_in_each_language_and_of_atoms_alone():
    assert set(MEANINGS) <= set(ATOMS)
    assert all(set(texts) == {"en", "ko", "zh"} for texts in MEANINGS.values())
    spot, evidence = spot_of("class A:\n    def __init__(self):\n        self.table = made(3)", role="bound")
    assert [one.candidate(evidence).meaning for one in ATOMS["registered"](spot, evidence)] == [
        MEANINGS["registered"]["en"]
    ]
