"""Children whose optimizers leave torch's compiler alone: importing it takes seconds, and they only ask it to stay out.

An optimizer imports `torch._dynamo` when it is made and when it steps (torch 2.13), so that it is not compiled.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any


def without_compiler() -> None:
    """In a child: torch's optimizers do what they do outside of compiled code. All else may still be compiled."""
    torch: Any = sys.modules["torch"]
    if "torch._dynamo" in sys.modules:
        return
    for method in vars(torch.optim.Optimizer).values():
        plain = getattr(method, "__wrapped__", None)
        if plain is not None:
            plain.__dynamo_disable = plain  # what `torch._compile` remembers to call, once it has asked the compiler
    for kind in vars(torch.optim).values():
        step = vars(kind).get("step") if isinstance(kind, type) else None
        if getattr(getattr(step, "__code__", None), "co_name", "") == "_use_grad":
            kind.step = _stepping(step.__wrapped__)  # type: ignore[attr-defined, union-attr]


def _stepping(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step under the grad mode that its optimizer asks for, as `torch.optim` wraps it."""

    @functools.wraps(step)
    def stepping(self: Any, *args: Any, **kwargs: Any) -> Any:
        with sys.modules["torch"].set_grad_enabled(self.defaults["differentiable"]):
            return step(self, *args, **kwargs)

    return stepping


def compiles() -> bool:
    """Whether this process has compiled anything; optimizers import the compiler in any case."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})
    return bool(counters.get("frames"))
