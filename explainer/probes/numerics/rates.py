"""Training that blew up: weights far beyond any use, and the learning rate that their optimizer was given."""

from __future__ import annotations

import ast
import math
from typing import Any

from explainer.edits.kinds.arguments import argument_node
from explainer.edits.place import Place
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.decided import literal_of
from explainer.probes.files import calls_named
from explainer.probes.owners import optimizers
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, readable

#: No weight that is of use is as large; steps that are too long get there within a few.
BEYOND = 1e6
#: The rate from which on weights that are not finite are put down to it: below, one bad gradient may have done it.
_HIGH = 0.5


@probe
def runaway_rate(scene: Scene) -> SpanFact | None:
    """The learning rate of an optimizer whose weights blew up: the literal, where it can be found.

    `detail`: `rate`, `lower` (a hundredth of it), `largest` (the largest weight, as text), `optimizer` (its class).
    """
    for optimizer in optimizers(scene):
        rate, largest = rate_of(optimizer), largest_weight(optimizer)
        if rate > 0 and (BEYOND <= largest < math.inf or (not largest < math.inf and rate >= _HIGH)):
            at = _written(scene, type(optimizer).__name__, rate)
            detail: dict[str, Any] = {"rate": rate, "lower": float(f"{rate / 100:.3g}"), "largest": _magnitude(largest)}
            return span_fact(*at, **detail, optimizer=type(optimizer).__name__) if at is not None else None
    return None


def rate_of(optimizer: Any) -> float:
    """The rate that an optimizer began with, where all its groups have one; 0 where it is none."""
    groups = fields_of(optimizer).get("param_groups", ())
    rates = {group.get("initial_lr", group.get("lr")) for group in groups}
    rate = rates.pop() if len(rates) == 1 else 0
    return float(rate) if isinstance(rate, (int, float)) else 0.0


def largest_weight(optimizer: Any) -> float:
    """The magnitude of the largest weight; nan or inf where one is not finite."""
    held = [one for group in fields_of(optimizer).get("param_groups", ()) for one in group["params"] if readable(one)]
    found = [float(one.detach().abs().max()) for one in held]
    return math.nan if any(map(math.isnan, found)) else max(found, default=0.0)


def _magnitude(largest: float) -> str:
    """A power of ten, not the weight itself."""
    return f"1e{math.floor(math.log10(largest))}" if largest < math.inf else "inf or nan"


def _written(scene: Scene, optimizer: str, rate: float) -> tuple[Any, ast.AST] | None:
    """The number that the only call of an optimizer's class gives for its rate."""
    calls = calls_named(scene, optimizer)
    if len(calls) != 1:
        return None
    source, call = calls[0]
    given = argument_node(Place(source, call), "lr", ["params", "lr"])
    at = literal_of(scene, source, given) if given is not None else None
    return at if at is not None and getattr(at[1], "value", None) == rate else None
