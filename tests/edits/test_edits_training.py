"""Edits of training code: what updates by hand, steps in loops, logs and exponentials become."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import pytest

from explainer.catalogue import load
from explainer.crash import Frame, Raised
from explainer.edits import EditError, applied
from explainer.edits.candidates import edit
from explainer.edits.place import Place
from explainer.source import Source


def after(kind: str, code: str, *texts: str, **values: object) -> str:
    """The code with one edit; its places are the first nodes of these texts, all of them where it takes several."""
    file = Source("train.py", tuple(code.split("\n")), ast.parse(code))
    nodes = [one for one in file.nodes() if isinstance(one, (ast.expr, ast.stmt))]
    places = tuple(Place(file, next(one for one in nodes if file.text(one) == text)) for text in texts)
    at = {"each": places} if kind in ("update-in-place", "make-leaves") else {"at": places[0]}
    return applied(code, edit(SimpleNamespace(source=lambda _: file), kind, **at, **values))


@pytest.mark.parametrize(
    ("code", "exp", "wanted"),
    [
        ("y = x.exp().sum(dim=1).log()", "x.exp()", "y = torch.logsumexp(x, dim=1)"),
        ("y = torch.log(torch.exp(x - m).sum())", "torch.exp(x - m)", "y = torch.logsumexp((x - m).flatten(), 0)"),
        ("y = torch.log1p(z.exp())", "z.exp()", "y = torch.nn.functional.softplus(z)"),
        ("y = 1 / (1 + torch.exp(-a * b))", "torch.exp(-a * b)", "y = torch.sigmoid(-(-a * b))"),
        ("y = 1 / (1 + torch.exp(-z))", "torch.exp(-z)", "y = torch.sigmoid(z)"),
        ("e = z.exp()\ny = e / (1 + e)", "z.exp()", "y = torch.sigmoid(z)"),
    ],
)
def test_a_log_or_share_of_exponentials_is_left_to_torch(code: str, exp: str, wanted: str) -> None:
    """What torch computes without the overflow takes its place, and what nothing reads any more is dropped."""
    assert after("log-sum", code, exp) == wanted


def test_exponentials_that_are_used_otherwise_are_left_alone() -> None:
    with pytest.raises(EditError):
        after("log-sum", "s = torch.exp(a)\ny = (x * s).sum().log()", "torch.exp(a)")


def test_every_log_of_a_function_is_guarded_and_one_alone_is_not() -> None:
    code = "def f(p, y):\n    return y * p.log() + (1 - y) * (1 - p).log()"
    wanted = "def f(p, y):\n    return y * p.clamp(min=1e-8).log() + (1 - y) * (1 - p).clamp(min=1e-8).log()"
    assert after("guard-all", code, "p.log()", method="clamp(min=1e-8)") == wanted
    with pytest.raises(EditError):
        after("guard-all", "y = p.log()", "p.log()", method="clamp(min=1e-8)")


def test_updates_that_stand_together_are_made_in_place_in_one_block() -> None:
    """`w = w - a` becomes `w -= a`; a value of another form is copied into the old tensor."""
    code = "w = w - lr * w.grad\nb = (b - lr * b.grad).clamp(0)\nprint(w)"
    wanted = "with torch.no_grad():\n    w -= lr * w.grad\n    b.copy_((b - lr * b.grad).clamp(0))\nprint(w)"
    assert after("update-in-place", code, *code.split("\n")[:2]) == wanted


def test_updates_without_recording_need_no_block_of_their_own() -> None:
    code = "with torch.no_grad():\n    w = w - w.grad"
    assert after("update-in-place", code, "w = w - w.grad") == "with torch.no_grad():\n    w -= w.grad"


def test_updates_apart_from_each_other_are_not_joined() -> None:
    with pytest.raises(EditError):
        after("update-in-place", "w = w - w.grad\nf()\nb = b - b.grad", "w = w - w.grad", "b = b - b.grad")


def test_a_result_is_made_a_leaf_again() -> None:
    assert after("make-leaves", "x = x - x.grad", "x - x.grad") == "x = (x - x.grad).detach().requires_grad_()"


def test_steps_of_a_loop_get_a_loop_of_their_own_with_gradients_cleared_before() -> None:
    code = "for k, loss in losses:\n    opts[k].zero_grad()\n    loss.backward()\n    opts[k].step()\ndone()"
    wanted = (
        "for k, loss in losses:\n    opts[k].zero_grad()\nfor k, loss in losses:\n    loss.backward()\n"
        "for k, loss in losses:\n    opts[k].step()\ndone()"
    )
    assert after("split-loop", code, "opts[k].step()") == wanted


def test_a_step_that_is_the_same_in_each_pass_is_not_split_off() -> None:
    with pytest.raises(EditError):
        after("split-loop", "for loss in losses:\n    loss.backward()\n    opt.step()", "opt.step()")


@pytest.mark.parametrize(("line", "known"), [("x = lr * w.grad", True), ("x = lr * self.grad_scale", False)])
def test_an_operand_that_is_none_is_a_gradient_where_the_line_reads_one(line: str, known: bool) -> None:
    """`.grad` at the end of a name counts, not at the beginning of a longer one."""
    said = "unsupported operand type(s) for *: 'float' and 'NoneType'"
    error = Raised("TypeError", said, (Frame("train.py", 3, code=line, user=True),))
    match = load().match(error)
    assert (match is not None and match.symptom.id == "gradient-is-none") is known
