"""Candidates for a wrong dimension on the way to the failing call: of a join, a reduction, an index, a size."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.calls import is_method
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.expressions import evaluated
from explainer.edits.generators.sites import arriving, layers_hit
from explainer.edits.generators.slices import chain, operands
from explainer.edits.generators.views import views_joined
from explainer.edits.kinds import arguments
from explainer.edits.kinds.statements import delete_statement
from explainer.edits.lines import EditError
from explainer.edits.place import Place

_WITH_DIM = ("cat", "concat", "stack", "mean", "sum", "amax", "amin", "max", "logsumexp", "prod", "std", "var", "norm",
             "unsqueeze", "chunk", "split", "select", "narrow", "flip", "roll", "argmax")  # fmt: skip
_TRANSPOSING = ("t", "transpose", "permute", "swapaxes", "swapdims", "movedim", "moveaxis", "T", "mT")
#: How many candidates there are at most, and from how many steps.
_MOST, _STEPS = 12, 10


def dimensions(evidence: Evidence) -> Iterator[Candidate]:
    """`x.mean(0)` -> `x.mean(1)`, `torch.cat([a, b])` -> `dim=1`, `out[-1]` -> `out[:, -1]`, the nearest first."""
    views = views_joined(evidence)  # two batches joined by their columns would be compared as if they were one
    found = (
        one
        for step in _steps(evidence)
        if step is not views
        for one in (*_dim(evidence, step), *_index(evidence, step))
    )
    yield from itertools.islice(found, _MOST)


def _steps(evidence: Evidence) -> list[Step]:
    found: list[Step] = []
    for one in operands(evidence):
        found += [step for step in chain(evidence, one.start, _STEPS) if step not in found]
    return found[:_STEPS]


def _dim(evidence: Evidence, step: Step) -> Iterator[Candidate]:
    """Another dimension for a call that names one, or joins along the first without naming it."""
    place, rank = step.place, len(step.before[0][0]) if step.before else 0
    if place is None or not isinstance(place.node, ast.Call) or step.function not in _WITH_DIM:
        return
    try:
        given = arguments.argument_node(place, "dim")
    except EditError:
        return
    old = evaluated(given, {}) if given is not None else 0 if step.function in ("cat", "concat", "stack") else None
    if isinstance(given, ast.UnaryOp):
        old = rank - 1
    most = rank + (step.function in ("unsqueeze", "stack"))
    for new in (one for one in range(most) if old is not None and one != old):
        if new == 0 and step.function in ("chunk", "split"):  # samples are not to be told apart by what they hold
            continue
        edits = partial(arguments.set_argument, place, "dim", new)
        yield from evidence.made(edits, "set-argument", place, "dim", new=new, old=old)


def _index(evidence: Evidence, step: Step) -> Iterator[Candidate]:
    """`out[-1]` -> `out[:, -1]`, and back."""
    node = step.place.node if step.place is not None else None
    if step.place is None or not isinstance(node, ast.Subscript) or len(step.before[0][0] if step.before else ()) < 2:
        return
    if _is_state(evidence, step):
        return
    index = step.place.source.text(node.slice)
    if _is_number(node.slice):
        new = f":, {index}"
    elif isinstance(node.slice, ast.Tuple) and index.startswith(":,") and _is_number(node.slice.elts[-1]):
        new = index.rpartition(",")[2].strip()
    else:
        return
    words: dict[str, Any] = {"old": step.place.text, "new": f"{step.place.source.text(node.value)}[{new}]"}
    yield from evidence.replaced(step.place.at(node.slice), new, "replace", "rename", step.place, **words)


def untransposed(evidence: Evidence) -> Iterator[Candidate]:
    """`(ids == 0).t()` -> `ids == 0`: a transposition that was not needed, left out."""
    yield from (candidate for _, candidate in _left_out(evidence))


def undone(evidence: Evidence) -> Iterator[Candidate]:
    """The transposition that put another size where its operand had the one that the failing layer was built for."""
    for layer, crash in layers_hit(evidence):
        need, given = arriving(layer, crash), crash.before[0][0] if crash.before else []
        built = layer.value(need[0]) if need is not None else None
        for step, candidate in _left_out(evidence) if need is not None and built != need[1] else ():
            moved = zip(step.before[0][0], given, strict=False)
            if step.shape == given and any(pair == (built, need[1]) for pair in moved):  # type: ignore[index]
                yield candidate


def _left_out(evidence: Evidence) -> Iterator[tuple[Step, Candidate]]:
    for step in _steps(evidence):
        place, node = step.place, step.place.node if step.place is not None else None
        if place is None or step.function not in _TRANSPOSING or not step.before:
            continue
        whole = node.func if isinstance(node, ast.Call) and is_method(node) else node
        if isinstance(whole, ast.Attribute):
            words: dict[str, Any] = {"what": place.text[:48], "method": step.function, "shape": step.before[0][0]}
            found = reduced(evidence, place, place.source.text(whole.value), "delete-method", "undo", **words)
            yield from ((step, candidate) for candidate in found)


def reduced(evidence: Evidence, place: Place, rest: str, kind: str, title: str, **words: Any) -> Iterator[Candidate]:
    """An expression that gives way to a part of it; its statement goes where that would be `x = x`."""
    statement = place.statement()
    if statement.text == f"{rest} = {place.text}":
        return evidence.made(partial(delete_statement, statement), kind, statement, title, **words)
    return evidence.replaced(place, rest, kind, title, **words)


def _is_state(evidence: Evidence, step: Step) -> bool:
    """Whether a step takes a part of a recurrent layer's state, whose first dimension counts layers."""
    start = step.inputs[0] if step.inputs else None
    source = evidence.steps[start] if start is not None else None
    recurrent = source is not None and source.layer is not None and source.layer.type in ("GRU", "LSTM", "RNN")
    return recurrent and source is not None and step.before[0][0] != source.shape


def _is_number(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and type(inner.value) is int
