"""Where repairs are looked for, and the space of edits that this gives: nothing is run."""

from __future__ import annotations

import ast

import pytest
from made_spots import F32, SCOPE, spot_of

from explainer.diagnosis import Edit, Span
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence, Step
from explainer.edits.place import Place
from explainer.repair.agreement import drops_computed, forgets, recomputes
from explainer.repair.atoms import ATOMS
from explainer.repair.meeting import above
from explainer.repair.space import space
from explainer.repair.spots import Spot, spots
from explainer.source import parsed_source

pytest.importorskip("torch")  # its signatures say what a call lacks


def test_the_space_holds_each_edit_once_and_the_cheapest_first():
    spot, evidence = spot_of("y = torch.cat((s, x.transpose(1, 2)), dim=0)")
    evidence.frames.append(_frame(spot))
    proposals = space(evidence)
    assert len({one.candidate.edits for one in proposals}) == len(proposals) > 20
    assert [one.cost for one in proposals] == sorted(one.cost for one in proposals)
    assert proposals[0].atom == "dimension"
    assert all(ast.parse(one.candidate.edits[0].after or "") for one in proposals)


def test_where_devices_differ_only_what_moves_tensors_is_offered():
    text = "with torch.device('meta'):\n    net = Net(c, t).to('cpu')"
    source = parsed_source("model.py", text)
    place = Place(source, source.tree.body[0].body[0].value)
    step = Step("add", (place,), (), (([4], F32), ([4], F32)), (), (), None, devices=("cpu", "meta"))
    evidence = Evidence("", "en", [step], sources=lambda _: source)
    evidence.frames.append(Call(place, SCOPE, "<module>"))
    found = {one.candidate.edits[0].after for one in space(evidence)}
    assert found == {"net = Net(c, t).to('cpu')", "    net = Net(c, t)"}


SUM = "def begun(x):\n    h = first(x)\n    return h\nleft = second(h)\nright = third(h)\ny = left + right\n"


def test_what_both_operands_are_made_of_is_above_them():
    """Protects the blame: what changes both sides alike brings them to no common size."""
    source = parsed_source("net.py", SUM)
    begun, *rest = source.tree.body
    first, second, third, total = (Place(source, one.value) for one in (begun.body[0], *rest))
    shape = ([3, 4], F32)
    crash = Step("add", (total,), (1, 2), (([3, 4], F32), ([3, 5], F32)), (), (), None)
    steps = [crash, *(Step("linear", (place,), (at,), (shape,), (shape,), (), None)
                      for place, at in ((second, 3), (third, 3), (first, None)))]  # fmt: skip
    said = "The size of tensor a (4) must match the size of tensor b (5)"
    assert above(Evidence(said, "en", steps)) == {(source.file, 2)}
    assert not above(Evidence("value cannot be converted", "en", steps))
    assert not above(Evidence(said, "en", [crash, *steps[1:3]]))  # of different values, for all that is known


def test_a_registered_buffer_is_a_place_where_it_is_read():
    source = parsed_source("model.py", BUFFER)
    read = source.tree.body[0].body[1].body[0].value
    frame = Call(Place(source, read), SCOPE, "forward")
    evidence = Evidence("", "en", frames=[frame], sources=lambda _: source)
    assert 'self.register_buffer("table", table(n), persistent=False)' in {one.place.text for one in spots(evidence)}


def test_a_call_right_behind_the_failing_one_may_have_to_come_first():
    source = parsed_source("model.py", "opt = build(net)\nopt.load(saved)\nfreeze(net)\nother(x)")
    frame = Call(Place(source, source.tree.body[1].value), SCOPE, "<module>")
    evidence = Evidence("", "en", frames=[frame], sources=lambda _: source)
    assert [one.place.text for one in spots(evidence) if one.role == "after"] == ["freeze(net)", "other(x)"]
    moved = {one.candidate.edits[0].after for one in space(evidence) if "freeze" in one.candidate.title}
    assert moved == {"freeze(net)\nopt = build(net)\nopt.load(saved)"}


BUFFER = """
class Net(nn.Module):
    def __init__(self, n):
        self.register_buffer("table", table(n), persistent=False)
        self.register_buffer("other", table(n), persistent=False)

    def forward(self, x):
        return x + self.table
"""


def _frame(spot: Spot):
    return Call(spot.place, spot.scope, "<module>")


def test_no_edit_makes_a_load_lenient():
    spot, evidence = spot_of("net.load_state_dict(torch.load(path, weights_only=True), strict=True)")
    evidence.frames.append(_frame(spot))
    texts = [one.candidate.edits[0].after or "" for one in space(evidence)]
    assert texts
    assert not any("strict=False" in text or "weights_only=False" in text for text in texts)


NOISY = "def noisy(self, x, t, n):\n    return self.keep[t] * x + self.drop[t] * n"


def test_an_edit_is_made_in_all_terms_that_differ_in_names_alone():
    source = parsed_source("noise.py", NOISY)
    scope = {"x": [[4, 6, 8], F32], "n": [[4, 6, 8], F32], "self.keep": [[9], F32], "t": [[4], "int64"]}
    node = source.tree.body[0].body[0].value
    made = Step("index", (Place(source, node.left.left),), (), (([9], F32),), (([4], F32),), (), None)
    crash = Step("mul", (Place(source, node.left),), (), (([4], F32), ([4, 6, 8], F32)), (), (), None)
    frame = Call(Place(source, node.left), scope, "noisy")
    evidence = Evidence("", "en", [crash, made], frames=[frame], sources=lambda _: source, files=("noise.py",))
    found = {one.candidate.edits[0].after.strip() for one in space(evidence, family="shape")}
    assert "return self.keep[t][:, None, None] * x + self.drop[t][:, None, None] * n" in found
    assert "return self.keep[t] * x + self.drop[t][:, None, None] * n" not in found


def test_what_a_called_function_hands_back_is_a_place():
    build = "def build(p):\n    rows = [one for one in p if one.grad]\n    return SGD(rows)"
    source = parsed_source("resume.py", build + "\n\nopt = build(ps)\nopt.load(saved)")
    frame = Call(Place(source, source.tree.body[2].value), SCOPE, "<module>")
    evidence = Evidence("", "en", frames=[frame], sources=lambda _: source, files=("resume.py",))
    assert {"SGD(rows)", "[one for one in p if one.grad]"} <= {one.place.text for one in spots(evidence)}
    found = {one.candidate.edits[0].after.strip() for one in space(evidence, family="checkpoint")}
    assert "rows = [one for one in p]" in found


def test_what_fails_at_its_targets_is_the_value_that_is_unpacked():
    source = parsed_source("pad.py", "def pad(w):\n    rows, columns = w.size()[-2 + 1:]")
    targets = source.tree.body[0].body[0].targets[0]
    frame = Call(Place(source, targets), {"w": [[4, 6, 8], F32]}, "pad")
    evidence = Evidence(
        "not enough values to unpack (expected 2, got 1)", "en", frames=[frame], sources=lambda _: source
    )
    found = {one.candidate.edits[0].after.strip() for one in space(evidence, family="shape")}
    assert "rows, columns = w.size()[-2:]" in found


def test_a_layer_that_names_its_device_is_a_place_where_one_holds_no_data():
    text = "class Net:\n    def __init__(self):\n        self.skip = nn.Linear(3, 4, device='meta')\n\nnet.to(d)"
    source = parsed_source("net.py", text)
    frame = Call(Place(source, source.tree.body[1].value), SCOPE, "<module>")
    texts = {}
    for message in ("Cannot copy out of meta tensor; no data!", "sizes differ"):
        evidence = Evidence(message, "en", frames=[frame], sources=lambda _: source, files=("net.py",))
        texts[message] = {one.place.text for one in spots(evidence)}
    named = "nn.Linear(3, 4, device='meta')"
    assert [named in found for found in texts.values()] == [True, False]


RECORDS = """
def gathered(rows, width):
    shifts = [row["shift"] for row in rows]
    heads = [row["head"] + [0] for row in rows]
    return shifts, heads, width
"""


@pytest.mark.parametrize(
    ("line", "edited", "forgotten"),
    [
        (3, "    shifts = [width for row in rows]", True),
        (3, '    shifts = [row["head"] for row in rows]', True),  # which is read below
        (3, '    shifts = [row["tail"] for row in rows]', False),
        (4, "    heads = [[width] for _ in rows]", True),
        (4, '    heads = [row["head"] for row in rows]', False),
    ],
)
def test_an_edit_that_reads_nothing_of_the_records_any_more_forgets_them(line, edited, forgotten):
    source = parsed_source("records.py", RECORDS)
    edit = Edit("records.py", line, line, source.line(line), edited)
    candidate = Candidate((edit,), "rename", "", Span("records.py", line))
    evidence = Evidence("", "en", sources=lambda _: source, files=("records.py",))
    assert forgets(candidate, evidence) is forgotten


@pytest.mark.parametrize("text", ["for x, v, k in rows:\n    f(x)", "x, v, k = rows"])
def test_parts_that_are_unpacked_may_be_taken_in_another_order(text):
    source = parsed_source("model.py", text)
    statement = source.tree.body[0]
    spot = Spot(Place(source, getattr(statement, "iter", None) or statement.value), "bound", 1, scope=SCOPE)
    made = {one.text for one in ATOMS["swap"](spot, Evidence("", "en", sources=lambda _: source))}
    assert {"x, k, v", "v, x, k"} <= made


def test_a_size_in_a_call_that_went_well_follows_the_data_or_stays():
    """Full batches went well: what was written suited them; an index that is too large fits by any smaller size."""
    for message, wanted in (("sizes 8 and 4 differ", {"f(x.size(0))"}),
                            ("index 4 is out of bounds", set())):  # fmt: skip
        spot, evidence = spot_of("f(b)", message)
        evidence.frames.append(Call(spot.place, {"b": 8, "n": 4, "x": [[4, 8], F32]}, "<module>"))
        evidence.passed = True
        made = {one.candidate.edits[0].after for one in space(evidence) if one.atom == "size"}
        assert made == wanted


@pytest.mark.parametrize(
    ("before", "after", "other"),
    [
        ("self.a = nn.Linear(hidden + extra, n)", "self.a = nn.Linear(hidden, n)", True),
        ("self.a = nn.Linear(hidden + extra, n)", "self.a = nn.Linear((hidden + extra) + extra, n)", True),
        ("self.a = nn.Linear(hidden, n)", "self.a = nn.Linear(hidden * 2, n)", False),
        ("self.a = nn.Linear(hidden * 7, n)", "self.a = nn.Linear(hidden * 4, n)", False),  # a number was wrong
        ("x = x.flatten(1)", "x = x.flatten(2)", False),
    ],
)
def test_a_size_that_is_computed_of_names_is_told(before, after, other):
    candidate = Candidate((Edit("model.py", 1, 1, before, after),), "", "", Span("model.py", 1))
    assert recomputes(candidate) is other


@pytest.mark.parametrize(("message", "exact"), [("index 4 is out of bounds", True), ("sizes differ", False)])
def test_one_more_than_the_largest_index_is_told(message, exact):
    source = parsed_source("main.py", 'KINDS = ["a", "b", "c", "d", "e"]\ntable = zeros(4)\ntable[rows]')
    place = Place(source, source.tree.body[2].value)
    crash = Step("__getitem__", (place,), (None,), (([4], "float32"),), (), (), None, extents=(None, [0, 4]))
    evidence = Evidence(message, "en", [crash], sources=lambda _: source, files=("main.py",))
    evidence.frames.append(Call(place, {"width": 9}, "<module>"))
    told = {one.candidate.edits[0].after for one in space(evidence) if one.candidate.exact}
    assert told == ({"table = zeros(5)"} if exact else set())


@pytest.mark.parametrize(
    ("made", "new", "drops"),
    [
        ("self.width = c * side * side", "nn.Linear(32 * 4 * 4, 8)", True),
        ("self.width = c", "nn.Linear(32 * 4 * 4, 8)", False),  # of one other name
        ("self.other = c * side", "nn.Linear(32 * 4 * 4, 8)", False),
        ("self.width = c * side * side", "nn.Linear(maps.width + 2, 8)", False),
    ],
)
def test_numbers_for_a_name_that_is_computed_leave_it_wrong(made, new, drops):
    edit = Edit("net.py", 1, 1, "nn.Linear(maps.width, 8)", new)
    candidate = Candidate((edit,), "", Span("net.py", 1), "set-argument", "")
    assert drops_computed(candidate, [parsed_source("maps.py", made)]) == drops
