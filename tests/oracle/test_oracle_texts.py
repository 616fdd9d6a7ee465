"""What sizes, strides and the texts of an edit alone tell of it: no program is run."""

from __future__ import annotations

import pytest

from explainer.diagnosis import Edit
from explainer.oracle import source
from explainer.oracle.alignments import other_alignments
from explainer.oracle.effects import Effects
from explainer.oracle.gradients import Gradients, left_at_the_end
from explainer.oracle.joins import CROSSED, TURNED, joined_first, mixes, shifts
from explainer.oracle.judge import judged
from explainer.oracle.places import Places

pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("before", "strides", "after", "mixed"),
    [
        ([3, 5, 2, 4], [40, 4, 20, 1], [3, 5, 8], None),  # heads beside what each head holds
        ([3, 2, 5, 4], [40, 4, 8, 1], [3, 5, 8], CROSSED),  # time across heads
        ([3, 7, 7, 2], [98, 7, 1, 49], [3, 98], None),  # one sample's values, in another order
        ([5, 3, 4], [4, 20, 1], [15, 4], TURNED),  # steps before samples, which lie the other way round
        ([3, 5, 4], [20, 1, 5], [15, 4], None),
        ([5, 6, 4], [24, 1, 6], [5, 3, 8], None),  # some steps each, with what they hold
        ([5, 6, 3], [18, 1, 6], [5, 3, 6], CROSSED),  # exchanged
        ([16, 6, 6, 10], [360, 6, 1, 36], [16, 72, 5], None),  # two boxes of each cell
        ([16, 6, 6, 10], [360, 6, 1, 36], [16, 18, 20], CROSSED),
        ([3, 4], [4, 1], [4, 3], None),  # it lies in memory as its sizes are
    ],
)
def test_a_reshape_mixes_what_lies_otherwise_in_memory(
    before: list[int], strides: list[int], after: list[int], mixed: str | None
) -> None:
    assert mixes(before, strides, after) == mixed


@pytest.mark.parametrize(
    ("after", "others"),
    [
        ("y = x + b.unsqueeze(1)", ["b.unsqueeze(0)", "b.unsqueeze(2)", "b.unsqueeze(3)"]),
        ("y = x + b.unsqueeze(-1)", ["b.unsqueeze(-2)", "b.unsqueeze(-3)", "b.unsqueeze(-4)"]),
        ("y = x + b[:, None]", ["b.unsqueeze(0)", "b.unsqueeze(2)", "b.unsqueeze(3)"]),
        ("y = x + b[..., None]", ["b.unsqueeze(-2)", "b.unsqueeze(-3)", "b.unsqueeze(-4)"]),
        ("y = x + b.t()", []),
    ],
)
def test_other_alignments_of_a_broadcast(after: str, others: list[str]) -> None:
    edit = Edit("main.py", 1, 1, "y = x + b", after)
    assert [text for _, _, text in other_alignments([edit])] == others


@pytest.mark.parametrize(
    ("before", "after", "data"),
    [
        ("t = Row(Flip(), Scale(2))", "t = Row(Scale(2))", True),  # a step of a row
        ("y, _ = self.attn(x, x, x, attn_mask=mask)", "y, _ = self.attn(x, x, x)", True),
        ("return self.a(self.b(x, lengths))", "return self.a(self.b(x))", True),
        ("y = f(x, mask=self.mask[:t])", "y = f(x)", True),
        ("y = f(x, m)", "y = f(x, n)", False),
        ("y = f(x, x.size(0))", "y = f(x)", False),
        ("y = f(x, mode='max')", "y = f(x)", False),
        ("y = x.view(b, t, -1)", "y = x.view(b, -1)", False),
        ("self.a = nn.Linear(a, b, bias=False)", "self.a = nn.Linear(a, b)", False),
    ],
)
def test_what_leaves_out_an_argument_that_carries_data_is_in_doubt(before: str, after: str, data: bool) -> None:
    """Without its mask any attention runs; what a signature refuses was never used."""
    edits, failed = [Edit("a.py", 1, 1, before, after)], {"type": "RuntimeError", "message": "the shape of the mask"}
    assert ("argument" in judged(edits, {}, {"error": failed}).doubts) == data
    refused = {"type": "TypeError", "message": "forward() got an unexpected keyword argument 'mask'"}
    assert "argument" not in judged(edits, {}, {"error": refused}).doubts


@pytest.mark.parametrize(
    ("after", "cuts"),
    [
        ("y = f(x)[:, :-1]", True),
        ("y = f(x[0])", True),
        ("y = f(x[:, :n])", True),
        ("y = f(x, size=x.shape[2:])", False),
        ("y = f(x[:, None])", False),
        ("y = f(x.t())", False),
    ],
)
def test_a_subscript_that_takes_a_part_is_a_cut(after: str, cuts: bool) -> None:
    edits, seen = [Edit("a.py", 1, 1, "y = f(x)", after)], {"seen": {"models": [{"name": "Net", "unread": True}]}}
    assert ("unread" in judged(edits, seen, {}).doubts) == cuts


@pytest.mark.parametrize(
    ("now", "was", "doubted"),
    [
        ({"came": [[3, 8]], "back": [[3, 2]]}, {"came": [[5, 8]], "back": [[5, 2]]}, True),  # fewer samples
        ({"came": [[5, 8]], "back": [[1, 2]]}, {"came": [[5, 8]], "back": [[5, 2]]}, True),  # rows are lost on the way
        ({"came": [[5, 8]], "back": [[5, 3]]}, {"came": [[5, 8]], "back": [[5, 2]]}, False),  # another width
        ({"came": [[3, 8]], "back": [[3, 2]]}, {"came": [[5, 8]], "back": None, "returned": False}, False),
    ],
)
def test_what_runs_with_other_samples_of_a_model_that_had_run_is_in_doubt(now, was, doubted) -> None:
    runs = [{"seen": {"models": [{"name": "Net", "returned": True, **one}]}} for one in (now, was)]
    assert ("data" in judged([Edit("a.py", 1, 1, "f(x)", "f(x[:3])")], *runs).doubts) == doubted


@pytest.mark.parametrize(
    ("after", "doubted"),
    [("loss(scores[:-1], labels)", True), ("loss(scores[:, :-1], labels)", False), ("loss(scores, labels[0])", False)],
)
def test_a_sample_that_is_left_out_for_a_loss_is_missed(after: str, doubted: bool) -> None:
    control = {"error": {"message": "Expected input batch_size (4) to match target batch_size (3)."}}
    assert ("data" in judged([Edit("a.py", 1, 1, "loss(scores, labels)", after)], {}, control).doubts) == doubted


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        ("x = make(80)", "x = make(1)", True),
        ("x = make()", "x = make(n=1)", True),  # the number that the function gives by default
        ("x = make()", "x = make(n=width)", False),
        ("x = make().unsqueeze(0)", "x = make()", False),
    ],
)
def test_what_runs_only_with_other_data_is_refused(before: str, after: str, refused: bool) -> None:
    runs = [{"seen": {"draws": [["randn", [size, 4]]]}} for size in (1, 80)]
    assert (judged([Edit("a.py", 1, 1, before, after)], *runs).refused == "data") == refused


@pytest.mark.parametrize(
    ("after", "undone", "refused"),
    [
        ("run.fit()\nrun.resume()", 1, True),
        ("run.fit()\nrun.resume()", 0, False),  # what is loaded was never trained here
        ("run.fit(resume=True)", 1, False),  # no other order: the program loads its best state at the end
    ],
)
def test_an_order_that_loads_a_state_over_what_was_trained_is_refused(after: str, undone: int, refused: bool) -> None:
    edit = Edit("a.py", 1, 2, "run.resume()\nrun.fit()", after)
    assert (judged([edit], {"seen": {"undone": undone}}, {"seen": {}}).refused == "undone") == refused


def test_states_that_are_loaded_over_steps_are_counted() -> None:
    torch = pytest.importorskip("torch")
    places, gradients = Places("/nowhere", {}), Gradients()
    gradients.watch(torch, places)
    try:
        model = torch.nn.Linear(2, 1)
        one, other = (torch.optim.SGD(model.parameters(), 0.1) for _ in range(2))
        one.load_state_dict(other.state_dict())
        assert gradients.undone == 0
        gradients.stepped(one)
        other.load_state_dict(one.state_dict())
        assert gradients.undone == 0
        one.load_state_dict(other.state_dict())
        assert gradients.undone == 1
    finally:
        places.restore()


@pytest.mark.parametrize(
    ("before", "after", "message", "spread"),
    [
        ("return f(x)", "return f(x)[0]", "The size of tensor a (5) must match the size of tensor b (3)", True),
        ("return f(x)[1]", "return f(x)[0]", "The size of tensor a (5) must match the size of tensor b (3)", False),
        ("return f(x)", "return f(x)[:, -1]", "mat1 and mat2 shapes cannot be multiplied", False),  # the last step
        ("y = x + b", "y = x + b[0]", "mat1 and mat2 shapes cannot be multiplied", True),
        ("y = pad(x, (n, 0))", "y = pad(x, (step[0] * n, 0))", "must match the size of tensor b", False),  # sizes
    ],
)
def test_one_entry_in_the_place_of_all_is_in_doubt_where_it_fits_everything(before, after, message, spread) -> None:
    error = {"error": {"type": "RuntimeError", "message": message}}
    assert ("spread" in judged([Edit("a.py", 1, 1, before, after)], {}, error).doubts) == spread


@pytest.mark.parametrize(
    ("seen", "before", "doubted"),
    [
        ({"steps": 2, "moves": False}, {}, True),
        ({"steps": 2, "moves": True}, {}, False),
        ({"steps": 0, "moves": False}, {}, False),  # nothing was trained
        ({"steps": 2, "moves": False}, {"moves": False, "steps": 1}, False),  # the program's own doing
    ],
)
def test_steps_whose_gradients_are_all_zero_put_an_edit_in_doubt(seen: dict, before: dict, doubted: bool) -> None:
    judgement = judged([Edit("a.py", 1, 1, "x = y[:, 1:]", "x = y[:, n:]")], {"seen": seen}, {"seen": before})
    assert ("still" in judgement.doubts) == doubted


def test_what_the_last_of_several_blocks_hands_to_no_next_one_is_not_missed() -> None:
    names = [f"blocks.{at}.{part}.weight" for at in range(3) for part in ("own", "on")] + ["head.weight"]
    graded = [one for one in names if one not in ("blocks.2.on.weight", "head.weight")]
    assert left_at_the_end(names, graded) == {"blocks.2.on.weight"}
    assert not left_at_the_end(names, [one for one in graded if ".on." not in one])  # of none
    assert not left_at_the_end(names, [one for one in names if one != "blocks.1.on.weight"])  # not the last


def test_what_a_program_writes_into_itself_is_not_missed_among_gradients() -> None:
    torch = pytest.importorskip("torch")
    net = torch.nn.ParameterDict({"trained": torch.ones(2), "queue": torch.ones(2), "left": torch.ones(2)})
    gradients, effects = Gradients(), Effects("/nowhere")
    gradients.used.add(id(net))
    effects.begin(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net["trained"].sum().backward()
    with torch.no_grad():
        net["queue"][0] = 3.0
    optimizer.step()
    gradients.stepped(optimizer)
    assert gradients.missing([net], effects.overwritten()) == ["0.left"]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("scale", "moves"), [(0.0, False), (1.0, True)])
def test_gradients_that_are_not_zero_are_noted_whatever_their_layout(sparse: bool, scale: float, moves: bool) -> None:
    torch = pytest.importorskip("torch")
    table = torch.nn.Embedding(3, 2, sparse=sparse)
    gradients, optimizer = Gradients(), torch.optim.SGD(table.parameters(), 0.1)
    (scale * table(torch.tensor([1])).sum()).backward()
    gradients.stepped(optimizer)
    assert gradients.moves == moves


def test_gradients_without_data_are_taken_for_moving_ones() -> None:
    torch = pytest.importorskip("torch")
    gradients, layer = Gradients(), torch.nn.Linear(2, 1, device="meta")
    layer(torch.ones(1, 2, device="meta")).sum().backward()
    gradients.stepped(torch.optim.SGD(layer.parameters(), 0.1))
    assert gradients.moves


@pytest.mark.parametrize(
    ("after", "kept", "refused"),
    [
        ("state = run.state()\nrun.fit()", 0, True),
        ("state = run.state()\nrun.fit()", 40, False),
        ("run.fit(2)\nstate = run.state()", 0, False),  # no other order
    ],
)
def test_an_order_that_keeps_a_state_before_it_is_trained_is_refused(after: str, kept: int, refused: bool) -> None:
    edit = Edit("a.py", 1, 2, "run.fit()\nstate = run.state()", after)
    runs = [{"seen": {"kept": count}} for count in (kept, 40)]
    assert (judged([edit], *runs).refused == "undone") == refused


@pytest.mark.parametrize(
    ("now", "refused"), [({"Adam of 4, 90": 0, "Adam of 4, 70": 4}, True), ({"Adam of 4, 70": 4}, False)]
)
def test_an_optimizer_that_steps_with_fewer_parameters_than_before_is_refused(now: dict, refused: bool) -> None:
    runs = [{"seen": {"most": most}} for most in (now, {"Adam of 4, 90": 4})]
    assert (judged([Edit("a.py", 1, 1, "a", "b")], *runs).refused == "ungraded") == refused


@pytest.mark.parametrize(
    ("before", "after", "doubted"),
    [
        ("Net(len(table))", "Net(len(table) + 3)", True),
        ("Net(len(table))", "Net(26)", True),
        ("Net(len(table))", "Net(len(table) + 1)", False),  # the one that starts at 0, or an end
        ("Net(len(table))", "Net(len(words))", False),
        ("x.as_strided((len(x) // hop, 6), (hop, 1))", "x.unfold(0, 6, hop)", False),
    ],
)
def test_a_number_that_only_these_data_lacked_is_in_doubt(before: str, after: str, doubted: bool) -> None:
    doubts = judged([Edit("a.py", 1, 1, before, after)], {"seen": {}}, {"seen": {}}).doubts
    assert ("number" in doubts) == doubted


@pytest.mark.parametrize(
    ("before", "after", "other"),
    [
        ("a = rows[k:]", "a = rows[:k]", True),
        ("a, b = rows[:k], rows[k:]", "a, b = rows[:k], rows[k + 1:]", False),
        ("a, b = rows[:k], labels[k:]", "a, b = rows[:k], labels[:k]", True),
        ("a = rows[k:]", "a = rows[:n]", False),  # of another split
    ],
)
def test_what_another_part_of_a_split_holds_is_told(before: str, after: str, other: bool) -> None:
    assert source.takes_other_part([Edit("main.py", 1, 1, before, after)]) is other


@pytest.mark.parametrize(
    ("before", "after", "shifted"),
    [
        ((60, 20), (240, 5), True),  # rows of other samples and steps
        ((60, 20), (60, 4, 5), False),
        ((12, 5, 20), (60, 20), False),
        ((1, 60, 20), (60, 1, 20), False),
    ],
)
def test_sizes_that_are_neither_joined_nor_split_are_shifted(
    before: tuple[int, ...], after: tuple[int, ...], shifted: bool
) -> None:
    assert shifts(before, after) == shifted


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        ((4, 20, 7), (80, 7), (4, 20)),
        ((20, 4, 7), (80, 7), (20, 4)),
        ((4, 20), (80,), (4, 20)),
        ((12, 10), (8, 15), ()),
    ],
)
def test_of_what_a_reshape_joins_into_rows_the_order_is_known(
    before: tuple[int, ...], after: tuple[int, ...], rows: tuple[int, ...]
) -> None:
    assert joined_first(before, after) == rows
