"""Atoms that look at more than an expression: what a class builds and never calls, what is read further down."""

from __future__ import annotations

import pytest
from made_spots import F32, SCOPE, applied

from explainer.edits.evidence import Evidence, Layer, Step
from explainer.edits.place import Place
from explainer.repair.atoms import ATOMS
from explainer.repair.spots import Spot
from explainer.source import parsed_source

NET = """
class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.body = nn.Linear(width, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        x = self.body(x)
        return {end}
"""


@pytest.mark.parametrize(("end", "repaired"), [("x", {"        return self.head(x)"}), ("self.head(x)", set())])
def test_a_layer_that_nothing_calls_is_called(end, repaired):
    source = parsed_source("model.py", NET.format(end=end))
    node = source.tree.body[0].body[1].body[-1].value
    spot = Spot(Place(source, node), "bound", 0, scope=SCOPE)
    evidence = Evidence("", "en", sources=lambda _: source)
    assert {applied(one) for one in ATOMS["uncalled"](spot, evidence)} == repaired


def test_a_parameter_that_nobody_reads_takes_the_place_of_a_number():
    source = parsed_source("model.py", NET.format(end="x"))
    node = source.tree.body[0].body[0].body[1].value
    spot = Spot(Place(source, node), "built", 0, scope={"width": 4, "depth": 8})
    evidence = Evidence("", "en", sources=lambda _: source)
    assert "        self.body = nn.Linear(depth, 8)" in {applied(one) for one in ATOMS["parameter"](spot, evidence)}


LATE = """
class Block(nn.Module):
    def __init__(self, size, most):
        self.size, self.most = size, most
        self.mix = Mix(8, size)
        {reads}if size > most:
            self.size = most
"""


@pytest.mark.parametrize(("reads", "offers"), [("", 1), ("self.head = Head(self.mix)\n        ", 0)])
def test_a_statement_is_brought_behind_what_adjusts_a_value_that_it_reads(reads, offers):
    source = parsed_source("block.py", LATE.format(reads=reads))
    spot = Spot(Place(source, source.tree.body[0].body[0].body[1].value), "built", 0)
    found = [applied(one) for one in ATOMS["adjusted"](spot, Evidence("", "en", sources=lambda _: source))]
    moved = "        if size > most:\n            self.size = most\n        self.mix = Mix(8, self.size)"
    assert found == [moved][:offers]


def test_a_place_in_a_flattened_table_is_split_wherever_something_is_read_at_it():
    text = "w = best % c\nrows = torch.cat([s[best], w])\nh = h[best]"
    source = parsed_source("beam.py", text)
    spot = Spot(Place(source, source.tree.body[1].value), "crash", 0, scope=SCOPE)
    evidence = Evidence("index 9 is out of bounds for dimension 0", "en", sources=lambda _: source)
    edits = [[edit.after for edit in one.edits()] for one in ATOMS["unflattened"](spot, evidence)]
    assert ["rows = torch.cat([s[best // c], w])", "h = h[best // c]"] in edits


@pytest.mark.parametrize(("got", "offers"), [(8, 1), (5, 0)])
def test_the_layer_that_widens_is_put_in_where_what_leads_back_got_its_own_width(got, offers):
    text = "net = nn.Sequential(nn.LayerNorm(c), nn.GELU(), nn.Linear(c * 4, c))"
    source = parsed_source("mlp.py", text)
    call = Place(source, source.tree.body[0].value.args[2])
    names = ("in_features", "out_features")
    layer = Layer("Linear", {"in_features": [["const", 32]], "out_features": [["const", 8]]}, (), True, names)
    crash = Step("linear", (), (), (([4, got], F32),), (), (), layer)
    evidence = Evidence("", "en", [crash], sources=lambda _: source)
    found = [applied(one) for one in ATOMS["widening"](Spot(call, "built", 0, None, layer, SCOPE), evidence)]
    mended = "net = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, c * 4), nn.GELU(), nn.Linear(c * 4, c))"
    assert found == [mended][:offers]
