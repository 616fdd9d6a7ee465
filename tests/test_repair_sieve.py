"""The sieve on small programs that crash: which edits get past the failing call, told without running them again."""

from __future__ import annotations

import pytest

from explainer.replay.sieve import OTHER, PASSES, SAME, UNKNOWN, Sieve

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
    path = tmp_path / "main.py"
    path.write_text(program)
    sieve = Sieve(
        str(tmp_path), [[{"file": "main.py", "start": n, "end": n, "after": text}] for n, text in changes], enough, 60.0
    )
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
        (17, "x = torch.zeros(3, 5)"),  # outside of what is called again
    )
    assert found == [PASSES, PASSES, SAME, OTHER, UNKNOWN]


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
    assert len(fates(tmp_path, *many, enough=2)) == 60


def test_functions_are_as_before_afterwards(tmp_path):
    fates(tmp_path, (13, "        return h"))
    import sys

    net = sys.modules["sieved_main"].Net(4)
    with pytest.raises(RuntimeError):
        net(torch.zeros(3, 4))
