"""The search by intervention: what puts a training in doubt, which edits are offered, what is never edited."""

from __future__ import annotations

import ast

import pytest

torch = pytest.importorskip("torch")

from trainings import ran  # noqa: E402

from explainer.source import parsed_source, source_of  # noqa: E402
from explainer.training.finding import Attempt  # noqa: E402
from explainer.training.hoisting import hoisted  # noqa: E402
from explainer.training.judge import Compared  # noqa: E402
from explainer.training.looks import fits  # noqa: E402
from explainer.training.search import evaluation, expressions, places, search, whole  # noqa: E402
from explainer.training.search.doubts import Doubt, doubt, untaught  # noqa: E402
from explainer.training.trials import Tried  # noqa: E402

TRAINED = """\
    import torch
    torch.manual_seed(0)
    x = torch.randn(128, 4)
    y = (x[:, 0] > 0).long() {labels}
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def changed(given, scale):
        given = given * scale
        return given.flip(1)

    for step in range(70):
        out = model(changed(x, 1.0))
        loss = torch.nn.functional.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen = loss.detach().sum()
    model.eval()
    with torch.no_grad():
        acc = (model({given}).argmax(1) == y).float().mean().item()
"""


def texts(offers) -> set[tuple[str, str]]:
    """What offers replace, and by what."""
    return {(one.source.text(one.node), one.new) for one in offers if one.edits}


def test_a_fit_is_one_where_all_is_right_and_nothing_where_a_constant_does_as_well(tmp_path):
    watcher, _ = ran(tmp_path, TRAINED.format(labels="", given="changed(x, 1.0)"))
    watcher.stop()
    assert fits.last_fit(watcher, False) > 0.9
    assert fits.last_fit(watcher, True) > 0.9
    assert doubt(watcher) is None
    watcher, _ = ran(tmp_path, TRAINED.format(labels="* 0 + torch.randint(2, (128,))", given="changed(x, 1.0)"))
    watcher.stop()
    assert fits.last_fit(watcher, False) < 0.5
    assert doubt(watcher).kind == "unlearned"
    watcher, _ = ran(tmp_path, TRAINED.format(labels="", given="x"))
    watcher.stop()
    assert doubt(watcher).kind == "apart"
    assert all("mean" not in new for _, new in texts(evaluation.offers(watcher)))


def test_edits_are_offered_for_what_ran_before_the_backward_and_for_the_loop(tmp_path):
    watcher, _ = ran(tmp_path, TRAINED.format(labels="", given="x"))
    watcher.stop()
    found = list(search._of_training(watcher))
    offered = texts(found)
    assert ("given.flip(1)", "given") in offered
    assert ("given = given * scale", "") in offered
    assert ("optimizer.zero_grad()", "optimizer.zero_grad()") not in offered  # its order is seen as it is
    assert not any("loss.detach()" in text for text, _ in offered)
    assert not any(text.startswith(("loss.backward", "optimizer.step()")) and not new for text, new in offered)


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("w = torch.softmax(s, dim=0)", ("torch.softmax(s, dim=0)", "torch.softmax(s, dim=1)")),
        ("w = s.softmax(0)", ("s.softmax(0)", "s.softmax(-1)")),
        ("s = s.masked_fill(~m, -9)", ("~m", "m")),
        ("s = s.masked_fill(t == 0, -9)", ("t == 0", "t != 0")),
        ("a = attend(q, is_causal=False)", ("attend(q, is_causal=False)", "attend(q, is_causal=True)")),
        ("z = dist.sample()", ("dist.sample", "dist.rsample")),
        ("s = s * tau", ("s * tau", "s / tau")),
        ("loss = -score.mean()", ("-score.mean()", "score.mean()")),
        ("loss = kl_div(p, q)", ("kl_div(p, q)", "kl_div(q, p)")),
        ("loss = kl_div(p, q, **how)", ("kl_div(p, q, **how)", "kl_div(q, p, **how)")),
        ("s = s.masked_fill(~m[:, :, None], -9)", ("m[:, :, None]", "m[:, None, :]")),
        ("h = h * gate.unsqueeze(1)", ("gate.unsqueeze(1)", "gate.unsqueeze(-1)")),
        ("loss = fit + sigma.log()", ("fit + sigma.log()", "fit - sigma.log()")),
        ("kl = 0.5 * parts.sum()", ("0.5", "-0.5")),
        ("s = s * scale", ("s * scale", "s")),
        ("y = tokens[:, :-1]", (":-1", "1:")),
    ],
)  # fmt: skip
def test_small_edits_of_an_expression(text, offered):
    source = parsed_source("x.py", text + "\n")
    assert offered in texts(expressions.expressions(source, source.tree.body[0]))


def test_only_dimensions_that_are_there_are_offered():
    source = parsed_source("x.py", "w = s.softmax(1)\n")
    offered = texts(expressions.expressions(source, source.tree.body[0], {("x.py", 1, "softmax"): 2}))
    assert {new for _, new in offered} == {"s.softmax(0)", "s"}


def test_a_reduction_of_everything_is_offered_over_one_dimension():
    source = parsed_source("x.py", "w = keep.sum()\n")
    offered = texts(expressions.expressions(source, source.tree.body[0], {("x.py", 1, "sum"): 3}))
    assert {("keep.sum()", "keep.sum(1)"), ("keep.sum()", "keep.sum(-1)")} <= offered


def test_a_factor_that_was_not_always_0_or_1_is_no_flag(tmp_path):
    text = TRAINED.replace("for step", "sums = torch.zeros(128, 2)\n    valid = torch.ones(128, 2)\n    for step")
    text = text.replace(
        "loss = ", "sums = 0.5 * sums\n        out = out * valid\n        sums = sums + 0.1\n        loss = "
    )
    watcher, _ = ran(tmp_path, text.format(labels="", given="x"))
    watcher.stop()
    assert texts(expressions.flags(watcher)) == {("valid", "(1 - valid)")}


def test_the_early_number_of_a_share_counts_in_points_and_others_in_parts_of_their_size():
    def run(*lines: tuple[int, str]) -> dict:
        return {"early": [[step, f"{line}\n"] for step, line in lines], "fits": []}

    own = run((1, "loss 3.0 reward 0.02"), (50, "loss 2.0 reward 0.02"), (90, "loss 1.0 reward 0.9"))
    score = search._score(own, 64, Doubt("poor", None, None))
    assert score(run((50, "loss 9.0 reward 0.25"), (90, "reward 0.0"))) == pytest.approx(0.23)
    assert score(run((50, "loss 0.1"))) is None
    assert search._score(run((90, "reward 0.9")), 64, Doubt("poor", None, None)) is None
    far = search._score(run((50, "distance 8.0")), 64, Doubt("untaught", None, None, 8.0))
    assert far(run((50, "distance 2.0"))) == pytest.approx(0.75)


def test_a_world_that_is_played_in_the_evaluation_too_is_left_as_it_is(tmp_path):
    world = "class World:\n        def paid(self, x):\n            return -x.abs()\n\n    "
    text = TRAINED.replace("def changed", world + "def changed")
    text = text.replace("seen = ", "seen = World().paid(x) * ").replace("acc = ", "acc = World().paid(x).mean() + ")
    watcher, _ = ran(tmp_path, text.format(labels="", given="x"))
    watcher.stop()
    source = source_of(str(tmp_path / "train.py"))
    found = [one for _, one in places.statements(watcher, places.LEARNING)]
    assert [source.text(one) for one in found if places.examines(watcher, source, one)] == ["return -x.abs()"]


def test_what_runs_once_an_epoch_is_offered_at_each_step(tmp_path):
    text = """\
        import torch
        net = torch.nn.Linear(2, 1)
        sgd = torch.optim.SGD(net.parameters(), lr=0.1)

        def follow():
            pass

        for epoch in range(3):
            for step in range(4):
                loss = net(torch.ones(8, 2)).square().mean()
                sgd.zero_grad()
                loss.backward()
                sgd.step()
            follow()
    """
    watcher, _ = ran(tmp_path, text)
    watcher.stop()
    moved = [edit for one in whole.of_loops(watcher) if one.kind == "move" for edit in one.edits]
    assert "        follow()" in {edit.after for edit in moved}


@pytest.mark.parametrize("text", ["x = y + torch.randn(8)", "x = 0.7 * torch.randn(8)", "x = torch.rand(3) / 0.1"])
def test_how_much_noise_there_is_in_the_data_is_not_changed(text):
    source = parsed_source("x.py", text + "\n")
    assert not texts(expressions.expressions(source, source.tree.body[0]))


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("def draw(n):\n    return torch.rand(n) < 0.5\n\nx = draw(64)\n", True),
        ("def flipped(x):\n    return x * torch.rand(1)\n\nx = flipped(x)\n", False),
        ("def scaled(n):\n    return torch.ones(n) / 3\n\nx = scaled(64)\n", False),
    ],
)
def test_a_function_that_draws_samples_of_a_number_makes_the_data(text, data):
    source = parsed_source("x.py", text)
    assert places.makes_data(source, source.tree.body[0].body[0]) == data


def test_the_sign_of_a_loss_and_of_a_step_by_hand_is_turned():
    source = parsed_source("x.py", "loss = score.mean()\nloss.backward()\np += lr * g\nother = score.sum()\n")
    offered = {one for statement in source.tree.body for one in texts(whole.turned_sign(source, statement))}
    assert offered == {("score.mean()", "-(score.mean())"), ("p += lr * g", "p -= lr * g")}


def test_what_a_function_draws_of_nothing_that_it_is_given_is_drawn_once():
    text = "def sample(n):\n    means = randn(3)\n    y = randint(3, (n,))\n    return means[y], y\n\n{}"
    (one,) = whole.drawn_once(parsed_source("x.py", text.format("a, b = sample(8), sample(4)\n")))
    assert [(edit.start_line, edit.after) for edit in one.edits] == [(1, "means = randn(3)"), (2, None)]
    assert not list(whole.drawn_once(parsed_source("x.py", text.format("a = sample(8)\n"))))


def test_one_of_two_values_that_are_made_alike_is_offered_for_the_other():
    text = "def f(m, x):\n    a = m(x)\n    b = m(x + 1)\n    return a @ a.T\n\n"
    text += "ones, zeros = torch.ones(3), torch.zeros(3)\nloss = bce(out, zeros)\n"
    source = parsed_source("x.py", text)
    offered = texts(expressions.names(source, [*source.tree.body[0].body, source.tree.body[-1]]))
    assert {("a", "b"), ("zeros", "ones")} <= offered


def test_a_number_that_is_no_better_than_where_nothing_was_learned_is_a_doubt():
    def run(printed: str) -> dict:
        return {"printed": printed, "losses": [], "sites": [], "steps": 100}

    assert untaught(run("distance=3.1"), run("distance=3.0")).kind == "untaught"
    assert untaught(run("reward=-2.0"), run("reward=-1.0")).kind == "untaught"
    assert untaught(run("distance=0.3"), run("distance=3.0")) is None
    assert untaught(run("seconds=3.0"), run("seconds=1.0")) is None
    assert untaught(run("loss=3.0"), run("loss=1.0")) is None
    assert untaught(run("distance=3.0"), None) is None


def test_a_number_by_name_is_offered_where_only_what_trains_reads_it(tmp_path):
    text = TRAINED.replace("for step", "factor = 0.25\n    noise = 0.5\n    least = 0.5\n    for step")
    text = text.replace("changed(x, 1.0))", "changed(x, 1.0)) * factor")
    text = text.replace("(out, y)", "(out + noise * torch.randn(128, 2), y)")
    text = text.replace(".argmax(1) == y)", ".argmax(1) * least < y)")
    watcher, _ = ran(tmp_path, text.format(labels="", given="x"))
    watcher.stop()
    watcher.sources = [source_of(str(tmp_path / "train.py"))]
    assert texts(whole.constants(watcher)) == {("0.25", f"factor = {new}") for new in ("2.5", "0.025", "0.75")}


def test_a_value_that_nobody_reads_and_the_index_of_a_neighbour_are_offered():
    source = parsed_source("x.py", "def f(x, y, i, j):\n    z = x / 2\n    a, b = x[i], y[j]\n    return net(x)\n")
    offered = texts(expressions.names(source, source.tree.body[0].body))
    assert {("x", "z"), ("j", "i")} <= offered


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("for r in rewards:\n    run = r + g * run\n    out.append(run)\n", "for r in reversed(rewards):"),
        ("for r in reversed(rewards):\n    run = r + g * run\n    out.append(run)\n", "out.reverse()"),
        ("for t in range(n):\n    run = r[t] + g * run\n    out[t] = run\n", "for t in reversed(range(n)):"),
        ("for t in range(n):\n    run = r[t] + g * run\n    out[0] = run\n", None),
        ("for r in rewards:\n    run = r + g\n    out.append(run)\n", None),
        ("for r in rewards:\n    run = r + g * run\n", None),
    ],
)
def test_a_loop_that_carries_a_value_on_is_run_from_its_other_end(text, edited):
    found = [one for offer in whole.turned_loops(parsed_source("x.py", text)) for one in offer.edits]
    assert (edited in "".join(one.after or "" for one in found)) if edited else not found


def test_settings_are_left_out_so_that_the_default_holds():
    source = parsed_source("x.py", "o = Adam(p, lr=1.0, betas=(0.1, 0.1))\nm = Sequential(a, b, ReLU())\n")
    calls = [node for node in source.nodes() if isinstance(node, ast.Call)]
    offered = {one for call in calls for one in texts(whole.settings(source, call))}
    assert offered == {("Adam(p, lr=1.0, betas=(0.1, 0.1))", "Adam(p, lr=1.0)"), ("ReLU()", "nn.Identity()")}


def held(before: float, after: float) -> Tried:
    pair = Compared(True, False, "acc", before, after, rising=True)
    return Tried(Attempt("replace", ()), pair, 3, 3, True, True)


def test_what_must_hold_of_a_number_that_is_called_better():
    found = Doubt("unlearned", 0.1, None)
    assert search._clear(held(0.3, 0.9), found)
    assert not search._clear(held(0.3, 504.0), found)
    assert not search._clear(held(0.8, 0.9), found)
    assert search._clear(held(0.1, 0.9), Doubt("untaught", None, None, 0.5))
    assert not search._clear(held(0.1, 0.5), Doubt("untaught", None, None, 0.5))


def test_what_runs_at_every_step_is_put_before_the_loop_also_out_of_a_function(tmp_path):
    text = (
        "import torch\nclass Meter:\n    def attach(self, net):\n        net.register_forward_hook(print_nothing)\n\n"
        "def print_nothing(*_):\n    pass\n\ndef step(model, optimizer, meter):\n    meter.attach(model)\n"
        "    loss = model(torch.ones(8, 2)).square().mean()\n    optimizer.zero_grad()\n    loss.backward()\n"
        "    optimizer.step()\n\nnet = torch.nn.Linear(2, 1)\nsgd = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "watch = Meter()\nfor turn in range(12):\n    step(net, sgd, watch)\n"
    )
    watcher, _ = ran(tmp_path, text)
    watcher.stop()
    (known,) = watcher.hooked.values()
    source, statement, edits = hoisted(known["site"])
    assert source.text(statement) == "meter.attach(model)"
    assert [(edit.start_line, edit.after) for edit in edits] == [(10, None), (19, "watch.attach(net)")]
