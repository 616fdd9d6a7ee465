"""The oracle: an edit under which a program runs is refused, or in doubt, where it spoils what the program does."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")


from explainer.diagnosis import Edit  # noqa: E402
from explainer.oracle import words  # noqa: E402
from explainer.oracle.judge import Judgement, judged  # noqa: E402
from explainer.oracle.places import lines_after  # noqa: E402
from explainer.replay.outcomes import passes  # noqa: E402
from explainer.replay.program import Program, Session, unavailable  # noqa: E402

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\ntorch.manual_seed(0)\n"
#: A step of training behind a model `net`, of inputs `x` and targets `y`.
STEP = """
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("oracle")
    (folder / "main.py").write_text("")
    program = Program("main.py", None, (), str(folder))
    if unavailable(program):
        pytest.skip(str(unavailable(program)))
    with Session(program) as made:
        yield made


def weighed(session: Session, program: str, old: str, new: str) -> Judgement:
    """What is said of an edit of one line, under which a program must run that fails without it."""
    text = HEAD + textwrap.dedent(program)
    [line] = [number for number, one in enumerate(text.split("\n"), 1) if old in one]
    before = text.split("\n")[line - 1]
    edit = Edit(f"{session.program.folder}/main.py", line, line, before, before.replace(old, new))
    control = session.run({"main.py": text}, 30)
    edited = text.replace(before, str(edit.after))
    assert control.error, "it must fail without the edit"
    *_, (file, _, function) = control.error["frames"]
    lines = lines_after([edit], session.program.folder)
    run = session.run({"main.py": edited}, 30, edited=lines, failed=(file, function))
    assert passes(run, control), (run.failed, run.error)
    return judged([edit], run.answer, control.answer)


LINEAR = "net = nn.Linear(10, 4)\nx, y = torch.randn(8, 12), torch.randn(8, 4)\n" + STEP
ATTENTION = (
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(6, 18), nn.Linear(6, 6)
    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (one.view(b, t, 2, 3).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        made = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.out(made.transpose(1, 2).view(b, t, c))
net = Net()
x, y = torch.randn(3, 5, 6), torch.randn(3, 5, 6)
"""
    + STEP
)
CUT = (
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 6), nn.Linear(6, 4)
    def forward(self, x):
        h = self.first(x)
        return self.last(torch.from_numpy(h.numpy()) + 0)
net = Net()
x, y = torch.randn(3, 6), torch.randn(3, 4)
"""
    + STEP
)
BANK = (
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 4)
        self.register_buffer("bank", torch.zeros(5, 4))
    def forward(self, x):
        bank = self.bank
        h = self.first(x).exp()
        bank[:3] = h.detach(); h += 1
        return h + bank.mean(0)
net = Net()
x, y = torch.randn(3, 6), torch.randn(3, 4)
"""
    + STEP
)
BATCH = (
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(6, 4)
    def forward(self, x):
        return self.last(x.view(7, 6))
net = Net()
x, y = torch.randn(4, 2, 3), torch.randn(4, 4)
"""
    + STEP
)
ACROSS = (
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(6, 2)
    def forward(self, x):
        mask = torch.zeros(x.shape[:2]).bool()
        return self.attend(x, x, x, key_padding_mask=mask)[0]
net = Net()
x, y = torch.randn(3, 5, 6), torch.randn(3, 5, 6)
"""
    + STEP
)
TURNED_ROWS = (
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 4, batch_first=True)
    def forward(self, x):
        one = self.rnn(x)[0].contiguous().transpose(0, 1)
        return one.view(-1, 4)
net = Net()
x, y = torch.randn(3, 5, 6), torch.randn(15, 4)
"""
    + STEP
)
GRADIENTS = (
    """
class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        return x * factor
    @staticmethod
    def backward(ctx, grad):
        return grad
class Net(nn.Linear):
    def forward(self, x):
        return Times.apply(super().forward(x), 1)
net = Net(6, 4)
x, y = torch.randn(3, 6), torch.randn(3, 4)
"""
    + STEP
)
CAUSAL = (
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 6)
    def forward(self, x):
        scores = x @ x.transpose(1, 2)
        late = torch.ones(5, 5).triu(1)
        scores = scores.masked_fill(late, -1e9)
        return self.inner(scores.softmax(-1) @ x)
net = Net()
x, y = torch.randn(3, 5, 6), torch.randn(3, 5, 6)
"""
    + STEP
)
PAIR = (
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 4, batch_first=True)
    def forward(self, x):
        out, state = self.rnn(x)
        return out, state
net = Net()
x, y = torch.randn(3, 5, 6), torch.randn(3, 5, 4)
"""
    + STEP
)
RELU = (
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 4)
    def forward(self, x):
        h = self.first(x).sigmoid()
        h += 1
        return h
net = Net()
x, y = torch.randn(3, 6), torch.randn(3, 4)
"""
    + STEP
)
FROZEN = """
net = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 4))
def begun(late):
    net[0].requires_grad_(late)
    return torch.optim.SGD([one for one in net.parameters() if one.requires_grad], lr=0.1)
def step(late):
    optimizer = begun(late)
    net(torch.randn(3, 6)).sum().backward()
    optimizer.step()
    return optimizer.state_dict()
saved = step(True)
begun(False).load_state_dict(saved)
"""
HEADS = (
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(6, 4)
    def forward(self, x):
        return self.last(x).view(2, 5, -1)
net = Net()
x, y = torch.randn(4, 6), torch.randn(2, 4, 2)
"""
    + STEP
)
LOSS = "net = nn.Linear(6, 3)\nx, y = torch.randn(3, 6), torch.randn(3, 2)\n" + STEP
SAVED = (
    """
import io
file = io.BytesIO()
torch.save(nn.Linear(6, 3).state_dict(), file)
file.seek(0)
net = nn.Linear(6, 4)
net.load_state_dict(torch.load(file))
x, y = torch.randn(8, 6), torch.randn(8, net.out_features)
"""
    + STEP
)

SHORT = (
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.table = nn.Linear(6, 6), nn.Parameter(torch.zeros(4, 6))
    def forward(self, x):
        return (self.first(x) + self.table).mean(1)
net = Net()
x, y = torch.randn(8, 5, 6), torch.randn(8, 6)
"""
    + STEP
)
WARMED = """
rows = []
net = nn.Linear(6, 3)
def learn(batch):
    loss = F.mse_loss(net(torch.stack(batch)), torch.zeros(len(batch), 4))
    loss.backward()
def main(turns=5):
    for turn in range(turns):
        rows.append(torch.randn(6))
        if len(rows) > 3:
            learn(rows)
main()
"""
GROUPS = """
import io
file, net = io.BytesIO(), nn.Linear(6, 3)
def made(parameters):
    return torch.optim.SGD(parameters, lr=0.1)
torch.save({"state_dict": made([net.weight]).state_dict()}, file)
file.seek(0)
made(net.parameters()).load_state_dict(torch.load(file)["state_dict"])
"""
WEIGHED = {
    "a number that sizes the data": (LINEAR, "torch.randn(8, 12)", "torch.randn(8, 10)", "data", ("data",)),
    "a name that sizes the data": (
        "N = 12\n" + LINEAR.replace("8, 12", "8, N"), "N = 12", "N = 10", "data", ("data",)),
    "the layer's own number": (LINEAR, "nn.Linear(10", "nn.Linear(12", None, ()),
    "a cast that cuts off": (
        "net = nn.Embedding(9, 4)\nx, y = torch.rand(8) * 5, torch.randn(8, 4)\n" + STEP,
        "net(x)", "net(x.long())", "cut", ()),
    "a cast of whole values": (
        "net = nn.Embedding(9, 4)\nx, y = torch.ones(8) * 5, torch.randn(8, 4)\n" + STEP,
        "net(x)", "net(x.long())", None, ()),
    "heads joined": (ATTENTION, ".view(b, t, c)", ".reshape(b, t, c)", None, ()),
    "heads and time mixed": (
        ATTENTION.replace("made.transpose(1, 2)", "made.transpose(2, 3)"), ".view(b, t, c)", ".reshape(b, t, c)",
        None, ("scrambled",)),
    "a path out of the graph": (CUT, "h.numpy()", "h.detach().numpy()", "ungraded", ("untrained",)),
    "a write into a copy": (
        BANK, "bank[:3] = h.detach(); h += 1", "bank.clone()[:3] = h.detach(); h = h + 1", "write",
        ("write", "values")),
    "a write that reaches nobody": (
        BANK, "bank[:3] = h.detach(); h += 1", "bank = bank.clone(); bank[:3] = h.detach(); h = h + 1", None,
        ("write",)),
    "a batch of one size": (BATCH, "x.view(7, 6)", "x.view(4, 6)", None, ("batch",)),
    "a batch of any size": (BATCH, "x.view(7, 6)", "x.view(-1, 6)", None, ()),
    "gradients are no results": (GRADIENTS, "return grad", "return grad, None", None, ()),
    "steps and samples turned around": (TURNED_ROWS, "one.view(-1, 4)", "one.reshape(-1, 4)", None, ("scrambled",)),
    "rows that a layer turned around": (
        TURNED_ROWS.replace(".contiguous().transpose(0, 1)", "").replace("one.view(-1, 4)", "one.view(-1, 3)"),
        "one.view(-1, 3)", "one.reshape(-1, 4)", None, ()),
    "the sizes of other data": (
        "sizes = {'train': 10, 'test': 12}\nnet = nn.Linear(10, 4)\nnet(torch.randn(8, sizes['train']))\n"
        "x, y = torch.randn(8, sizes['test']), torch.randn(8, 4)\n" + STEP, "'test': 12", "'test': 10", None, ()),
    "samples that attend to each other": (ACROSS, "=mask)", "=mask.t())", None, ("mixed",)),
    "samples on their own": (
        ACROSS, "MultiheadAttention(6, 2)", "MultiheadAttention(6, 2, batch_first=True)", None, ()),
    "steps that see later ones": (CAUSAL, ".triu(1)", ".triu(1).bool().t()", None, ("causal",)),
    "steps that see no later ones": (CAUSAL, ".triu(1)", ".triu(1).bool()", None, ()),
    "other results": (PAIR, "return out, state", "return out", None, ("outputs",)),
    "other values than before": (RELU, "        h += 1", "        h = h + 2", None, ("values",)),
    "the values of before": (RELU, "        h += 1", "        h = h + 1", None, ()),
    "a broadcast that torch warns of": (
        LOSS, "F.mse_loss(net(x), y)", "F.mse_loss(net(x), y[:, 0])", None, ("spread", "warned")),
    "fewer parameters under the optimizer": (
        FROZEN, "saved = step(True)", "saved = step(False)", "ungraded", ("write",)),
    "as many parameters as before": (FROZEN, "begun(False).load", "begun(True).load", None, ()),
    "a number in the place of the batch": (HEADS, "view(2, 5, -1)", "view(2, 4, -1)", None, ("batch",)),
    "too few turns to get there": (WARMED, "main(turns=5)", "main(turns=2)", None, ("unreached",)),
    "what fails is another's, where it is called": (
        WARMED, "            learn(rows)", "            print(rows)", None, ()),
    "an optimizer that is saved otherwise": (
        GROUPS, "made([net.weight])", "made(net.parameters())", None, ("saved",)),
    "the optimizer that was saved": (GROUPS, "made(net.parameters())", "made([net.weight])", None, ()),
    "weights that are saved otherwise": (SAVED, "save(nn.Linear(6, 3)", "save(nn.Linear(6, 4)", None, ("saved",)),
    "the model that was saved": (SAVED, "net = nn.Linear(6, 4)", "net = nn.Linear(6, 3)", None, ()),
    "a part of the input cut off": (SHORT, "self.first(x) +", "self.first(x)[:, :-1] +", None, ("unread",)),
    "a table for all of the input": (SHORT, "torch.zeros(4, 6)", "torch.zeros(5, 6)", None, ()),
    "data cut before the model": (SHORT, "torch.randn(8, 5, 6)", "torch.randn(8, 5, 6)[:, 1:]", None, ()),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WEIGHED))
def test_an_edit_that_runs_is_weighed(session: Session, name: str) -> None:
    program, old, new, refused, doubts = WEIGHED[name]
    found = weighed(session, program, old, new)
    assert (found.refused, found.doubts) == (refused, doubts)


def test_words_tell_what_was_tested_in_three_languages() -> None:
    every = Judgement(more=5, apart=True, causal=True)
    assert words.tested(every, "en") == "with 5 samples too; samples stay independent; it stays causal"
    assert words.tested(Judgement(more=5, shorter=True), "en") == "with 5 samples too; other lengths run"
    assert words.tested(Judgement(), "ko") == ""
    assert len({words.tested(every, language) for language in ("en", "ko", "zh")}) == 3
    place = words.doubt(Judgement(doubts=("scrambled",), turned=("main.py", 7)), "zh")
    assert "main.py:7" in place
    assert all(set(texts) == {"en", "ko", "zh"} for texts in words.DOUBTS.values())


def test_a_default_device_holds_for_draws_that_are_watched(session: Session) -> None:
    """Else the control fails elsewhere than the program did, and nothing is tried."""
    body = HEAD + "torch.set_default_device('meta')\nx = torch.rand(3)\nprint(x.sum().item())\n"
    error = session.run({"main.py": body}, 30.0).error
    assert error is not None
    assert error["frames"][-1][1] == len(body.splitlines())
