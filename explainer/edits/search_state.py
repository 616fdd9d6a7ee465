"""Candidates for values given to every element or step: hidden states with their batch first, weights by channel."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from math import prod
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_operand, as_primary, bound_above
from explainer.edits.sites import sites
from explainer.edits.slices import argument_places, operands, trunk
from explainer.patterns import Pattern

_HIDDEN = Pattern(r"Expected hidden(?:\[\d\])? size \((\d+), (\d+), (\d+)\), got \[(\d+), (\d+), (\d+)\]")
_CREATORS = ("zeros", "ones", "randn", "rand", "empty", "new_zeros")


def batch_second(evidence: Evidence) -> Iterator[Candidate]:
    """`zeros(batch, layers, hidden)` -> `zeros(layers, batch, hidden)`: a hidden state that has its batch first."""
    said = _HIDDEN.search(evidence.message)
    sizes = [int(number) for number in said.groups()] if said else []
    if not sizes or sizes[3:] != [sizes[1], sizes[0], sizes[2]]:
        return
    for step in evidence.steps[1:20]:
        node = step.place.node if step.place is not None else None
        if step.function not in _CREATORS or step.shape != sizes[3:] or not isinstance(node, ast.Call):
            continue
        given = _sizes(step.place, node) if step.place is not None else []
        if step.place is not None and len(given) >= 2:
            yield from _exchanged(evidence, step.place, given[0], given[1])


def _sizes(place: Place, call: ast.Call) -> list[ast.expr]:
    """The sizes that a call is given: its arguments, a tuple of them, or the tuple that a name was bound to before."""
    first: Any = call.args[0] if len(call.args) == 1 else None
    first = first.value if isinstance(first, ast.Starred) else first
    if isinstance(first, ast.Name):
        bound = bound_above(place.source.scope_at(place.node.lineno), first.id, place.node.lineno)
        first = bound.value if bound is not None else None
    return first.elts if isinstance(first, (ast.Tuple, ast.List)) else call.args


def batch_taken(evidence: Evidence) -> Iterator[Candidate]:
    """`self.start()` -> `self.start()[:, :x.size(0)]`: of a state for a full batch what the last batch needs."""
    said = _HIDDEN.search(evidence.message)
    sizes = [int(number) for number in said.groups()] if said else []
    if not sizes or not sizes[1] < sizes[4] or (sizes[0], sizes[2]) != (sizes[3], sizes[5]):
        return
    every = operands(evidence)
    data, state = (every[0], every[1]) if len(every) > 1 else (None, None)
    if data is None or state is None or not data.text.isidentifier() or state.place is None or state.shape != sizes[3:]:
        return
    at = next((at for at, size in enumerate(data.shape[:2]) if size == sizes[1]), 0)
    new = f"[:, :{data.text}.size({at})]"
    words: dict[str, Any] = {"what": state.text, "method": new, "shape": state.shape}
    yield from evidence.replaced(state.place, f"{as_primary(state.place)}{new}", "insert-method", "insert", **words)


def _exchanged(evidence: Evidence, call: Place, one: ast.expr, other: ast.expr) -> Iterator[Candidate]:
    first, second = call.at(one), call.at(other)
    edits = partial(changed, call.source, [(first.span, second.text), (second.span, first.text)])
    new = f"{call.source.text(call.node.func)}({second.text}, {first.text}, ...)"  # type: ignore[union-attr]
    yield from evidence.made(edits, "replace", call, "swap", new=new)


def by_channel(evidence: Evidence) -> Iterator[Candidate]:
    """`self.weight * x` -> `self.weight[:, None, None] * x`: all vectors of that size in a statement."""
    crash = evidence.crash
    every = operands(evidence)
    if crash is None or crash.place is None or not evidence.frames or len(every) != 2:
        return
    vector, data = sorted(every, key=lambda one: len(one.shape))
    if len(vector.shape) != 1 or len(data.shape) < 3 or data.shape[1] != vector.shape[0]:
        return
    index = "[:" + ", None" * (len(data.shape) - 2) + "]"
    scope = evidence.frames[-1].scope
    alike = [
        place
        for place in _named(crash.place.statement())
        if isinstance(scope.get(place.text), list) and scope[place.text][0] == vector.shape
    ]
    if alike:
        edits = partial(changed, crash.place.source, [(place.span, f"{place.text}{index}") for place in alike])
        words: dict[str, Any] = {"what": alike[0].text, "method": index, "shape": vector.shape}
        yield from evidence.made(edits, "insert-method", crash.place, "insert", **words)


def _named(statement: Place) -> list[Place]:
    """The names and attributes of a statement that are read, the whole of a dotted one."""
    nodes = [one for one in ast.walk(statement.node) if isinstance(one, (ast.Name, ast.Attribute))]
    inner = {id(one.value) for one in nodes if isinstance(one, ast.Attribute)}
    return [statement.at(one) for one in nodes if id(one) not in inner and isinstance(one.ctx, ast.Load)]


def viewed(evidence: Evidence) -> Iterator[int]:
    """How many features, or channels, would fill the view that failed: the product of what it makes of them."""
    crash = evidence.crash
    said = re.search(r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)", evidence.message)
    if crash is None or said is None or not crash.before or not argument_places(crash):
        return
    sizes, row = [int(number) for number in said[1].split(",")], crash.before[0][0]
    kept = len(row) - 2  # the places of a map behind its channels, or the steps before the features
    if len(row) < 2 or sizes[0] not in (-1, row[0]):
        return
    of_map = row[2:] == sizes[len(sizes) - kept :]
    whole = prod(sizes[1 : len(sizes) - kept] if of_map else sizes[kept + 1 :])
    if (of_map or row[1:-1] == sizes[1 : kept + 1]) and whole > 0 and whole != row[1 if of_map else -1]:
        yield whole


def by_factor(evidence: Evidence) -> Iterator[Candidate]:
    """`colours * scale` -> `colours * scale * scale` for the convolution before a pixel shuffle that has too few."""
    crash = evidence.crash
    shuffle = crash.layer if crash is not None and crash.layer is not None else None
    factor = shuffle.value("upscale_factor") if shuffle is not None else None
    if crash is None or shuffle is None or not factor or not shuffle.calls:
        return
    given = getattr(shuffle.calls[0].place.node, "args", [])
    for step in trunk(evidence, crash.inputs[0] if crash.inputs else None, 4) if given else ():
        if step.layer is None or (step.layer.value("out_channels") or 1) % factor:
            continue
        for site in [*sites(step.layer, "out_channels")][:1]:
            node, text = site.place.node, site.place.text
            product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
            new = f"{text if product else as_operand(text)} * {shuffle.calls[0].place.source.text(given[0])}"
            words: dict[str, Any] = {"new": new, "old": site.place.text}
            yield from evidence.replaced(site.place, new, "set-argument", "rename", site.call, **words)


def shuffled(evidence: Evidence) -> Iterator[int]:
    """The channels that a failed pixel shuffle may have been meant to get: the factor once more, or rounded up."""
    crash = evidence.crash
    factor = crash.layer.value("upscale_factor") if crash is not None and crash.layer is not None else None
    if crash is None or not factor or not crash.before or len(crash.before[0][0]) < 3:
        return
    channels = crash.before[0][0][-3]
    if channels % factor == 0:
        yield channels * factor
    yield -(-channels // factor**2) * factor**2
