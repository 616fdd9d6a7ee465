"""The sieve on small programs that crash: which edits get past the failing call, told without running them again."""

from __future__ import annotations

import pytest

from explainer.replay.sieve import MOVED, OTHER, PASSES, SAME, UNKNOWN, Sieve

torch = pytest.importorskip("torch")

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width, hidden=8):
        super().__init__()
        self.first = nn.Linear(width, hidden)
        self.second = nn.Linear(hidden + 1, 2)

    def forward(self, x):
        h = self.first(x)
        return self.second(h)


net = Net(4)
x = torch.zeros(3, 4)
out = net(x)
"""


def fates(tmp_path, *changes, program=PROGRAM, enough=99):
    """How edits of single lines fare: each is a line's number and its new text."""
    return tried(tmp_path, [[_edit(n, text)] for n, text in changes], program, enough)


def _edit(line, text):
    return {"file": "main.py", "start": line, "end": line, "after": text}


def tried(tmp_path, changes, program=PROGRAM, enough=99):
    """How rows of edits fare."""
    path = tmp_path / "main.py"
    path.write_text(program)
    sieve = Sieve(str(tmp_path), changes, enough, 60.0)
    space = _module(path)
    try:
        exec(compile(program, str(path), "exec"), space.__dict__)
    except Exception as error:
        return sieve.taken(error)
    raise AssertionError("the program was to fail")


def _module(path):
    import sys
    import types

    module = types.ModuleType("sieved_main")
    module.__file__ = str(path)
    sys.modules["sieved_main"] = module
    return module


@pytest.fixture(autouse=True)
def _plain_modules():
    """What the sieve wraps is as it was afterwards."""
    import sys

    before = torch.nn.Module.__init__
    yield
    torch.nn.Module.__init__ = before
    sys.modules.pop("sieved_main", None)


def test_edits_of_a_forward_and_of_a_constructor_are_told_apart(tmp_path):
    found = fates(
        tmp_path,
        (9, "        self.second = nn.Linear(hidden, 2)"),  # built anew, it fits
        (13, "        return self.second(torch.cat([h, h[:, :1]], 1))"),
        (13, "        return self.second(h.t())"),  # fails there as well
        (12, "        h = self.first(x.long())"),  # fails elsewhere
        (17, "x = torch.zeros(3, 5)"),  # outside of the layer: from there to the call
        (6, "    def __init__(self, width, hidden=9):"),  # a default
    )
    assert found == [PASSES, PASSES, SAME, OTHER, SAME, SAME]


def test_statements_of_the_failing_block_are_executed_again(tmp_path):
    program = "import torch\na = torch.zeros(2, 3)\nb = torch.zeros(2, 4)\nc = a + b\n"
    found = fates(
        tmp_path,
        (2, "a = torch.zeros(2, 4)"),
        (4, "c = a @ b"),
        (4, "c = a.t() @ b"),
        program=program,
    )
    assert found == [PASSES, SAME, PASSES]


def test_it_ends_when_enough_have_got_past_the_call(tmp_path):
    many = [(9, f"        self.second = nn.Linear(hidden, {n + 2})") for n in range(80)]
    assert len(fates(tmp_path, *many, enough=2)) == 30


def test_functions_are_as_before_afterwards(tmp_path):
    fates(tmp_path, (13, "        return h"))
    import sys

    net = sys.modules["sieved_main"].Net(4)
    with pytest.raises(RuntimeError):
        net(torch.zeros(3, 4))


SCRIPT = """\
import torch


class Config:
    width = 4


def made(n):
    rows = torch.ones(n, 3)
    return rows


def scaled(x, weights):
    x = x * 2
    for _ in range(2):
        out = x @ weights
        kept = out.sum()
    return kept


def step(k):
    data = made(k)
    weights = torch.ones(4, 2)
    return scaled(data, weights)


total = 0
for k in range(3):
    total = total + step(k + 1)
"""


def test_statements_run_again_in_every_frame_and_in_functions_that_have_ended(tmp_path):
    found = fates(
        tmp_path,
        (9, "    rows = torch.ones(n, 4)"),  # a function that has ended: from where it was entered
        (10, "    return rows.t()"),
        (22, "    data = made(k)[:, :1]"),
        (23, "    weights = torch.ones(3, 2)"),  # an outer frame
        (16, "        out = x[:, :1] @ weights[:1]"),  # within the loop
        (16, "        out = x.missing"),
        (17, "        kept = None"),  # behind what failed
        (14, "    x = x @ torch.ones(3, 4)"),  # reads what it binds: what it had been is gone
        (5, "    width = 3"),  # nothing reads it
        program=SCRIPT,
    )
    assert found == [PASSES, SAME, SAME, PASSES, PASSES, OTHER, SAME, PASSES, SAME]


def test_what_has_changed_its_objects_already_is_not_told(tmp_path):
    program = "import torch\nrows = []\nrows.append(torch.ones(3))\nif len(rows) == 1:\n    rows[0] @ torch.ones(4)\n"
    assert fates(tmp_path, (3, "rows.append(torch.ones(4))"), program=program) == [UNKNOWN]


def test_what_earlier_turns_have_put_into_a_list_is_not_told(tmp_path):
    program = "import torch\nrows = []\nfor k in range(2):\n    rows.append((torch.ones(3), 1))\ntorch.cat(rows)\n"
    assert fates(tmp_path, (4, "    rows.append(torch.ones(3))"), program=program) == [UNKNOWN]


def test_a_module_is_as_before_afterwards(tmp_path):
    program = "import torch\na = torch.zeros(2, 3)\nb = torch.zeros(2, 4)\nc = a + b\n"
    fates(tmp_path, (2, "a = new = torch.zeros(2, 4)"), program=program)
    import sys

    names = vars(sys.modules["sieved_main"])
    assert names["a"].shape == (2, 3)
    assert not {"new", "Past"} & set(names)


def test_a_jump_of_the_loop_around_leaves_what_failed_behind(tmp_path):
    program = """\
import torch
for n in range(3):
    rows = torch.ones(n, 3)
    if n > 5:
        continue
    out = rows @ rows
"""
    found = fates(
        tmp_path,
        (3, "    rows = torch.ones(3, 3)"),
        (3, "    rows = torch.ones(n, 2)"),
        (4, "    if n >= 0:"),  # never gets to what failed
        program=program,
    )
    assert found == [PASSES, SAME, PASSES]


def test_what_fails_before_the_failing_line_was_reached_has_not_moved_on(tmp_path):
    program = """\
import torch
def made(width):
    return torch.ones(2, 3) @ torch.ones(3, width)
def met(a, b):
    return a + b
a = made(3)
b = met(a, torch.ones(2, 4))
"""
    found = fates(
        tmp_path,
        (3, "    return torch.ones(2, 3) @ torch.ones(4, width)"),  # fails in `made`, above
        (3, "    return torch.ones(2, 3) @ torch.ones(3, 4)"),
        program=program,
    )
    assert found == [OTHER, PASSES]


def test_what_was_called_twice_runs_again_from_where_that_can_be_told(tmp_path):
    program = """\
import torch
def worth(x):
    return x.sum(-1, keepdim=True)
def lived(x):
    worth(x)
    return x + 1
def run(x):
    x = lived(x)
    values = worth(x)
    return torch.cat([values, torch.ones(3)])
run(torch.ones(3, 2))
"""
    assert fates(tmp_path, (3, "    return x.sum(-1)"), program=program) == [PASSES]


def test_edits_of_one_function_and_imports_beside_them_are_tried_together(tmp_path):
    sieve = [
        [_edit(9, "        self.second = nn.Linear(width, 2)"), _edit(12, "        h = self.first(x)[:, :4]")],
        [_edit(9, "        self.second = nn.Linear(hidden, 2)"), {**_edit(1, "import math"), "end": 0}],
        [_edit(9, "        self.second = nn.Linear(hidden, math.ceil(1.5))"), {**_edit(1, "import math"), "end": 0}],
    ]
    assert tried(tmp_path, sieve) == [PASSES, PASSES, PASSES]


PAIR = """\
import torch
import torch.nn.functional as F


def both(a, b):
    return F.one_hot(a, 3).sum() + F.one_hot(b, 4).sum()


def run(shift):
    a = torch.tensor([1, 2]) + shift
    b = torch.tensor([2, 3]) + shift
    return both(a, b)


run(1)
"""


def test_a_failure_further_on_in_the_same_line_has_moved(tmp_path):
    first = (10, "    a = torch.tensor([1, 2])")
    assert fates(tmp_path, first, (11, "    b = torch.tensor([2, 3])"), program=PAIR) == [MOVED, SAME]


def test_an_edit_that_takes_many_times_the_memory_ends_at_once(tmp_path):
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    assert fates(tmp_path, (12, "        h = self.first(x) + torch.zeros(1 << 30)[0]")) == [OTHER]
    assert resource.getrlimit(resource.RLIMIT_AS) == before


CACHED = """\
import torch
from torch import nn


class Cache:
    keys = None

    def put(self, x):
        self.keys = x if self.keys is None else torch.cat([self.keys, x])
        return self.keys


class Net(nn.Module):
    def forward(self, x, cache):
        bias = torch.zeros(len(x))
        return (x @ cache.put(x).t()) + bias


net, cache = Net(), Cache()
net(torch.zeros(6, 4), cache)
net(torch.zeros(3, 4), cache)
"""


def test_what_a_failed_call_has_put_into_a_cache_leaves_edits_untold(tmp_path):
    """Called again it finds twelve keys, and not nine: the right edit, and one that is wrong, would fail alike."""
    right = (15, "        bias = torch.zeros(9)")
    assert fates(tmp_path, right, (15, "        bias = torch.zeros(2)"), program=CACHED) == [UNKNOWN, UNKNOWN]
    first = CACHED.replace("net(torch.zeros(6, 4), cache)\n", "").replace("cache.put(x).t()", "torch.ones(9, 4).t()")
    assert fates(tmp_path, right, program=first) == [PASSES]


EXCHANGED = """\
import torch
from torch import nn


class Beside(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.more = nn.Parameter(torch.zeros(base.in_features, base.in_features))

    def forward(self, x):
        return self.base(x) + x @ self.more


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.wide = nn.Linear(width, 2 * width)

    def forward(self, x):
        return self.wide(x)


def exchanged(net):
    for name, layer in list(net.named_children()):
        if isinstance(layer, nn.Linear):
            setattr(net, name, Beside(layer))
    return net


net = exchanged(Net(4))
net(torch.zeros(3, 4))
"""


def test_a_model_whose_layers_were_exchanged_is_not_built_anew(tmp_path):
    """Built anew it has its own layers, and any edit would get past what failed."""
    wider = (18, "        self.wide = nn.Linear(width, 3 * width)")
    right = (9, "        self.more = nn.Parameter(torch.zeros(base.in_features, base.out_features))")
    assert PASSES not in fates(tmp_path, wider, program=EXCHANGED)
    assert fates(tmp_path, right, program=EXCHANGED) != [SAME]  # nothing is exchanged again, so that it never runs
