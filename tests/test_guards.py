"""The guard of a raise: what had to hold, from source and live frames, with the user's argument that it is about."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from explainer.api import explain
from explainer.grammar.guards import guard_at, installed, negated
from explainer.source import parsed_source

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("condition", "opposite"),
    [
        ("not 0.0 <= lr", "0.0 <= lr"), ("lr < 0", "lr >= 0"), ("a and not b", "not a or b"),
        ("x is None", "x is not None"),
        ("a == 1 or b in c", "a != 1 and b not in c"), ("isinstance(x, int)", "not isinstance(x, int)"),
        ("0 < a < 1", "not 0 < a < 1"),
    ],
)  # fmt: skip
def test_a_condition_is_turned_into_what_must_hold(condition, opposite):
    assert ast.unparse(negated(ast.parse(condition, mode="eval").body)) == opposite


SOURCE = """
class Frob:
    def __init__(self, lr, mode):
        if isinstance(lr, str):
            if mode == "fast":
                raise TypeError("one")
        elif lr < 0:
            raise ValueError("two")
        else:
            assert lr != 3, "three"
        for one in range(3):
            raise KeyError("four")
        torch._check(lr.dim() == 2, lambda: "five")


def frob(x):
    if x in (1, 2):
        return x
    else:
        raise ValueError("six")
"""


@pytest.mark.parametrize(
    ("line", "where", "requirement"),
    [
        (6, "Frob", "not isinstance(lr, str) or mode != 'fast'"), (8, "Frob", "lr >= 0"), (10, "Frob", "lr != 3"),
        (12, None, None), (13, "Frob", "lr.dim() == 2"), (20, "frob", "x in (1, 2)"),
    ],
)  # fmt: skip
def test_the_guard_of_a_line(line, where, requirement):
    found = guard_at(parsed_source("frob.py", SOURCE), line)
    assert (found and found.where, found and found.text) == (where, requirement)


def told(call):
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - whatever it says
        call()
    found = explain(raised.value, replay=False).to_dict()["reports"][0]["diagnoses"]
    return found[0] if found else None


def decays():
    decay = -0.1
    torch.optim.AdamW([torch.zeros(2, requires_grad=True)], weight_decay=decay)


def own_check():
    def frob(x, size):
        if x.shape[1] != size:
            raise ValueError("no frobs today")

    frob(torch.zeros(3, 4), 5)


def no_tensors():
    apples = 3
    if apples > 2:
        raise ValueError("too many apples")


def test_values_of_live_frames_and_the_argument_that_gave_them():
    diagnosis = told(decays)
    assert "`0.0 <= weight_decay` holds. Here `weight_decay` = -0.1" in diagnosis["cause"]
    assert diagnosis["culprit"]["code"] == "decay"


def test_a_check_of_the_users_own_is_told_where_it_is_about_tensors():
    diagnosis = told(own_check)
    assert diagnosis["headline"] == "`frob` needs `x.shape[1] == size`, but `x.shape[1]` = 4, `size` = 5"
    assert diagnosis["family"] == "shape"
    assert told(no_tensors) is None


def test_a_paste_is_read_beside_the_torch_that_is_installed():
    code = 'raise ValueError(f"Invalid epsilon value: {eps}")'
    lines = (Path(torch.__file__).parent / "optim" / "adam.py").read_text("utf-8").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.strip() == code)
    pasted = (
        'Traceback (most recent call last):\n  File "t.py", line 3, in <module>\n    Adam(p, eps=-1)\n'
        f'  File "/elsewhere/site-packages/torch/optim/adam.py", line {line}, in __init__\n    {code}\n'
        "ValueError: Invalid epsilon value: -1\n"
    )
    moved = pasted.replace(f"line {line},", f"line {line + 1},")
    assert "raises unless `0.0 <= eps` holds" in explain(pasted).reports[0].diagnoses[0].cause
    assert "raises unless" not in explain(moved).reports[0].diagnoses[0].cause
    assert installed("/x/torch/../../etc/passwd", 1, "root") is None
    assert installed("/x/torch/optim/adam.py", line, "") is None
