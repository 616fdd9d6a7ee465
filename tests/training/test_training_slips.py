"""Edits of slips that a search offers, and which of two that help is told."""

from __future__ import annotations

import ast

import pytest

torch = pytest.importorskip("torch")

from trainings import ran  # noqa: E402

from explainer.edits.lines import applied  # noqa: E402
from explainer.source import parsed_source  # noqa: E402
from explainer.training.finding import Attempt, findings  # noqa: E402
from explainer.training.judge import Compared  # noqa: E402
from explainer.training.kinds import optimizers  # noqa: E402
from explainer.training.proposals.through import past_comparison  # noqa: E402
from explainer.training.search import expressions, places, search, slips, unread  # noqa: E402
from explainer.training.search.doubts import Doubt  # noqa: E402
from explainer.training.search.offer import nature, replacing  # noqa: E402
from explainer.training.trials import Tried  # noqa: E402


def texts(offers) -> set[tuple[str, str]]:
    """What offers replace, and by what."""
    return {(one.source.text(one.node), one.new) for one in offers if one.edits}


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("e = a - b", ("a - b", "b - a")),
        ("p = (z + (q - z)).detach()", ("(z + (q - z)).detach()", "z + (q - z).detach()")),
        ("e = (a + c) / b", ("(a + c) / b", "b / (a + c)")),
        ("e = t + 1", ("t + 1", "t")),
        ("m = torch.tril(x, diagonal=1)", ("torch.tril(x, diagonal=1)", "torch.tril(x, diagonal=0)")),
        ("m = torch.triu(x)", ("torch.triu(x)", "torch.triu(..., diagonal=1)")),
        ("x = x.roll(1)", ("x.roll(1)", "x.roll(-1)")),
        ("h = (1 - m).clamp(max=0)", ("(1 - m).clamp(max=0)", "(1 - m).clamp(min=0)")),
        ("loss = (out - y).mean()", ("(out - y).mean()", "(out - y).square().mean()")),
        ("e = triplet(a, n, p, margin=1)", ("triplet(a, n, p, margin=1)", "triplet(a, p, n, margin=1)")),
    ],
)
def test_a_slip_is_turned_round(text, offered):
    source = parsed_source("x.py", text + "\n")
    assert offered in texts(slips.slips(source, source.tree.body[0]))


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("q = q + (z - q).detach()", ("q + (z - q).detach()", "z + (q - z).detach()")),
        ("e = gaussian_nll_loss(m, y, s)", ("gaussian_nll_loss(m, y, s)", "gaussian_nll_loss(m, y, s ** 2)")),
    ],
)
def test_what_a_value_is_taken_for_is_turned_round(text, offered):
    source = parsed_source("x.py", text + "\n")
    assert offered in texts(expressions.expressions(source, source.tree.body[0]))


def test_what_stands_in_brackets_stays_together():
    source = parsed_source("x.py", "e = (q - 1) * error\n")
    offered = {new for _, new in texts(expressions.expressions(source, source.tree.body[0]))}
    assert "(q - 1) / error" in offered


def test_weights_are_turned_and_what_is_kept_is_copied():
    text = "import numpy\nw = WeightedRandomSampler(counts, 8)\nrows.append((state, move))\n"
    source = parsed_source("x.py", text)
    offered = {
        one for node in source.nodes() if isinstance(node, ast.Call) for one in texts(slips.weighing(source, node))
    }
    assert offered == {("WeightedRandomSampler(counts, 8)", "WeightedRandomSampler(1 / counts, 8)")}
    assert {("state", "state.copy()"), ("state", "state.clone()")} <= texts(slips.kept(source))


def test_what_a_loop_carries_on_is_read_before_it_is_changed():
    carried = "def f(path):\n    prev = path[0]\n    for now in path:\n        prev = now\n        delta = now - prev\n"
    chained = "def f(path):\n    for now in path:\n        step = now * 2\n        out = net(step)\n"
    for text, count in ((carried, 1), (chained, 0)):
        source = parsed_source("x.py", text)
        body = next(node for node in source.nodes() if isinstance(node, ast.For)).body
        assert len(list(slips.in_order(source, body))) == count


def test_one_name_made_anew_twice_changes_places_wherever_it_stands():
    text = "def read(ids):\n    ids = [i for i in ids if i]\n    ids = [i for i, _ in runs(ids)]\n"
    (offer,) = slips.in_order(parsed_source("x.py", text), [])
    assert offer.new == "ids = [i for i, _ in runs(ids)]"


def test_an_argument_that_is_written_over_is_copied_first():
    written = "def shake(self, x, gain):\n    n = len(x)\n    x {}\n    return x\n"
    for change in ("*= gain", "[0] = gain", ".mul_(gain)"):
        text = written.format(change).replace("x [", "x[").replace("x .", "x.")
        (offer,) = slips.written_over(parsed_source("x.py", text))
        assert offer.new.startswith("x = x.clone(); x")
    own = "def shake(self, x, gain):\n    x = x + 1\n    x *= gain\n    return x\n"
    assert not list(slips.written_over(parsed_source("x.py", own)))


def test_a_part_of_what_is_kept_is_copied_before_it_is_written_to():
    text = "def item(self, i):\n    row = self.rows[i]\n    row -= row.mean()\n    return row\n"
    (offer,) = slips.written_over(parsed_source("x.py", text))
    assert offer.new == "self.rows[i].clone()"
    assert not list(slips.written_over(parsed_source("x.py", text.replace("row -=", "row = row -"))))


def test_no_value_is_held_against_itself():
    text = "left = guess - truth\nsame = guess == truth\nerror = loss(guess, truth)\nz = net(guess)\n"
    source = parsed_source("x.py", text)
    found = [one for one in source.nodes() if isinstance(one, ast.Name) and one.id == "guess"]
    offers = [replacing(source, one, "truth", 0.5) for one in found]
    assert [search.with_itself(one) for one in offers] == [True, True, True, False]


def test_what_a_first_call_fitted_is_handed_to_a_later_one_that_drops_its_own():
    text = "train, table = encode(past)\ntest, _ = encode(future)\n"
    assert ("encode(future)", "encode(future, table)") in texts(slips.fitted(parsed_source("x.py", text)))
    both = text.replace("_", "other")
    assert not list(slips.fitted(parsed_source("x.py", both)))


def reading(text: str) -> set[str]:
    """What is offered in a function for what it never reads."""
    source = parsed_source("x.py", text)
    return {new for _, new in texts(unread.unread(source, source.tree.body[0].body))}


def test_what_is_unpacked_and_never_read_ends_a_product_or_a_mean():
    text = "def f(rows):\n    r, value, done = rows\n    target = r + 0.9 * value\n    return target.mean()\n"
    offered = reading(text)
    assert "0.9 * value * (1 - done)" in offered
    assert "target[torch.arange(target.shape[1], device=done.device) < done.unsqueeze(1)].mean()" in offered


def test_only_data_that_is_changed_and_not_drawn_is_prepared_otherwise():
    text = "mean, std = x.mean(0), x.std(0)\nx = (x - std) / mean\ny = y + torch.randn(8)\nz = x * 2\n"
    offered = texts(slips.prepared(parsed_source("x.py", text), set()))
    assert {("std", "mean"), ("mean", "std"), ("x = (x - std) / mean", "")} <= offered
    assert not any(text.startswith(("y =", "z =")) for text, _ in offered)


def test_lengths_that_nobody_reads_find_the_ends_of_the_rows():
    text = "def f(x, lengths):\n    h = net(x)\n    return head(h[:, -1]), h.mean(1)\n"
    offered = reading(text)
    assert "h[torch.arange(len(h)), lengths - 1]" in offered
    assert "(h * lengths.unsqueeze(-1)).sum(1) / lengths.unsqueeze(-1).sum(1)" in offered
    assert not reading(text.replace("net(x)", "net(x, lengths)"))


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("(s > 0).float()", "torch.sigmoid(s) + ((s > 0).float() - torch.sigmoid(s)).detach()"),
        ("(s < t).to(x.dtype)", "torch.sigmoid(t - (s)) + ((s < t).to(x.dtype) - torch.sigmoid(t - (s))).detach()"),
        ("(s == 0).float()", ""),
        ("s.float()", ""),
    ],
)
def test_a_comparison_hands_its_gradient_on(text, new):
    source = parsed_source("x.py", text + "\n")
    assert past_comparison(source, source.tree.body[0].value) == new


def tried(before: float, after: float, name: str = "acc", makeshift: bool = False, cost: float = 0.5) -> Tried:
    pair = Compared(True, False, name, before, after, rising=True)
    return Tried(Attempt("replace", (), {"makeshift": makeshift, "cost": cost}), pair, 3, 3, True, True)


def test_a_share_that_fills_its_room_is_clear_and_a_makeshift_yields():
    found = Doubt("unlearned", 0.5, None)
    assert search._clear(tried(0.76, 1.0), found)
    assert not search._clear(tried(0.76, 0.86), found)
    assert not search._clear(tried(0.95, 1.0), found)
    rate = tried(0.2, 1.0, makeshift=True)
    assert search._beyond(tried(0.2, 0.99), rate)
    assert not search._beyond(tried(0.2, 0.8), rate)
    assert not search._beyond(rate, tried(0.2, 0.99))


class Replay:
    """Trials that repeat what they were given."""

    left = 9.0

    def __init__(self, known: list[Tried]):
        self.known = known

    def tried(self, finding, seeds):
        return [one for one in self.known if one.attempt is finding.attempts[0]]

    def still(self, attempt):
        return {"printed": "acc=0.1"}


def test_of_two_that_do_alike_the_likelier_is_told():
    known = [tried(0.2, 0.99, cost=0.9), tried(0.2, 0.97, cost=0.2)]
    known = [Tried(one.attempt, one.compared, 3, 3, True, True) for one in known]
    assert search._confirmed(known, Doubt("unlearned", 0.1, None), Replay(known)) is known[1]


def test_a_function_that_other_files_call_with_data_does_not_make_it():
    library = parsed_source("aug.py", "def changed(x, y):\n    return x * torch.rand(1), y\n")
    caller = parsed_source("main.py", "x, y = changed(x, y)\n")
    statement = library.tree.body[0].body[0]
    assert places.makes_data(library, statement)
    assert not places.makes_data(library, statement, [library, caller])


def test_a_number_of_classes_is_no_number_of_turns():
    source = parsed_source("x.py", "for t in range(1, 9):\n    x = f(x)\nfor e in range(9):\n    loss.backward()\n")
    first, second = (node.iter for node in source.nodes() if isinstance(node, ast.For))
    assert ("range(1, 9)", "range(0, 9)") in texts(slips.conditions(source, first))
    assert not texts(slips.conditions(source, second))


EVALUATED = """\
    import torch
    torch.manual_seed(0)
    xs, ys = torch.randn(256, 6).split(16), torch.randint(3, (256,)).split(16)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(4):
        model.train()
        for x, y in zip(xs, ys):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    {mode}
    with torch.no_grad():
        for x, y in zip(xs, ys):
            right = (model(x).argmax(1) == y).sum()
"""


@pytest.mark.parametrize(("mode", "told"), [("pass", True), ("model.eval()", False)])
def test_an_evaluation_is_one_also_where_a_step_is_looked_at(tmp_path, mode, told):
    watcher, _ = ran(tmp_path, EVALUATED.format(mode=mode))  # 64 steps: the next one is looked at
    watcher.stop()
    assert ("evaluated-in-train-mode" in {one.rule for one in findings(watcher)}) == told


def test_a_guess_that_a_step_learns_from_is_no_evaluation(tmp_path):
    text = EVALUATED.format(mode="pass").split("    pass\n")[0].replace("            loss", "{}            loss", 1)
    guess = "            with torch.no_grad():\n                y = model(x).argmax(1)\n"
    watcher, _ = ran(tmp_path, text.format(guess))
    watcher.stop()
    (root,) = watcher.notes.roots.values()
    looked = [mode for mode in root["modes"] if not mode.learning]
    assert looked
    assert not any(mode.evaluation for mode in looked[:1])


def test_parameters_that_were_collected_before_are_collected_again():
    text = "rate = 0.1\nchosen = [p for p in net.parameters()]\nsgd = SGD(chosen, lr=rate)\n"
    source = parsed_source("x.py", text)
    _, collecting, making = source.tree.body
    assert optimizers._collecting(source, making) == [collecting]


def test_a_large_factor_is_made_small_and_a_last_term_left_out():
    source = parsed_source("x.py", "loss = fit + 100 * size.mean()\n")
    offered = texts(expressions.expressions(source, source.tree.body[0]))
    assert {("100", "1"), ("fit + 100 * size.mean()", "fit")} <= offered


def test_a_shift_is_turned_on_both_sides_at_once():
    source = parsed_source("x.py", "loss = f(net(s[:, 1:]), s[:, :-1])\nout = f(s[:, 1:])\n")
    both, one = source.tree.body
    assert ("loss = f(net(s[:, 1:]), s[:, :-1])", "loss = f(net(s[:, :-1]), s[:, 1:])") in texts(
        slips.shifted(source, both)
    )
    assert not texts(slips.shifted(source, one))


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        (
            'saved = {"vocab": v, "net": n}\n'
            'def tune(saved, rows):\n    net = f(saved["net"])\n    vocab = Vocab(rows)\n',
            ("Vocab(rows)", 'saved["vocab"]'),
        ),
        (
            'saved = {"vocab": v, "net": n}\ndef tune(saved):\n    vocab = saved["vocab"]\n    net = f(saved["net"])\n',
            None,
        ),
    ],
)
def test_an_entry_that_nothing_reads_is_read_where_one_of_its_name_is_made(text, offered):
    found = texts(unread.entries(parsed_source("x.py", text)))
    assert found == ({offered} if offered else set())


def test_what_is_changed_under_another_name_is_copied_first():
    text = "def stage(base):\n    one = base\n    one.rate = 3\n    return one\n"
    found = list(slips.another_name(parsed_source("x.py", text)))
    assert texts(found) == {("base", "copy.copy(base)")}
    assert "import copy" in str(found[0].edits)
    assert not list(slips.another_name(parsed_source("x.py", text.replace("one.rate = 3", "print(one)"))))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("a - b", "b - a", "sign"),
        ("loss", "-(loss)", "sign"),
        ("x[:, 1:]", "x[:, :-1]", "shift"),
        ("n + 1", "n", "shift"),
        ("f(a, b)", "f(b, a)", "order"),
        ("x.mean(1)", "x.mean(0)", "dimension"),
        ("x.sum()", "x.mean()", "reduction"),
        ("x * t", "x / t", "scale"),
        ("m", "~(m)", "inverted"),
        ("a == b", "a != b", "inverted"),
        ("lr=0.1", "lr=0.001", ""),
        ("base", "copy.copy(base)", ""),
    ],
)
def test_an_edit_is_told_by_what_it_changes(old, new, told):
    assert nature(old, new) == told


def test_what_an_object_hands_out_and_changes_is_copied_at_every_return():
    text = """
import numpy as np

class Walk:
    def __init__(self):
        self.at, self.goal = np.zeros(2), np.ones(2)

    def begin(self):
        self.at[:] = 0
        return self.at

    def step(self, move):
        self.at += move
        return self.at, 1.0, self.goal
"""
    source = parsed_source("x.py", text)
    [copied, _] = slips.handed_out(source)
    assert applied(text, copied.edits).count("self.at.copy()") == 2
    assert "return self.at.copy(), 1.0, self.goal" in applied(text, copied.edits)  # which nothing changes


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ('files = sorted(root.glob("tile_*.npy"))', 'sorted(root.glob("tile_*.npy"), key='),
        ("names = sorted(os.listdir(folder))", "sorted(os.listdir(folder), key="),
        ("names = sorted(os.listdir(folder), key=number)", ""),
        ("kinds = sorted(set(labels))", ""),
    ],
)
def test_names_of_files_are_put_in_the_order_of_their_numbers(text, new):
    offers = [one.new for one in slips.by_number(parsed_source("x.py", text))]
    assert [one.startswith(new) for one in offers] == [True] * bool(new)
    key = (lambda one: (len(str(one)), str(one))) if offers else None
    assert not offers or sorted(["t_10", "t_2", "t_1"], key=key) == ["t_1", "t_2", "t_10"]
