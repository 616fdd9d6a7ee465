"""Better places for what a rule proposes at the failing call: where the data comes from, where a number was decided."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.diagnosis import FixSource
from explainer.dimensions import is_dimension
from explainer.edits.candidate import Candidate
from explainer.edits.changes import added, drops_name, is_cast
from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.driver import named, offered_by
from explainer.edits.generators.samples import handed_back, returned_as
from explainer.edits.generators.shapes import BROADCAST
from explainer.edits.generators.slices import Operand, editable, operands
from explainer.edits.kinds import methods
from explainer.edits.place import Place
from explainer.patterns import Pattern
from explainer.source import walked

#: Generators for what a rule's repair does at the failing call.
_CAST = "dtype.started dtype.structural dtype.registered converted.converted casts.entering"
#: What goes before a change of a size: repairs where one thing can be meant.
_COUNTS = (
    "calls.exchanged upstream.undone ordered.read_early ordered.computed_early counted.one_more counted.one_too_many "
    "sizes.other_end sizes.named_out"
)
_MOVED = "device.nested device.together device.created"
_LAYOUT = Pattern(r"\.(permute|transpose|unsqueeze|squeeze|flatten|movedim)\(([-\d, ]*)\)$")
#: Dimensions added at the end of an expression.
_ADDED = Pattern(r"\[\.\.\.(?:, None)+\]")


def origins(evidence: Evidence, candidate: Candidate) -> Iterator[Candidate]:
    """The candidates to try before a rule's own: the same repair, nearer to its cause."""
    for found in _origins(evidence, candidate):
        if found.edits != candidate.edits:
            source = found.source or FixSource("generator", "relocate.relaid").at(found.culprit)
            yield dataclasses.replace(found, fix=candidate.fix, tier=min(found.tier, 0), source=source)


def _origins(evidence: Evidence, candidate: Candidate) -> Iterator[Candidate]:
    end = added(candidate).rstrip(") ")
    if is_cast(candidate):
        yield from offered_by(named(_CAST), evidence)
    elif candidate.kind == "as-dtype":
        yield from offered_by(named("dtype.registered converted.converted"), evidence)
    elif end.endswith("- 1"):
        yield from offered_by(named("index.shifted"), evidence)
    elif end.endswith(".device"):
        yield from offered_by(named(_MOVED), evidence)
    elif candidate.kind == "insert-method":
        yield from _relaid(evidence, candidate)
    elif candidate.kind in ("replace", "set-argument"):
        yield from (dataclasses.replace(one, tier=-1) for one in offered_by(named(_COUNTS), evidence))
        if candidate.kind == "set-argument":
            yield from offered_by(named("squeezed.squeezed layers.around"), evidence)
            yield from offered_by(named("sizes.arriving" if drops_name(candidate) else ""), evidence)


def _relaid(evidence: Evidence, candidate: Candidate) -> Iterator[Candidate]:
    """The same change of layout where the samples are made, if nothing learned lies between there and the call."""
    span = candidate.culprit
    for operand in operands(evidence):
        place = operand.place
        if place is None or (place.line, place.span.column) != (span.line, span.column):
            continue
        vectors = evidence.crash is not None and evidence.crash.function.startswith("conv")
        method = _method(candidate, place) or (_index(candidate, place) if vectors else "")
        if method == "unsqueeze(-1)" and _met_by_several(evidence, operand):
            return
        for step, origin in _origins_of_data(evidence, operand):
            whole = (
                len(step.shape) == len(operand.shape) and step.shape[1:] == operand.shape[1:]
            )  # of more samples, too
            adapted = method if whole else _of_sample(method)
            if method and adapted and origin is not None and (whole or step.shape == operand.shape[1:]):
                edits = partial(methods.insert_method, origin, adapted)
                shown = adapted if adapted.startswith("[") else f".{adapted}"
                words: dict[str, Any] = {"what": origin.text[:48], "method": shown, "shape": step.shape}
                yield from evidence.made(edits, "insert-method", origin, "insert", **words)


def _met_by_several(evidence: Evidence, operand: Operand) -> bool:
    """Whether what an operand's last dimension is added for has several entries there: that is of this call alone."""
    crash = evidence.crash
    others = [shape for shape, _ in crash.before if shape and shape != operand.shape] if crash is not None else []
    return crash is not None and crash.function in BROADCAST and any(one[-1] > 1 for one in others)


def _origins_of_data(evidence: Evidence, operand: Operand) -> Iterator[tuple[Step, Place | None]]:
    """The steps of an operand's data and their places: where a dataset returns it, then from the first to the last.

    Behind a step that names a dimension alone: it had meant another one of what is laid out otherwise.
    """
    path = data_path(evidence, operand)
    sample = next((step for step in path if step.shape == operand.shape[1:]), None)
    if sample is not None:
        yield sample, next(returned_as(evidence, sample), None)
    behind = [*itertools.takewhile(lambda step: not _names_dimension(step), path)]
    for step in reversed(behind or path[:1]):
        yield step, handed_back(step) or next((one for one in step.places if editable(one)), None)


def _names_dimension(step: Step) -> bool:
    place = step.place
    return place is not None and any(is_dimension(place.source, one) for one in walked(place.node))


def data_path(evidence: Evidence, operand: Operand) -> list[Step]:
    """The steps from an operand back to where its data is made; none where a layer lies on the way."""
    found: list[int] = [] if operand.start is None else [operand.start]
    for index in found:
        step = evidence.steps[index]
        if step.layer is not None:
            return []
        found += [one for one in step.inputs if one is not None and one not in found]
    return [evidence.steps[index] for index in found]


def _method(candidate: Candidate, place: Place) -> str:
    match = _LAYOUT.search(f".{_behind(candidate, place)}")
    return f"{match[1]}({match[2]})" if match else ""


def _index(candidate: Candidate, place: Place) -> str:
    """`[..., None, None]` where that was put behind an expression: dimensions added at its end."""
    found = _ADDED.search(candidate.edits[0].after or "")
    return found[0] if found and f"{place.text}{found[0]}" in (candidate.edits[0].after or "") else ""


def _behind(candidate: Candidate, place: Place) -> str:
    """The method call that an insertion put behind a place, as the edited file has it."""
    tree: Any = None
    after = (candidate.edits[0].after or "").strip()
    try:
        tree = ast.parse(after)
    except SyntaxError:
        tree = None
    text = place.text
    at = after.find(f"{text}.")
    if tree is None and at < 0:
        return ""
    tail = after[at + len(text) + 1 :]
    return tail[: tail.find(")") + 1]


def _of_sample(method: str) -> str:
    """`permute(0, 3, 1, 2)` of a batch as `permute(2, 0, 1)` of one sample; empty where there is no such."""
    if method.startswith("["):
        return method
    name, _, rest = method.partition("(")
    numbers = [int(number) for number in re.findall(r"-?\d+", rest)]
    if name == "permute":
        numbers = numbers[1:] if numbers[:1] == [0] else [0]
    if any(number == 0 for number in numbers):
        return ""
    return f"{name}({', '.join(str(number - 1 if number > 0 else number) for number in numbers)})"
