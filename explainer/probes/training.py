"""What watching a training found: for rules of the family `training`, which no crash shows."""

from __future__ import annotations

from typing import Any

from explainer.probes import Scene, probe


@probe
def training_finding(scene: Scene) -> Any:
    """Nothing: a crash is no training that went wrong in silence; `explain watch` fills this fact itself."""
    del scene
