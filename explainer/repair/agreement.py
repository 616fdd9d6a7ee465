"""Which side the rest of the program agrees with: a layer built for a width, or the tensor that comes with another."""

from __future__ import annotations

import ast
import re

from explainer.diagnosis import Edit
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.sites import arriving, layers_hit
from explainer.edits.slices import trunk
from explainer.patterns import Pattern
from explainer.source import Function

_SUM = Pattern(r"\w+ [+*-] \w+|\w+ // \w+|\w \*\* \w")
_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*")
_CHANNELS = ("Conv", "BatchNorm", "InstanceNorm", "GroupNorm")
_BACK = 8


def came_along(evidence: Evidence) -> bool:
    """Whether the failing layer's width was that of the data on its way: the layout is odd, not the layer."""
    for layer, step in layers_hit(evidence):
        need = arriving(layer, step)
        built = layer.value(need[0]) if need is not None else None
        if need is None or built is None or built == need[1]:
            continue
        came = step.before[0][0]
        behind = trunk(evidence, step.inputs[0] if step.inputs else None, _BACK)
        at = 1 if layer.type.startswith(_CHANNELS) else -1
        return built in came or any(len(one.shape) > 1 and one.shape[at] == built for one in behind)
    return False


def forgets(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether a name of a function is read nowhere any more: what it held was computed for something."""
    for edit in candidate.edits:
        source = evidence.sources(candidate.culprit.file)
        gone = _names(edit.before or "") - _names(edit.after or "")
        function = source.function_at(edit.start_line) if source is not None else None
        if source is None or function is None or not gone or edit.after is None:
            continue
        if any(_last_read(function, name, edit) for name in gone):
            return True
    return False


def _last_read(function: Function, name: str, edit: Edit) -> bool:
    """Whether an edit's lines alone read what a function's name holds there; a test for None does not count."""
    names = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name]
    stores = [one.lineno for one in names if isinstance(one.ctx, ast.Store) and one.lineno < edit.start_line]
    given = name in {one.arg for one in [*function.args.args, *function.args.kwonlyargs]}
    if not stores and not given:
        return False
    asked = {id(one.left) for one in ast.walk(function) if isinstance(one, ast.Compare) and _of_none(one)}
    since = max(stores, default=0)
    reads = [one.lineno for one in names if isinstance(one.ctx, ast.Load) and id(one) not in asked]
    return not any(line > since and not edit.start_line <= line <= edit.end_line for line in reads)


def _of_none(node: ast.Compare) -> bool:
    return isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None


def _names(text: str) -> set[str]:
    return set(_NAME.findall(text))


def computed(candidate: Candidate) -> bool:
    """Whether an edit brings in more arithmetic on names than there was."""
    found = [len(_SUM.findall(edit.after or "")) - len(_SUM.findall(edit.before or "")) for edit in candidate.edits]
    return sum(found) > 0
