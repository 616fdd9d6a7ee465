"""What else puts a training in doubt, or shows that a value says nothing: own numbers, guards, flags, cuts."""

from __future__ import annotations

import textwrap

import pytest

torch = pytest.importorskip("torch")

from trainings import ran  # noqa: E402

from explainer.source import parsed_source, source_of  # noqa: E402
from explainer.training.finding import Attempt, findings  # noqa: E402
from explainer.training.judge import FIT, Compared, compared  # noqa: E402
from explainer.training.kinds.frozen import _tables  # noqa: E402
from explainer.training.search import expressions, search, whole  # noqa: E402
from explainer.training.search.doubts import Doubt, poor  # noqa: E402
from explainer.training.trials import Tried  # noqa: E402


def run(printed: str, evaluated: float | None = None) -> dict:
    return {"losses": [1.0] * 20, "sites": [0] * 20, "steps": 20, "printed": printed, "evaluated": evaluated}


def test_where_no_number_is_printed_the_fit_of_the_evaluation_is_compared():
    pair = compared(run("loss 1.0", 0.1), run("loss 1.0", 0.8), fitting=True)
    assert pair.better
    assert pair.metric == FIT
    assert not compared(run("", 0.1), run("", 0.2), fitting=True).better
    assert not compared(run("", None), run("", 0.9), fitting=True).better
    assert compared(run("acc 0.1", 0.1), run("acc 0.9", 0.1), fitting=True).metric == "acc"


def test_a_small_share_of_its_own_puts_a_training_in_doubt():
    assert poor(run("success=0.1")).kind == "poor"
    assert poor(run("success=0.7")) is None
    assert poor(run("loss=0.1")) is None
    assert poor(run("reward=-3.0")) is None
    assert poor(run("r2=-0.4"), 0.0).kind == "poor"
    assert poor(run("r2=0.1"), 0.0) is None
    assert poor(None) is None


def test_an_edit_that_leaves_a_share_poor_does_not_hold():
    def held(after: float) -> bool:
        pair = Compared(True, False, "success", 0.06, after, rising=True)
        return search._clear(Tried(Attempt("replace", ()), pair, 3, 3, True, True), Doubt("poor", None, None))

    assert held(0.9)
    assert not held(0.16)


def test_an_edit_must_bring_more_than_a_constant_and_tell_of_what_is_learned():
    class Trials:
        left = 9.0

        def __init__(self, printed: str):
            self.printed = printed

        def still(self, attempt: Attempt) -> dict:
            return run(self.printed)

    pair = Compared(True, False, "r2", -0.9, -0.1, rising=True)
    assert not search._clear(Tried(Attempt("replace", ()), pair, 3, 3, True, True), Doubt("poor", None, None))
    one = Tried(Attempt("replace", ()), Compared(True, False, "r2", -0.9, 1.0, rising=True), 3, 3, True, True)
    assert search._tells(one, Trials("r2=-1.2"))
    assert not search._tells(one, Trials("r2=1.0"))  # as of `truth - truth`


def test_wrong_answers_counted_as_right_ones_do_not_hold():
    def held(after: float, loss: float) -> bool:
        pair = Compared(True, False, "acc", 0.31, after, loss_before=1.0, loss_after=loss, rising=True)
        return search._clear(Tried(Attempt("replace", ()), pair, 3, 3, True, True), Doubt("poor", None, None))

    assert not held(0.69, loss=1.0)
    assert held(0.69, loss=0.4)  # other weights may well reach that
    assert held(0.9, loss=1.0)


def test_sorting_is_turned_and_views_that_make_the_data_are_offered():
    source = parsed_source("x.py", "def f(x, t):\n    o = t.argsort()\n    return x.reshape(-1, 3, 8, 8)\n")
    sort, made = source.tree.body[0].body
    assert "t.argsort(descending=True)" in {one.new for one in expressions.expressions(source, sort)}
    assert "x.permute(0, 3, 1, 2)" in {one.new for one in whole.of_data(source, set())}
    assert not list(expressions.expressions(parsed_source("y.py", "pass\n"), made.value.args[0]))


BEGIN = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\ntorch.manual_seed(0)\n"


def watched(folder, body: str):
    watcher, _ = ran(folder, BEGIN + textwrap.dedent(body))
    watcher.stop()
    watcher.sources = [source_of(str(folder / "train.py"))]
    assert not watcher.notes.trouble
    return watcher


FACTORS = """\
    model = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(30):
        x = torch.randn(16, {count}, 4)
        p = torch.sigmoid(model(x)).squeeze(2)
        loss = -{log}.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("count", "log", "new"),
    [
        (60, "torch.log(p.prod(1) + 1e-9)", "-(p + 1e-09).log().sum(1).mean()"),
        (60, "p.prod(dim=1).clamp(min=1e-9).log()", "-(p + 1e-09).log().sum(dim=1).mean()"),
        (3, "torch.log(p.prod(1) + 1e-9)", ""),
        (60, "(p + 1e-9).log().sum(1)", ""),
    ],
)
def test_a_logarithm_of_nothing_but_its_guard(tmp_path, count, log, new):
    watcher = watched(tmp_path, FACTORS.format(count=count, log=log))
    found = [one for one in findings(watcher) if one.rule == "log-of-guard"]
    assert [edit.after.strip() for one in found for each in one.attempts for edit in each.edits] == (
        [f"loss = {new}"] if new else []
    )


GAME = """\
    maker, judge = nn.Linear(2, 1), nn.Linear(1, 1)
    first = torch.optim.SGD(judge.parameters(), lr=0.01)
    second = torch.optim.SGD(maker.parameters(), lr=0.01)
    for step in range(20):
        z = torch.randn(8, 2)
        made = maker(z).detach()
        one = judge(made).mean() - judge(torch.randn(8, 1)).mean()
        first.zero_grad()
        one.backward()
        first.step()
        other = -judge({given}).mean()
        second.zero_grad()
        other.backward()
        second.step()
"""


@pytest.mark.parametrize(("given", "new"), [("made", "other = -judge(maker(z)).mean()"), ("maker(z)", "")])
def test_an_optimizer_that_never_gets_a_gradient_is_proved(tmp_path, given, new):
    watcher = watched(tmp_path, GAME.format(given=given))
    found = [one for one in findings(watcher) if one.rule == "gradient-cut"]
    assert [one.proved for one in found] == [True] * bool(new)
    assert [one.attempts[0].edits[0].after.strip() for one in found] == [new] * bool(new)


@pytest.mark.parametrize(
    ("made", "offered"),
    [
        ("w = 0.1 * torch.randn(9, 3)", True),
        ("w = torch.load('w.pt')", False),
        ("w = torch.randn(9, 3)\n    w[0] = known", False),
        ("w = u @ v", False),
    ],
)
def test_only_a_table_of_random_numbers_is_thawed(made, offered):
    text = f"def f(known):\n    {made}\n    return nn.Embedding.from_pretrained(w)\n"
    assert bool(list(_tables(parsed_source("x.py", text)))) is offered
    assert not list(_tables(parsed_source("x.py", text.replace("(w)\n", "(w, freeze=True)\n"))))


def test_a_factor_of_zeros_and_ones_is_turned(tmp_path):
    body = """\
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(8):
        x, done, scale = torch.randn(8, 4), (torch.arange(8) % 2).float(), torch.rand(8)
        goal = 0.9 * done * scale
        loss = F.mse_loss(model(x).squeeze(1), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    """
    offers = [(one.source.text(one.node), one.new) for one in expressions.flags(watched(tmp_path, body))]
    assert offers == [("done", "(1 - done)")]


@pytest.mark.parametrize(("printed", "content"), [("OK gap=0.1", True), ("POOR gap=0.1", False), ("gap=0.1", False)])
def test_a_program_that_is_not_content_must_be_so_with_an_edit(printed, content):
    source = parsed_source("x.py", "print('OK' if gap < 0.2 else 'POOR', gap)")
    one = Tried(Attempt("replace", ()), Compared(True, False, "gap"), 3, 3, True, True, ("POOR gap=0.9", printed))
    assert search._contents(one, Doubt("refused", None, None, judging=(source,))) is content
    assert search._contents(one, Doubt("poor", None, None))  # which says nothing of itself


def test_what_has_no_bound_may_rise_beyond_one():
    def held(name: str) -> bool:
        pair = Compared(True, False, name, 1.0, 3.0, rising=True)
        return search._clear(Tried(Attempt("replace", ()), pair, 3, 3, True, True), Doubt("refused", None, None))

    assert held("mean_return")
    assert not held("accuracy")  # which is summed in place of averaged
