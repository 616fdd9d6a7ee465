"""What torch was doing when memory ran out, as its own frames tell, of a running program or of a pasted traceback."""

from __future__ import annotations

from explainer.crash import Frame
from explainer.diagnosis import Span
from explainer.facts import StageFact
from explainer.probes import probe
from explainer.probes.scene import Scene

#: The files of torch that hold each stage, and how its functions there begin: torch/serialization.py,
#: torch/optim/optimizer.py and torch/nn/modules/module.py of 2.1 to 2.13.
_STAGES = {
    "load": ("torch/serialization.py", ("load", "_load", "_legacy_load")),
    "state": ("torch/optim/", ("_init_group",)),
    "together": ("torch/optim/", ("_multi_tensor",)),
    "move": ("torch/nn/modules/module.py", ("_apply",)),
}


@probe
def memory_stage(scene: Scene) -> StageFact | None:
    """The stage in which memory ran out, at the user's line that torch was called from; None where it is another."""
    own: Frame | None = None
    for frame in scene.crash.frames:
        name = next((one for one in _STAGES if _is_at(one, frame)), None)
        if name is not None and own is not None:
            return StageFact(name, own.code.strip()[:60], Span(own.file, own.line, code=own.code))
        own = frame if frame.user else own
    return None


def _is_at(stage: str, frame: Frame) -> bool:
    file, functions = _STAGES[stage]
    return file in frame.file.replace("\\", "/") and frame.function.rpartition(".")[2].startswith(functions)
