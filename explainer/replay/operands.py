"""Operands of the failing call that have no name, such as `self.conv(x)`: computed once more in a sandboxed child."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from explainer.replay import run

if TYPE_CHECKING:
    from explainer.probes.scene import Scene

#: No operand is worth more seconds: its shape illustrates what the message says.
LONGEST = 0.4


def computed(scene: Scene, nodes: Sequence[ast.AST]) -> list[dict[str, Any] | None]:
    """Of each expression its `shape`, `dtype`, `device` and `requires_grad` in the failing frame; None of no tensor.

    All are None where nothing may be run again, or takes too long.
    """
    frame = scene.user_frame
    if frame is None or run.why_not(scene) is not None:
        return [None] * len(nodes)
    work = lambda: [_described(node, frame.frame) for node in nodes]  # noqa: E731
    return run.sandboxed(scene, work, LONGEST) or [None] * len(nodes)


def _described(node: ast.AST, frame: Any) -> dict[str, Any] | None:
    """In the child: what an expression makes, as plain data."""
    import torch

    try:
        code = compile(ast.Expression(node), "<operand>", "eval")  # type: ignore[arg-type]
        value = eval(code, frame.f_globals, frame.f_locals)
    except Exception:
        return None
    if not isinstance(value, torch.Tensor):
        return None
    return {"shape": list(value.shape), "dtype": str(value.dtype).removeprefix("torch."), "device": str(value.device),
            "requires_grad": value.requires_grad}  # fmt: skip
