"""Atoms for what was not changed along: rows of sizes, ends of draws, namesakes, marks, repeated and folded rows."""

from __future__ import annotations

import ast

import pytest
from made_spots import F32, applied

from explainer.diagnosis import Edit, Span
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.place import Place
from explainer.oracle.judge import Judgement
from explainer.repair.agreement import sets_apart
from explainer.repair.atoms import ATOMS
from explainer.repair.sense import changes_kind, repeats
from explainer.repair.space import Proposal
from explainer.repair.spots import Spot
from explainer.repair.wide import _run
from explainer.source import parsed_source

pytest.importorskip("torch")


def failing(function: str, extents: tuple = ()) -> Step:
    """The call that failed, of which nothing else is known."""
    return Step(function, (), (), (), (), (), None, extents)


def offered(atom: str, text: str, scope: dict, message: str = "", crash: Step | None = None) -> set[str]:
    """The last statement of a text, whole, with each offer of an atom in force."""
    source = parsed_source("model.py", text)
    statement = source.tree.body[-1]
    while isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        statement = statement.body[-1]
    spot = Spot(Place(source, getattr(statement, "value", statement)), "crash", 0, scope=scope)
    steps = [crash] if crash is not None else []
    evidence = Evidence(message, "en", steps, sources=lambda _: source, files=("model.py",))
    return {applied(one) for one in ATOMS[atom](spot, evidence)}


WIDTHS = {"old[0]": 16, "old[1]": 32, "net.widths[0]": 24, "net.widths[1]": 48, "three[0]": 24}


def test_another_row_of_sizes_of_the_same_length_is_offered_where_one_of_them_is_asked_for():
    message = "The size of tensor a (16) must match the size of tensor b (24)"
    assert offered("row", "pairs = zip(a, old)", WIDTHS, message) == {"pairs = zip(a, net.widths)"}
    assert offered("row", "pairs = zip(a, three)", WIDTHS, message) == set()
    assert offered("row", "pairs = zip(net.widths, old)", WIDTHS, message) == set()  # it is there already


DRAW = "def draw(self, n):\n    steps = range(self.k)\n    return torch.randint({}, (n,))"


def test_a_draw_ends_so_far_before_the_end_as_what_is_taken_from_there_is_long():
    crash, scope = failing("index"), {"self.size": 90, "self.k": 3, "n": 8}
    drawn = offered("drawn", DRAW.format("0, self.size"), scope, crash=crash)
    assert "    return torch.randint(0, self.size - self.k + 1, (n,))" in drawn
    assert not any("- n" in one for one in drawn)  # how many are drawn is no length
    assert offered("drawn", DRAW.format("0, self.size"), scope, crash=failing("embedding")) == set()  # ids are data
    assert offered("drawn", DRAW.format("0, 90"), scope, crash=crash) == set()


def test_a_parameter_is_given_what_the_program_calls_as_it_is_called():
    text = (
        "class Spec:\n    padding = 1\n\n\ndef size(n, kernel, padding=0): ...\n\n\n"
        "made = Spec(padding=2)\nn = size(n, {})"
    )
    assert "n = size(n, spec.kernel, padding=spec.padding)" in offered("namesake", text.format("spec.kernel"), {})
    assert offered("namesake", text.format("kernel"), {}) == set()


def test_a_configuration_is_given_what_its_default_is_not():
    text = "@dataclass\nclass Config:\n    vocab: int = 65\n    depth: int = 2\n\n\nnet = Net(Config())"
    crash = failing("embedding", ([0, 91, 60],))
    found = offered("keyword", text, {"codes": 96, "other": 300}, "index out of range in self", crash)
    assert "net = Net(Config(vocab=codes))" in found
    assert not any("other" in one for one in found)  # far more than is asked for


MARKED = "[CLS] + ids[:n] + [SEP]", "[CLS] + ids[:n - 2] + [SEP]"


@pytest.mark.parametrize(
    ("text", "sizes", "repaired"),
    [
        (MARKED[0], (18, 16), {MARKED[1]}),
        ("[CLS, *ids[:n], SEP]", (18, 17), {"[CLS, *ids[:n - 2], SEP]"}),
        (MARKED[0], (30, 16), set()),  # samples that differ by more are of several lengths
        ("ids[:n] + more", (18, 16), set()),
    ],
)
def test_a_part_is_cut_by_as_many_as_marks_are_put_around_it(text, sizes, repaired):
    message = f"stack expects each tensor to be equal size, but got [{sizes[0]}] at entry 0 and [{sizes[1]}] at entry 1"
    assert offered("marked", f"x = {text}", {}, message) == {f"x = {one}" for one in repaired}


VIEWS = "def step(a, labels):\n    views = {}\n    out = net(views)\n    return loss(out, labels)"
ROWS = {"out": [[64, 8], F32], "labels": [[32], "int64"]}


@pytest.mark.parametrize(
    ("views", "again"),
    [
        ("torch.cat([f(a), f(a)])", "labels.repeat(2)"),
        ("a.repeat_interleave(2, dim=0)", "labels.repeat_interleave(2, dim=0)"),
        ("g(a)", None),  # in which order the rows stand is not known
    ],
)
def test_labels_are_repeated_in_the_order_of_the_rows_that_they_go_with(views, again):
    found = offered("repeated", VIEWS.format(views), ROWS, "sizes 64 and 32")
    assert found == ({f"    return loss(out, {again})"} if again else set())
    assert offered("repeated", VIEWS.format(views), ROWS, "sizes 5 and 7") == set()


def test_several_of_each_are_summed_where_one_dimension_has_taken_them_in():
    text, scope = "def f(y):\n    return y.view(b, -1, d)", {"b": 4, "d": 8, "k": 2}
    assert "    return y.view(b, -1, k, d).sum(2)" in offered("folded", text, scope, "sizes 12 and 24")
    assert offered("folded", text, scope, "sizes 12 and 25") == set()


def offer(old: str, new: str, scope: dict, part: str):
    from explainer.repair.offer import Offer

    source = parsed_source("model.py", old)
    node = next(one for one in ast.walk(source.tree) if isinstance(one, ast.expr) and source.text(one) == part)
    return Offer("size", Spot(Place(source, node), "crash", 0, scope=scope), node, new)


def test_a_field_is_of_the_kind_of_its_value_and_not_of_its_owner():
    scope = {"type(cfg)": "Config", "type(self)": "Module", "cfg.heads": 6, "self.heads": 3}
    assert not changes_kind(offer("torch.eye(cfg.heads)", "self.heads", scope, "cfg.heads"))
    assert changes_kind(offer("f(cfg)", "self", scope, "cfg"))


def test_nothing_is_compared_with_itself():
    assert repeats(offer("same = y == z", "y", {}, "z"))
    assert not repeats(offer("same = y == z", "w", {}, "z"))


@pytest.mark.parametrize(
    ("before", "after", "apart"),
    [
        ("n = side(9)", "n = side(15)", True),  # 9 is the side of the data, too
        ("n = side(9)", "n = side(12)", False),  # as something else is
        ("m = wide(7)", "m = wide(15)", False),
    ],
)
def test_one_of_several_equal_numbers_is_not_set_apart(before, after, apart):
    source = parsed_source("model.py", "n = side(9)\nm = wide(7)\nx = rand(3, 9, 9)\nk = 12")
    evidence = Evidence("", "en", sources=lambda _: source, files=("model.py",))
    line = source.lines.index(before) + 1
    candidate = Candidate(
        (Edit("model.py", line, line, before, after),), "replace", "", Span("model.py", line), literal=True
    )
    assert sets_apart(candidate, evidence) is apart


class Runs:
    """A checker under whose hands every edit passes without a doubt."""

    def __init__(self):
        self.ran = []

    def runs(self, candidates, progress):
        for one in candidates:
            self.ran.append(one.title)
            yield one, None, Judgement()


def test_what_is_odd_settles_nothing():
    edits = {cost: (Edit("a.py", cost, cost, "x", "y"),) for cost in (1, 3, 5)}
    queue = [Proposal(Candidate(edits[cost], "replace", str(cost), Span("a.py", cost)), cost) for cost in edits]
    plain, wary = Runs(), Runs()
    _run(plain, queue, print, 0, lambda _: False)
    _run(wary, queue, print, 0, lambda one: one.title == "1")
    assert (plain.ran, wary.ran) == (["1"], ["1", "3"])
