"""How the shape of a failing operand came about, line by line, in the function that crashed."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import StepFact
from explainer.probes import probe
from explainer.probes.scene import Scene
from explainer.source import loaded

#: Steps that are told; of more, the first and the last ones.
MOST = 6


@probe
def shape_history(scene: Scene) -> tuple[StepFact, ...]:
    """The steps that lead to the failing expression's operands, in order; empty where no replay can show them."""
    return tuple(scene.once("shape history", lambda: _told(scene)) or ())


def _told(scene: Scene) -> list[StepFact]:
    from explainer.replay.history import history
    from explainer.replay.run import why_not

    if scene.failing is None or why_not(scene) is not None:
        return []
    steps = _leading(history(scene), scene)
    return [StepFact(step["line"], step["name"], tuple(step["shape"])) for step in _few(steps)]


def _leading(steps: list[dict[str, Any]], scene: Scene) -> list[dict[str, Any]]:
    """The steps whose names the failing expression uses, or that a line uses which made such a name."""
    source = scene.failing.source  # type: ignore[union-attr]
    wanted = loaded(scene.failing.node)  # type: ignore[union-attr]
    kept = []
    for step in reversed(steps):
        if step["name"] in wanted:
            kept.append(step)
            statement = source.statement_at(step["line"])
            if statement is not None and not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                wanted |= loaded(statement)
    return kept[::-1]


def _few(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps that changed a shape; of many the first and the last ones."""
    shapes: dict[str, list[int]] = {}
    changed = []
    for step in steps:
        if shapes.get(step["name"]) != step["shape"]:
            shapes[step["name"]] = step["shape"]
            changed.append(step)
    return changed if len(changed) <= MOST else [changed[0], *changed[1 - MOST :]]
