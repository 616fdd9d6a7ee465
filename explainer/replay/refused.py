"""Values that the user's own check refused: their birth, from a run of the whole program or of its last statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explainer.probes.scene import Scene


def birth_before(scene: Scene) -> Any:
    """What `replay.nonfinite` found of the value that a check of the program's refused; None where nothing was found.

    The whole program is run again where it may be; else its statements before the check, with live values as they are.
    """
    from explainer.replay.trial import whole_program

    found = None
    if whole_program(scene):
        from explainer.replay.programs import checker

        found = checker(scene).watched("nonfinite")
    return found if found and "node" in found else None
