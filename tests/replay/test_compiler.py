"""The stand-in for torch's compiler in children: what it answers itself, and when the compiler takes its place."""

from __future__ import annotations

import subprocess
import sys

import pytest

_BEFORE = """
import sys, torch
from explainer.replay.confine.compiler import compiles, without_compiler
without_compiler()
weight = torch.nn.Parameter(torch.ones(3))
"""


def _printed(code: str) -> list[str]:
    run = subprocess.run([sys.executable, "-c", _BEFORE + code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def test_an_optimizer_steps_without_the_compiler():
    """Importing the compiler takes longer than all else that a trial does."""
    code = """
for kind in (torch.optim.Adam, torch.optim.SGD, torch.optim.RMSprop):
    weight = torch.nn.Parameter(torch.ones(3))
    steps = kind([weight], lr=0.5)
    (2 * weight).sum().backward()
    steps.step()
    steps.load_state_dict(steps.state_dict())
    print(weight.grad.tolist()[0], bool(weight[0] < 1), weight.is_leaf, "torch._inductor" in sys.modules, compiles())
"""
    assert _printed(code) == ["2.0", "True", "True", "False", "False"] * 3


def test_a_step_keeps_the_grad_mode_that_its_optimizer_asks_for():
    """A closure of the program's turns gradients on; the step itself has none unless it is differentiable."""
    code = """
class Seen(torch.optim.SGD):
    pass

modes = []
steps = Seen([weight], lr=0.5)
steps.step(lambda: modes.append(torch.is_grad_enabled()) or (2 * weight).sum())
print(modes[0], torch.is_grad_enabled(), weight.requires_grad)
"""
    assert _printed(code) == ["True", "True", "True"]


def test_operations_without_data_run_without_the_compiler():
    """Programs whose tensors are on meta are run again as well."""
    code = """
made = torch.nn.Linear(3, 2, device="meta")(torch.ones(4, 3, device="meta")).softmax(-1)
made.sum().backward()
print(tuple(made.shape) == (4, 2), "torch._inductor" in sys.modules)
"""
    assert _printed(code) == ["True", "False"]


def test_compiled_functions_are_compiled():
    """`torch.compile` in a child works as outside, and counts as the compiler's work."""
    code = """
print(torch.compile(lambda value: value + 1, backend="eager")(torch.ones(1)).item(), compiles())
"""
    assert _printed(code) == ["2.0", "True"]


@pytest.mark.parametrize("asked", ["torch._dynamo.optimize", "__import__('torch._inductor.utils')"])
def test_what_only_the_compiler_knows_is_asked_of_it(asked):
    """A program that asks more of the compiler must run in a child as it does outside: also profilers and exports.

    These import one part of it alone, which met the stand-in half way.
    """
    code = f"""
found = {asked}
print(torch._dynamo is sys.modules["torch._dynamo"], torch._dynamo.__spec__.name)
"""
    assert _printed(code) == ["True", "torch._dynamo"]
