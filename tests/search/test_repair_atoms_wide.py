"""Atoms that look at more than an expression: what a class builds and never calls, what is called so elsewhere."""

from __future__ import annotations

import pytest
from made_spots import F32, SCOPE, applied, spot_of

from explainer.edits.evidence import Call, Evidence, Layer, Step
from explainer.edits.place import Place
from explainer.frozen import replace
from explainer.repair.atoms import ATOMS
from explainer.repair.atoms.signatures import lacking
from explainer.repair.spots import Spot
from explainer.source import parsed_source

pytest.importorskip("torch")  # its signatures say what a call lacks

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


@pytest.mark.parametrize(
    ("kept", "offers"),
    [
        ("widths.append(n)\n    n = m * size", ["    n = m * size\n    widths.append(n)"]),
        ("widths.append(n)\n    k = m * size", []),  # of another name
        ("show(n)\n    n = m * size", []),
    ],
)
def test_what_is_kept_before_it_is_made_anew_is_kept_behind(kept, offers):
    source = parsed_source("net.py", f"for m in many:\n    {kept}")
    spot = Spot(Place(source, source.tree.body[0].body[0].value), "number", 0)
    assert [applied(one) for one in ATOMS["adjusted"](spot, Evidence("", "en", sources=lambda _: source))] == offers


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


@pytest.mark.parametrize(
    ("row", "atoms"),
    [("x, label, weight", {"namesake"}), ("x, label, w", {"namesake"}), ("x, w, weight", {"namesake"}),
     ("a, b, c", {"swap"}), ("x, w, label", {"swap"})],
)  # fmt: skip
def test_parts_are_namesakes_where_a_function_hands_back_what_is_called_so(row, atoms):
    spot, evidence = spot_of(f"def f(i):\n    return self.x[i], self.weight[i], self.label[i]\n{row} = f(0)")
    names = row.split(", ")
    exchanged = f"{names[0]}, {names[2]}, {names[1]} = f(0)"
    assert {one.atom for one in ATOMS["swap"](spot, evidence) if applied(one) == exchanged} == atoms


def test_what_a_function_hands_back_itself_says_nothing_of_what_it_is_handed():
    source = parsed_source("model.py", "def f(x):\n    out, state = rnn(x)\n    return state, out")
    spot = Spot(Place(source, source.tree.body[0].body[0].value), "slice", 0)
    evidence = Evidence("", "en", sources=lambda _: source)
    evidence.frames.append(Call(spot.place, {}, "f"))
    assert {one.atom for one in ATOMS["swap"](spot, evidence) if applied(one) == "state, out = rnn(x)"} <= {"swap"}


def test_a_setting_of_the_name_of_a_parameter_is_given_for_it():
    source = parsed_source("model.py", "class Net:\n    def __init__(self, width=8): ...\n\n\nnet = Net()")
    spot = Spot(Place(source, source.tree.body[-1].value), "bound", 1, scope={'saved["width"]': 24})
    evidence = Evidence("", "en", sources=lambda _: source)
    evidence.frames.append(Call(spot.place, {}, "<module>"))
    assert 'net = Net(width=saved["width"])' in {applied(one) for one in ATOMS["namesake"](spot, evidence)}


def test_what_only_a_keyword_can_give_is_lacking_however_many_arguments_there_are():
    call = parsed_source("a.py", "torch.zeros(3, 3)").tree.body[0].value
    assert "dtype" in lacking(call, Evidence("", "en"))
    assert "dim" not in lacking(parsed_source("a.py", "x.sum(1)").tree.body[0].value, Evidence("", "en"))


def test_how_many_a_mask_chooses_is_no_length_of_a_number():
    spot, evidence = spot_of("n = len(kept)")
    chosen = Spot(spot.place, "bound", 1, scope={"kept": [[4], "bool"]})
    numbers = Spot(spot.place, "bound", 1, scope={"kept": [[4], "int64"]})
    assert "n = int(kept.sum())" in {applied(one) for one in ATOMS["measure"](chosen, evidence)}
    assert "n = int(kept.sum())" not in {applied(one) for one in ATOMS["measure"](numbers, evidence)}


def test_numbers_that_start_again_at_a_length_are_as_many_as_are_counted():
    spot, evidence = spot_of("n = len(x)\ny = k % len(x)")
    assert not any(one.text.startswith("len(x)") for one in ATOMS["measure"](spot, evidence))


def test_only_who_calls_what_failed_gives_it_less():
    spot, evidence = spot_of("f(x)", "index 5 with 3", role="caller")
    assert "f(x[:, -cin:])" in {applied(one) for one in ATOMS["crop"](spot, evidence)}
    spot, evidence = spot_of("f(x)", "index 5 with 3", role="crash")
    assert not list(ATOMS["crop"](spot, evidence))


def test_what_is_made_once_for_a_full_batch_is_cut_to_the_batch_at_hand():
    spot, evidence = spot_of("for x in rows:\n    f(x, z)", role="crash")
    spot = replace(spot, scope={**SCOPE, "z": [[9], F32]})
    evidence.passed = True
    assert {applied(one) for one in ATOMS["leading"](spot, evidence)} == {"    f(x, z[:x.size(0)])"}


def test_a_literal_is_solved_for_the_size_that_is_made_of_it():
    spot, evidence = spot_of("f(32)", "50 against 65", role="number")
    side = ["lit", ["model.py", 1, 1, 2, 4], 32]
    tokens = ["op", "**", ["op", "//", side, ["const", 4], None, 8], ["const", 2], None, 64]
    evidence.steps.append(Step("add", (), (), (), (), (["op", "+", tokens, ["const", 1], None, 65],), None))
    spot = Spot(spot.place.at(spot.place.node.args[0]), "number", 1)
    assert [one.text for one in ATOMS["solved"](spot, evidence)] == ["28"]
