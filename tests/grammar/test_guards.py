"""The guard of a raise: what had to hold, from source and live frames, with the user's argument that it is about."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from explainer.api import explain
from explainer.grammar.conditions import worded
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


def kinds(x):
    if x == 1:
        return 1
    elif isinstance(x, str):
        return 2
    else:
        raise ValueError("seven")
"""


@pytest.mark.parametrize(
    ("line", "where", "requirement"),
    [
        (6, "Frob", "not isinstance(lr, str) or mode != 'fast'"), (8, "Frob", "lr >= 0"), (10, "Frob", "lr != 3"),
        (12, None, None), (13, "Frob", "lr.dim() == 2"), (20, "frob", "x in (1, 2)"),
        (29, "kinds", "x == 1 or isinstance(x, str)"),
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


class Halves(torch.nn.Module):
    def __init__(self, depth):
        super().__init__()
        if depth % 2 != 0:
            raise ValueError("no")


def test_a_check_of_plain_numbers_is_told_where_a_class_of_torchs_makes_it():
    diagnosis = told(lambda: Halves(3))
    assert diagnosis["headline"] == "`Halves` needs `depth % 2 == 0`, but `depth` = 3"
    assert diagnosis["culprit"]["code"] == "3"


@pytest.mark.parametrize(
    ("condition", "english", "korean", "chinese"),
    [
        ("0 < n", "`n > 0`", "`n > 0`", "`n > 0`"),
        ("isinstance(n, (int, E))", "`n` of type `int` or `E`", "`int` 또는 `E` 형의 `n`", "`int` 或 `E` 类型的 `n`"),
        ("not callable(f)", "`f` that is not callable", "호출할 수 없는 `f`", "不可调用的 `f`"),
        ("m in ('a', 'b')", "`m` to be one of `'a', 'b'`", "`'a', 'b'` 중 하나인 `m`", "`m` 取 `'a', 'b'` 之一"),
        ("m == 1 or m == 2", "`m` to be one of `1, 2`", "`1, 2` 중 하나인 `m`", "`m` 取 `1, 2` 之一"),
        ("a < 1 and b == 3", "`a < 1` and `b == 3`", "`a < 1` 그리고 `b == 3`", "`a < 1` 且 `b == 3`"),
    ],
)  # fmt: skip
def test_a_condition_in_words(condition, english, korean, chinese):
    node = ast.parse(condition, mode="eval").body
    assert [worded(node, language) for language in ("en", "ko", "zh")] == [english, korean, chinese]


def own_check():
    def frob(x, size):
        if x.shape[1] != size:
            raise ValueError("no frobs today")

    frob(torch.zeros(3, 4), 5)


def check_of_two_things():
    def frob(x, size):
        if x.shape[1] != size or x.dtype not in (torch.float32, torch.float16):
            raise ValueError("no frobs today")

    frob(torch.zeros(3, 4), 5)


def no_tensors():
    apples = 3
    if apples > 2:
        raise ValueError("too many apples")


def test_values_of_live_frames_and_the_argument_that_gave_them():
    diagnosis = told(decays)
    assert "`0.0 <= weight_decay` holds. Here `weight_decay` = -0.1" in diagnosis["cause"]
    assert diagnosis["headline"] == "`AdamW` needs `weight_decay >= 0.0`, but `weight_decay` = -0.1"
    assert diagnosis["culprit"]["code"] == "-0.1"
    assert [label["text"] for label in diagnosis["labels"]] == ["this is `weight_decay`"]
    assert "leaf" not in str(diagnosis["fixes"])  # what helps with another argument


def calls():
    """What raises in Python, with what it needs, and the code that gave it; `self.nonlinearity` was a keyword."""
    nn, data = torch.nn, torch.utils.data
    return [
        (lambda: nn.Dropout(1.4), "`Dropout` needs `p <= 1`, but `p` = 1.4", "1.4"),
        (lambda: data.DataLoader([1], batch_size=0), "`DataLoader` needs `batch_size > 0`, but `batch_size` = 0", "0"),
        (
            lambda: nn.RNN(3, 4, nonlinearity="gelu"),
            "`RNN` needs `self.nonlinearity` to be one of `'tanh', 'relu'`, but `self.nonlinearity` = 'gelu'",
            '"gelu"',
        ),
        (
            lambda: nn.functional.cross_entropy(torch.rand(2, 3), torch.tensor([0, 1]), reduction="average"),
            "`cross_entropy` needs `reduction` to be one of `'none', 'mean', 'elementwise_mean', 'sum'`, "
            "but `reduction` = 'average'",
            '"average"',
        ),
        (
            lambda: nn.init.xavier_uniform_(torch.zeros(2)),
            "`xavier_uniform_` needs `dimensions >= 2`, but `dimensions` = 1",
            None,
        ),
    ]


@pytest.mark.parametrize("number", range(5))
def test_only_what_did_not_hold_is_told_of_what_the_user_called(number):
    call, headline, given = calls()[number]
    diagnosis = told(call)
    assert diagnosis["headline"] == headline
    assert (diagnosis["culprit"] or {}).get("code") == given


def test_a_check_of_the_users_own_is_told_where_it_is_about_tensors():
    diagnosis = told(own_check)
    assert diagnosis["headline"] == "`frob` needs `x.shape[1] == size`, but `x.shape[1]` = 4, `size` = 5"
    assert diagnosis["family"] == "shape"
    assert told(no_tensors) is None


def test_a_dtype_among_those_that_may_be_is_known_to_hold():
    """It is neither told nor what the diagnosis is filed under."""
    diagnosis = told(check_of_two_things)
    assert diagnosis["headline"] == "`frob` needs `x.shape[1] == size`, but `x.shape[1]` = 4, `size` = 5"
    assert (diagnosis["rule"], diagnosis["family"]) == ("check-size-frob", "shape")


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
