"""The forked window replay and its recorders: they reach the crash, say what happened, and touch nothing."""

import textwrap

import pytest

torch = pytest.importorskip("torch")

from explainer.live import crash_from  # noqa: E402
from explainer.probes import Options, Scene, find  # noqa: E402
from explainer.replay.confine import sandbox  # noqa: E402
from explainer.replay.window import window_of  # noqa: E402

pytestmark = pytest.mark.skipif(sandbox.unavailable() is not None, reason=f"no sandbox: {sandbox.unavailable()}")


@pytest.fixture
def crashed(tmp_path, monkeypatch):
    """Run a program that crashes; its scene and its globals."""

    def run(code, name="program.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(code))
        monkeypatch.chdir(tmp_path)
        names = {"__name__": "__main__", "torch": torch, "nn": torch.nn}
        try:
            exec(compile(path.read_text(), str(path), "exec"), names)
        except Exception as error:
            crash = crash_from(error, error.__traceback__.tb_next, lambda raised: True)
            return Scene(crash, Options(deadline=20.0)), names
        raise AssertionError("the program did not crash")

    yield run
    torch.autograd.set_detect_anomaly(False)


def test_the_window_begins_at_the_innermost_loop(crashed):
    """What stands before the loop, its data and its model, is not run again."""
    scene, _ = crashed("""
        setup = 1
        for epoch in range(2):
            before = epoch
            if before == 0:
                x = torch.ones(2)
                x.backward()
    """)
    window = window_of(scene.user_frame)
    assert [statement.lineno for statement in window.tree.body] == [4, 6, 7]
    assert (window.line, window.end_line) == (7, 7)


def test_a_loss_held_by_an_object_is_found_one_frame_outward(crashed):
    """The statement that fails names no tensor; the write is found by running the caller's statements."""
    scene, _ = crashed("""
        class Trainer:
            def __init__(self):
                self.net = nn.Linear(3, 3)

            def compute(self, x):
                y = torch.sigmoid(self.net(x))
                y *= 2
                self.loss = y.sum()

            def learn(self):
                self.loss.backward()

            def run(self):
                for x in torch.rand(2, 4, 3):
                    self.compute(x)
                    self.learn()

        Trainer().run()
    """)
    write = find("overwritten")(scene)
    assert (write.text, write.span.line, write.keeper, write.keeps) == ("y *= 2", 8, "sigmoid", "result")
    assert write.function == "Trainer.compute"


def test_a_statement_that_fails_keeps_the_live_value(crashed):
    """`next(batches)` is at its end in the replay: the batch of the crash is used, and the iterator is untouched."""
    scene, names = crashed("""
        batches = iter([torch.ones(2, 3)])
        net = nn.Linear(3, 3)
        while True:
            batch = next(batches)
            y = torch.tanh(net(batch))
            y.add_(1)
            y.sum().backward()
    """)
    assert find("overwritten")(scene).text == "y.add_(1)"
    assert next(names["batches"], "end") == "end"


def test_the_program_is_as_before_a_replay(crashed):
    """Weights, gradients, counters and random state: a replay that trains, counts and draws changes none of them."""
    scene, names = crashed("""
        calls = []
        net = nn.Linear(3, 1)
        other = nn.Linear(3, 1)
        step = torch.optim.SGD(other.parameters(), lr=1.0)
        for x in torch.rand(1, 4, 3):
            calls.append(1)
            other(x).sum().backward()
            step.step()
            y = torch.exp(net(x) + torch.rand(()))
            y += 1
            y.sum().backward()
    """)
    weight, grad = names["other"].weight.detach().clone(), names["other"].weight.grad.clone()
    state = torch.get_rng_state()
    assert find("overwritten")(scene).text == "y += 1"
    assert names["calls"] == [1]
    assert torch.equal(names["other"].weight, weight)
    assert torch.equal(names["other"].weight.grad, grad)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        ("loss = torch.tensor(net(x).mean().item())\nloss.backward()", "item", 3),
        ("h = net(x).detach()\nfactor = net(x).mean().item()\nloss = h.mean() * factor\nloss.backward()", "item", 4),
        ("import numpy\nloss = torch.from_numpy(net(x).detach().numpy()).mean()\nloss.backward()", "numpy", 4),
        ("with torch.no_grad():\n    out = net(x)\nloss = out.mean()\nloss.backward()", "no-grad", 3),
        ("loss = (net(x) > 0).float().mean()\nloss.backward()", "comparison", 3),
        ("loss = net(x).data.mean()\nloss.backward()", "data", 3),
    ],
)
def test_the_cut_on_the_way_to_the_loss_is_named(crashed, code, kind, line):
    """Of all calls that leave the graph only one that led to the loss counts; numbers and numpy are followed."""
    scene, _ = crashed(f"net = nn.Linear(3, 1); x = torch.rand(4, 3)\n\n{code}")
    cut = find("cut")(scene)
    assert (cut.kind, cut.span.line) == (kind, line)


def test_a_metric_is_no_cut(crashed):
    """`.item()` for a log line does not lead to the loss."""
    scene, _ = crashed("""
        net = nn.Linear(3, 1)
        out = net(torch.rand(4, 3))
        log = out.mean().item()
        loss = out.detach().mean()
        loss.backward()
    """)
    assert find("cut")(scene).kind == "detach"


def test_what_carries_the_old_graph_is_named_as_the_loop_can_reach_it(crashed):
    """The state of a layer within the model: its name in forward and its way from the training loop."""
    scene, _ = crashed("""
        class Memory(nn.Module):
            def __init__(self):
                super().__init__()
                self.state = torch.zeros(3)

            def forward(self, x):
                self.state = self.state * 0.5 + x
                return self.state

        net = nn.Sequential(nn.Linear(3, 3), Memory())
        for x in torch.rand(2, 4, 3):
            loss = net(x).sum()
            loss.backward()
    """)
    state = find("carried")(scene)
    assert (state.kind, state.name, state.reach, state.span.line) == ("carried", "self.state", "net[1].state", 8)


def test_a_tuple_of_states_is_named(crashed):
    """An LSTM's state is a tuple, which has to be detached part by part."""
    scene, _ = crashed("""
        rnn = nn.LSTM(3, 4)
        state = None
        for x in torch.rand(2, 5, 1, 3):
            out, state = rnn(x, state)
            out.sum().backward()
    """)
    found = find("carried")(scene)
    assert (found.kind, found.name, found.container) == ("carried", "state", "tuple")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nan_hidden_by_where_is_found(crashed):
    """`torch.where` shows a finite loss; the root of zero behind it is named, not the mask."""
    scene, _ = crashed("""
        torch.autograd.set_detect_anomaly(True)
        w = nn.Parameter(torch.tensor([0.0, 4.0]))
        mask = (w * 1).masked_fill(w > 100, float("-inf"))
        loss = torch.where(w > 0, mask.sqrt(), torch.zeros(2)).sum()
        loss.backward()
    """)
    born = find("birth")(scene)
    assert (born.operator, born.text, born.what, born.count) == ("sqrt", "mask.sqrt()", "zero", 1)


CHECKED = [
    ("a step of forward", """
        x = torch.tensor([0.0, 2.0])
        for step in range(2):
            share = x / x[:1]
            y = share.masked_fill(x > 1, 0.0).sum()
            if not torch.isfinite(y):
                raise ValueError(f"loss is nan in step {step}")
    """, ("div", "x / x[:1]")),
    ("a helper that checks", """
        def check(name, value):
            if value.isnan().any():
                raise RuntimeError(f"{name} is nan")

        def loss_of(p):
            return (p * p.log()).sum()

        p = torch.softmax(torch.tensor([0.0, 400.0]), 0)
        loss = loss_of(p)
        check("loss", loss)
    """, ("log", "p.log()")),
    ("a mask that is meant", """
        scores = torch.zeros(2, 3).masked_fill(torch.tensor([[True], [False]]), float("-inf"))
        weights = scores.softmax(1)
        assert not torch.isnan(weights.sum()), "weights hold nan"
    """, ("softmax", "scores.softmax(1)")),
]  # fmt: skip


@pytest.mark.parametrize(("code", "wanted"), [one[1:] for one in CHECKED], ids=[one[0] for one in CHECKED])
def test_what_a_check_of_the_programs_own_refused_is_followed_to_its_birth(crashed, code, wanted):
    """The program raises long after the value was made; infinities that a mask puts in are no birth."""
    scene, _ = crashed(code)
    born = find("birth")(scene)
    assert (born.operator, born.text) == wanted


def test_gradients_that_turned_bad_in_an_earlier_backward_are_followed(tmp_path):
    """A check of weights comes a step late: the root at zero, whose slope was infinite, is named."""
    from explainer.replay.recorders.nonfinite import Nonfinite

    watching = Nonfinite()
    with watching:
        w = torch.zeros(2, requires_grad=True)
        w.abs().sqrt().sum().backward()
        assert not torch.isfinite(w.grad).all()
    found = watching.birth()
    assert found["function"] == "sqrt"
    assert found["frames"][0]["function"].endswith("test_gradients_that_turned_bad_in_an_earlier_backward_are_followed")


def test_without_replay_the_probes_are_silent(crashed):
    """`replay=False` means that no statement of the program is run again."""
    scene, _ = crashed("""
        y = torch.exp(nn.Linear(3, 1)(torch.rand(4, 3)))
        y += 1
        y.sum().backward()
    """)
    scene.options = Options(replay=False)
    assert find("overwritten")(scene) is None
