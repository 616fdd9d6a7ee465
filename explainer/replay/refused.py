"""Values that the user's own check refused: their birth, from a run of the whole program or of its last statements."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from explainer.replay import run
from explainer.replay.window import Window, checks

if TYPE_CHECKING:
    from explainer.probes.scene import Scene

#: How many windows of statements are tried, and the seconds for one of them.
_MOST, _LONGEST = 24, 0.6


def birth_before(scene: Scene) -> Any:
    """What `recorders.nonfinite` found of the value that the program's own check refused; None where nothing was found.

    The whole program is run again where `explain run` started it. Elsewhere the last statements before the check are,
    with live values as they are, then more of them; last the whole script, where that is short enough.
    """
    from explainer.replay.trial import whole_program, whole_script

    if whole_program(scene):
        return _known(_of_program(scene))
    found = _of_statements(scene)
    if found is None and whole_script(scene):
        with scene.replaying():
            found = _known(_of_program(scene))
    return found


def data_before(scene: Scene) -> Any:
    """What `recorders.data` found of data that were not finite before torch had them; None where it found none."""
    from explainer.replay.trial import whole_program, whole_script

    if whole_program(scene):
        return _of_program(scene, "data")
    if scene.live is not None and whole_script(scene):
        with scene.replaying():
            return _of_program(scene, "data")
    return None


def _of_program(scene: Scene, recorder: str = "nonfinite") -> Any:
    from explainer.replay.programs import checker

    return checker(scene).watched(recorder)


def _known(found: Any) -> Any:
    return found if found and "node" in found else None


def _of_statements(scene: Scene) -> Any:
    """The birth as the fewest statements show it that lead to it from live values that are finite."""
    if scene.live is None or run.why_not(scene) is not None:
        return None
    for window, _ in zip(checks(scene.live.user), range(_MOST), strict=False):
        if scene.seconds_left < _LONGEST / 2:
            return None
        found = _known(run.sandboxed(scene, functools.partial(_attempt, window), _LONGEST))
        if found is not None:
            return found
    return None


def _attempt(window: Window) -> Any:
    """In the child: run the statements under the recorder, the check among them."""
    import torch

    from explainer.replay.recorders.nonfinite import Nonfinite
    from explainer.replay.window import Stopped

    torch.autograd.set_detect_anomaly(False)
    recording = Nonfinite()
    try:
        with recording:
            window.run()
    except Stopped:
        pass
    return recording.birth()
