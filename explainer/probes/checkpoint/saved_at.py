"""Where the program saves what it loads later: the only call of `torch.save`, and whose state that writes."""

from __future__ import annotations

import ast

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.files import calls_named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import called


@probe
def saved_owner(scene: Scene) -> SpanFact | None:
    """`ema` of `torch.save(ema.state_dict(), path)`: the object whose state the only saving call writes.

    None where states of several objects, or of none, are saved.
    """
    saves = [(source, call) for source, call in calls_named(scene, "save") if source.text(call.func) == "torch.save"]
    source, call = saves[0] if len(saves) == 1 else (None, None)
    states = [
        one.func.value
        for one in ast.walk(call.args[0] if call is not None and call.args else ast.Pass())
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and called(one) == "state_dict"
    ]
    return span_fact(source, states[0]) if source is not None and len(states) == 1 else None
