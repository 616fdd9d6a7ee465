"""Gradients that are read where no backward has run: it stands further down, nowhere, or `autograd.grad` gave them."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.autograd.graph import named_modules
from explainer.probes.files import calls_named
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import is_tensor
from explainer.source import Source, called, holds


@probe
def read_early(scene: Scene) -> SpanFact | None:
    """The statement that reads a gradient that is None, where no tensor in sight has one yet.

    `detail.gradient` is what it reads: `p.grad`.
    """
    found = _statement(scene)
    if found is None or _graded(scene):
        return None
    source, statement, _ = found
    reads = [one for one in ast.walk(statement) if isinstance(one, ast.Attribute) and one.attr == "grad"]
    return span_fact(source, statement, gradient=source.text(reads[0])) if reads else None


@probe
def backward_below(scene: Scene) -> SpanFact | None:
    """The first statement below the failing one, in the same block, that calls `backward()`."""
    found = _statement(scene)
    if found is None:
        return None
    source, statement, body = found
    below = [one for one in body if one.lineno > statement.lineno and _goes_back(one)]
    return span_fact(source, below[0]) if below else None


@probe
def loss_without_backward(scene: Scene) -> SpanFact | None:
    """The statement that computes the one loss of the failing function, where the program calls no backward at all.

    `detail.name` is the loss's name.
    """
    found, frame = _statement(scene), _frame(scene)
    if found is None or frame is None or calls_named(scene, "backward", "grad"):
        return None
    losses = [
        name
        for name, value in frame.locals.items()
        if is_tensor(value) and value.requires_grad and not value.is_leaf and value.numel() == 1
    ]
    source, statement, _ = found
    scope = source.scope_at(statement.lineno)
    above = [one for one in ast.walk(scope) if isinstance(one, ast.Assign)] if scope is not None else []
    for one in sorted(above, key=lambda one: -one.lineno):
        target = one.targets[0]
        if one.lineno < statement.lineno and isinstance(target, ast.Name) and target.id in losses:
            return span_fact(source, one, name=target.id)
    return None


@probe
def returned_gradients(scene: Scene) -> SpanFact | None:
    """The statement that takes what `autograd.grad` returns, where the failing one reads `.grad` all the same.

    `detail`: the `loss` that the gradients are of, the `name` that they are given.
    """
    found = _statement(scene)
    calls = calls_named(scene, "grad")
    if found is None or len(calls) != 1 or calls_named(scene, "backward"):
        return None
    source, call = calls[0]
    statement = source.statement_at(call.lineno)
    if not isinstance(statement, ast.Assign) or statement.value is not call or not call.args:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return None
    return span_fact(source, statement, loss=source.text(call.args[0]), name=target.id)


@probe
def gradient_loop(scene: Scene) -> SpanFact | None:
    """The `for` loop over parameters in which the failing expression reads the gradient."""
    frame, failing = _frame(scene), scene.failing
    if frame is None or failing is None:
        return None
    loops = [one for one in failing.source.nodes() if isinstance(one, ast.For) and holds(one, frame.line)]
    named = [one for one in loops if isinstance(one.target, ast.Name)]
    return span_fact(failing.source, named[-1]) if named else None


def _frame(scene: Scene) -> LiveFrame | None:
    """The user's innermost frame that is no comprehension's."""
    frames = [one for one in (scene.live.user if scene.live is not None else []) if not _inner(one)]
    return frames[-1] if frames else None


def _inner(frame: LiveFrame) -> bool:
    return frame.frame.f_code.co_name in ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")


def _statement(scene: Scene) -> tuple[Source, Any, list[ast.stmt]] | None:
    """The failing statement, a loop over parameters taken whole, and the block that it stands in."""
    frame, failing = _frame(scene), scene.failing
    if frame is None or failing is None or ".grad" not in failing.source.line(frame.line):
        return None
    source = failing.source
    blocks = [getattr(node, "body", None) for node in source.nodes()]
    for body in (one for one in blocks if isinstance(one, list)):
        for statement in body:
            if holds(statement, frame.line) and _whole(statement):
                return source, statement, body
    return None


def _whole(statement: ast.stmt) -> bool:
    """Whether a statement is simple, or a loop over parameters that does nothing but read gradients."""
    if isinstance(statement, ast.For):
        walked = any(isinstance(one, ast.Call) and called(one) == "parameters" for one in ast.walk(statement.iter))
        return walked and not _goes_back(statement)
    return not hasattr(statement, "body")


def _goes_back(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Call) and called(one) == "backward" for one in ast.walk(node))


def _graded(scene: Scene) -> bool:
    """Whether any parameter or tensor of the user's frames has a gradient."""
    modules = (one for _, module in named_modules(scene) for one in module.parameters())
    tensors = (value for frame in (scene.live.user if scene.live else []) for value in frame.locals.values())
    return any(is_tensor(one) and one.is_leaf and one.grad is not None for one in (*modules, *tensors))
