"""Edits of what a graph is made of: slices in lists, values computed where they are read, contexts of Functions."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import pytest

from explainer.edits import EditError, applied
from explainer.edits.candidates import edit
from explainer.edits.place import Place
from explainer.source import Source


def after(kind: str, code: str, at: str, before: str = "", **values: object) -> str:
    """The code with one edit at the first node of a text."""
    file = Source("net.py", tuple(code.split("\n")), ast.parse(code))
    nodes = [one for one in file.nodes() if isinstance(one, (ast.expr, ast.stmt)) and not isinstance(one, ast.Expr)]
    places = {
        name: next(one for one in nodes if file.text(one) == text)
        for name, text in (("at", at), ("before", before))
        if text
    }
    given = {name: Place(file, node) for name, node in places.items()}
    return applied(code, edit(SimpleNamespace(source=lambda _: file), kind, **given, **values))


def test_slices_of_a_parameter_are_taken_apart_before_the_loop() -> None:
    """What no call above the loop makes is unbound just before it; `+=` becomes an assignment to the list."""
    code = "def f(z, g):\n    for t in range(3):\n        z[:, t] += g(t)\n    return z"
    wanted = (
        "def f(z, g):\n    z = list(z.unbind(1))\n    for t in range(3):\n        z[t] = z[t] + (g(t))\n"
        "    z = torch.stack(z, dim=1)\n    return z"
    )
    assert after("list-of-slices", code, "z[:, t] += g(t)", target="z") == wanted


@pytest.mark.parametrize(
    "read",
    ["z[t - 2 : t].sum(0)", "z.mean(0)", "z[t - 1, 0]", "z[t > 1]"],
    ids=["a range", "the whole", "two numbers", "a mask"],
)
def test_a_tensor_that_the_loop_reads_otherwise_stays_a_tensor(read: str) -> None:
    code = f"z = torch.zeros(4, 2)\nfor t in range(2, 4):\n    z[t] = net({read})"
    with pytest.raises(EditError):
        after("list-of-slices", code, f"z[t] = net({read})", target="z")


def test_all_that_the_loop_reads_of_a_tensor_is_copied_and_what_it_writes_is_not() -> None:
    code = "for i in range(3):\n    z[i] = z[i] * net(z)\nprint(z[0])"
    wanted = "for i in range(3):\n    z[i] = z[i].clone() * net(z.clone())\nprint(z[0])"
    assert after("copy-reads", code, "z[i] = z[i] * net(z)", target="z") == wanted


ONCE = """class T:
    def __init__(self, net, x):
        self.h = net(x)

    def step(self):
        return self.h + 1"""


def test_a_value_of_the_constructor_is_computed_where_it_is_read() -> None:
    """Parameters that no attribute held are kept in its place."""
    wanted = (
        "class T:\n    def __init__(self, net, x):\n        self.net = net\n        self.x = x\n\n"
        "    def step(self):\n        h = self.net(self.x)\n        return h + 1"
    )
    given: dict[str, Any] = {"read": "self.h", "value": "self.net(self.x)", "keep": ("net", "x")}
    assert after("compute-where-read", ONCE, "self.h = net(x)", **given) == wanted


def test_a_value_that_others_read_stays_in_the_constructor() -> None:
    code = f"{ONCE}\n\nt = T(net, x)\nprint(t.h)"
    with pytest.raises(EditError):
        after("compute-where-read", code, "self.h = net(x)", read="self.h", value="self.net(self.x)")


def test_numbers_are_kept_on_the_context_and_the_rest_is_counted_anew() -> None:
    code = (
        "class F(Function):\n    def forward(ctx, k, x):\n        ctx.save_for_backward(k, x)\n        return k * x\n\n"
        "    def backward(c, g):\n        return None, g * c.saved_tensors[0] * c.saved_tensors[1]"
    )
    wanted = (
        "class F(Function):\n    def forward(ctx, k, x):\n        ctx.save_for_backward(x)\n        ctx.k = k\n"
        "        return k * x\n\n"
        "    def backward(c, g):\n        return None, g * c.k * c.saved_tensors[0]"
    )
    assert after("keep-on-context", code, "ctx.save_for_backward(k, x)", plain=(0,)) == wanted


def test_saved_values_that_are_read_by_a_variable_are_left_alone() -> None:
    code = (
        "class F(Function):\n    def forward(ctx, k, x):\n        ctx.save_for_backward(k, x)\n        return k * x\n\n"
        "    def backward(c, g):\n        return [g * c.saved_tensors[i] for i in range(2)]"
    )
    with pytest.raises(EditError):
        after("keep-on-context", code, "ctx.save_for_backward(k, x)", plain=(0,))


def test_slices_that_are_cut_above_the_call_stay_there() -> None:
    code = "a, b = p[:, :1], p[:, 1:]\nu = net(q)"
    wanted = "a, b = p[:, :1], p[:, 1:]\nu = net(torch.cat([a, b], dim=1))"
    assert after("feed-pieces", code, "q", before="a, b = p[:, :1], p[:, 1:]", to="torch.cat([a, b], dim=1)") == wanted


@pytest.mark.parametrize("code", ["def f(kept, x):\n    kept.mul_(x)", "def f(kept, x):\n    kept += x"])
def test_what_a_caller_gives_is_not_bound_anew_in_vain(code: str) -> None:
    """Protects the effect of a write: a parameter bound anew leaves the caller's value as it was."""
    at = "kept.mul_(x)" if "mul_" in code else "kept += x"
    with pytest.raises(EditError):
        after("out-of-place", code, at)
    assert "kept = kept" in after("out-of-place", f"{code}\n    return kept", at)
