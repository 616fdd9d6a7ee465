"""Parts of facts as facts of their own."""

from __future__ import annotations

from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.scene import Scene


@probe
def part(scene: Scene, of: Any = None, name: str = "") -> Any:
    """A field of a fact, or a detail of a place, by its name: `{probe: part, of: write, name: kept}`; None for none."""
    details = of.detail if isinstance(of, SpanFact) else {}
    return details[name] if name in details else getattr(of, name, None)
