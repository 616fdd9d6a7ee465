"""Atoms that look beyond one expression: operands beside, models and hooks that others hold, places in a table."""

from __future__ import annotations

import pytest
from made_spots import F32, SCOPE, applied, spot_of

from explainer.edits.evidence import Evidence, Step
from explainer.edits.place import Place
from explainer.frozen import replace
from explainer.repair.atoms import ATOMS
from explainer.repair.spots import Spot
from explainer.source import parsed_source

pytest.importorskip("torch")  # its signatures say what a call lacks


def test_pairs_outside_of_a_table_are_left_out():
    spot, evidence = spot_of("places = self.n * rows + found")
    scope = {"rows": [[9], "int64"], "found": [[9], "int64"]}
    spot = replace(spot, scope=scope)
    assert {applied(one) for one in ATOMS["paired"](spot, evidence)} == {
        "kept = rows < self.n\nplaces = self.n * rows[kept] + found[kept]"
    }


@pytest.mark.parametrize(
    ("text", "function", "shapes", "made"),
    [
        (
            "torch.cat([token, x], 1)",
            "cat",
            [[1, 1, 8], [4, 6, 8]],
            {
                "torch.cat([token.expand(x.size(0), -1, -1), x], 1)",
                "torch.cat([token.expand(-1, x.size(1), -1), x], 1)",
                "torch.cat([token.expand(x.size(0), x.size(1), -1), x], 1)",
            },
        ),
        ("torch.cat([a, x], 1)", "cat", [[4, 2, 8], [4, 6, 8]], set()),
        (
            "out.scatter_add(0, index, x)",
            "scatter_add",
            [[5, 8], [6], [6, 8]],
            {
                "out.scatter_add(0, index[..., None].expand_as(x), x)",
                "out.scatter_add(0, index[None].expand_as(x), x)",
                "out.scatter_add(0, index[..., None].expand_as(out), x)",
                "out.scatter_add(0, index[None].expand_as(out), x)",
            },
        ),
    ],
)
def test_what_is_joined_or_an_index_is_expanded_like_the_operand_beside(text, function, shapes, made):
    spot, evidence = spot_of(text)
    before = tuple((shape, "int64" if len(shape) == 1 else F32) for shape in shapes)
    evidence.steps.append(Step(function, (spot.place,), (None,) * len(shapes), before, (), (), None))
    assert {applied(one) for one in ATOMS["expanded"](spot, evidence)} == made


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ("self.teacher = student", {"self.teacher = copy.deepcopy(student)"}),
        ("self.teacher = copy.copy(student)", {"self.teacher = copy.deepcopy(student)"}),
        ("self.teacher = Net(width)", set()),  # one of its own
    ],
)
def test_a_model_whose_parameters_are_frozen_for_another_is_copied(text, copied):
    spot, evidence = spot_of(text, "element 0 of tensors does not require grad", "bound")
    assert {applied(one) for one in ATOMS["copied"](spot, evidence)} == copied
    spot, evidence = spot_of(text, "The size of tensor a (3) must match", "bound")
    assert not list(ATOMS["copied"](spot, evidence))


@pytest.mark.parametrize(
    ("registered", "offers"),
    [
        ("net.register_forward_hook(keep)", {"    pass"}),
        ("net.register_forward_hook(lambda module, given, out: keep(out))", {"    pass"}),
        ("net.register_module('keep', keep(net))", set()),  # its value is wanted
    ],
)
def test_what_a_hook_hands_back_is_left_out_where_it_is_registered(registered, offers):
    spot, evidence = spot_of(f"{registered}\ndef keep(out):\n    rows.append(out)\n    return out", "", "returned")
    assert {applied(one) for one in ATOMS["unreturned"](spot, evidence)} == offers


def test_a_computed_place_is_kept_within_the_bounds_of_what_it_indexes():
    source = parsed_source("bins.py", "place = (v - low) / width")
    place = Place(source, source.tree.body[0].value)
    evidence = Evidence("index 9 is out of bounds for dimension 0 with size 8", "en", sources=lambda _: source)
    repaired = {}
    for dtype in ("float32", "int64"):
        step = Step("div", (place,), (), (), (([3], dtype),), (), None)
        spot = Spot(place, "slice", 1, step, scope=SCOPE)
        repaired[dtype] = {applied(one) for one in ATOMS["bound"](spot, evidence)}
    assert "place = ((v - low) / width).clamp(0, c - 1)" in repaired["float32"]
    assert not repaired["int64"]
