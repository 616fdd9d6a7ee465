"""Tensors left on another device that no name holds: what a call gave, and all that one model left behind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from explainer.facts import Settings, SpanFact, TensorFact
from explainer.probes import probe
from explainer.probes.device import _assignment, _home, _owners
from explainer.probes.module import root_module
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, fields_of, is_tensor, read

_DEVICE = re.compile(r"\b(cpu|meta|(?:cuda|xpu|mps|hpu)(?::\d+)?)\b")


@probe
def left_behind(scene: Scene, of: TensorFact | None = None) -> tuple[SpanFact, ...] | None:
    """Every `self.name = tensor` of the model's modules whose tensor stayed where `of` is; None for fewer than two."""
    root = root_module(scene)
    if root is None or of is None:
        return None
    found = [_assignment(owner, name, "attribute", path) for owner, path, name in _plain(root, scene, of.device)]
    every = tuple({one.span: one for one in found if one is not None and one.detail["times"] == 1}.values())
    return every if len(every) > 1 else None


def _plain(root: Any, scene: Scene, device: str) -> Iterator[tuple[Any, str, str]]:
    for owner, path in _owners(root, scene):
        for name, value in fields_of(owner).items():
            if is_tensor(value) and str(value.device) == device and not value.requires_grad:
                yield owner, path, name


@probe
def foreign_result(scene: Scene) -> SpanFact | None:
    """The call among the failing expression's operands that must have given the tensor on the other device.

    All other operands are tensors at hand and lie where the model does. `detail.device` is the other device, as the
    message has it, `other` the name of an operand at hand, `home` its device, `function` what was called.
    """
    frame, failing, home = scene.user_frame, scene.failing, _home(scene)
    if frame is None or failing is None or home is None:
        return None
    parts = _operands(failing.node)
    values = [(part, read(part, frame.frame)) for part in parts]
    near = [part for part, value in values if is_tensor(value) and str(value.device) == home]
    unknown = [part for part, value in values if value is MISSING and isinstance(part, (ast.Call, ast.Subscript))]
    device = next((one for one in _DEVICE.findall(scene.crash.message) if one != home), None)
    named = any(is_tensor(value) and str(value.device) != home for _, value in values)
    if len(unknown) != 1 or not near or device is None or named:
        return None
    text, source = failing.source.text, failing.source
    called = unknown[0].func if isinstance(unknown[0], ast.Call) else unknown[0].value
    detail = (("device", device), ("other", text(near[0])), ("home", home), ("function", text(called)))
    return SpanFact(source.span(unknown[0]), text(unknown[0]), Settings(detail))


def _operands(node: ast.AST) -> list[ast.expr]:
    """An operator's operands, or a call's receiver and arguments."""
    if isinstance(node, ast.Assign):
        node = node.value
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Call):
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return [*owner, *node.args, *(word.value for word in node.keywords)]
    return []
