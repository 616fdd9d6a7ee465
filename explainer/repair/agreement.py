"""Which side the rest of the program agrees with: a layer built for a width, or the tensor that comes with another."""

from __future__ import annotations

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.sites import arriving, layers_hit
from explainer.edits.slices import trunk
from explainer.patterns import Pattern

#: What it costs to build a layer for another width where the one it has came along, and to compute a size from
#: numbers that were not in it before.
_AGREED, _COMPUTED = 1.3, 0.5
_SUM = Pattern(r"\w+ [+*-] \w+|\w+ // \w+|\w \*\* \w")
_BACK = 8


def against(candidate: Candidate, evidence: Evidence, reshaped: int) -> float:
    """What the rest of the program says against an edit that gives parameters another shape."""
    return (_AGREED if reshaped and came_along(evidence) else 0.0) + _COMPUTED * computed(candidate)


def came_along(evidence: Evidence) -> bool:
    """Whether the failing layer's width was that of the data on its way: the layout is odd, not the layer."""
    for layer, step in layers_hit(evidence):
        need = arriving(layer, step)
        built = layer.value(need[0]) if need is not None else None
        if need is None or built is None or built == need[1]:
            continue
        came = step.before[0][0]
        behind = trunk(evidence, step.inputs[0] if step.inputs else None, _BACK)
        return built in came or any(built in one.shape[1:] for one in behind)
    return False


def computed(candidate: Candidate) -> bool:
    """Whether an edit brings in more arithmetic on names than there was."""
    found = [len(_SUM.findall(edit.after or "")) - len(_SUM.findall(edit.before or "")) for edit in candidate.edits]
    return sum(found) > 0
