"""Exponentials that are finite one by one, and whose sum is not."""

from __future__ import annotations

import ast

from explainer.edits.calls import given_to
from explainer.edits.place import place_of
from explainer.facts import NanFact, SpanFact
from explainer.probes import probe
from explainer.probes.numerics.births import last_value
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import called


@probe
def exponentials_summed(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """The call of `exp` whose values a sum is given that overflowed, also by a name of the same function."""
    if of is None or of.operator != "sum" or of.what not in ("large", "zero"):
        return None
    place = place_of(scene.source, of)
    total = place.node
    if not isinstance(total, ast.Call) or called(total) != "sum":
        return None
    given = given_to(total)
    given = last_value(place.source, given) if isinstance(given, ast.Name) else given
    return span_fact(place.source, given) if isinstance(given, ast.Call) and called(given) == "exp" else None
