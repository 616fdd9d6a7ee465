"""Tables whose gradients hold only the rows that were looked up, and the optimizer that was given them."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.files import calls_named
from explainer.probes.owners import optimizers
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of
from explainer.source import Source

_TABLES = ("Embedding", "EmbeddingBag")


@probe
def sparse_tables(scene: Scene) -> SpanFact | None:
    """The call that builds a table with `sparse=True`, the first of the program's.

    `detail`: `tables`, how many such calls there are; `alone`, whether all parameters of the optimizer that refuses
    their gradients have such gradients.
    """
    made = [(source, call) for source, call in calls_named(scene, *_TABLES) if _is_sparse(call)]
    refusing = next((one for one in optimizers(scene) if type(one).__name__ == scene.captures.get("name")), None)
    groups = fields_of(refusing).get("param_groups", ()) if refusing is not None else ()
    gradients: list[Any] = [one.grad for group in groups for one in group["params"]]
    alone = bool(gradients) and all(one is not None and one.is_sparse for one in gradients)
    return span_fact(*made[0], tables=len(made), alone=alone) if made else None


@probe
def refusing_optimizer(scene: Scene) -> SpanFact | None:
    """The one call that builds an optimizer of the class that refuses a gradient."""
    found: list[tuple[Source, ast.Call]] = calls_named(scene, str(scene.captures.get("name")))
    return span_fact(*found[0]) if len(found) == 1 else None


def _is_sparse(call: ast.Call) -> bool:
    given = [word.value for word in call.keywords if word.arg == "sparse"]
    return any(isinstance(one, ast.Constant) and one.value is True for one in given)
