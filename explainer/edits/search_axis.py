"""Candidates for joins: along another dimension, or along a new one in place of one that is there."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits import arguments
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.expressions import evaluated
from explainer.edits.lines import joined
from explainer.edits.methods import replace_call
from explainer.edits.place import Place, as_primary
from explainer.edits.slices import chain, operands

JOINS = ("cat", "concat", "concatenate")
#: What joins along a dimension that is there, and what along a new one.
_OTHER = {"cat": "stack", "concat": "stack", "concatenate": "stack", "stack": "cat"}
#: How many steps behind each operand are looked at.
_STEPS = 8


def joined_along(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.cat([past, k], dim=1)` -> `dim=2`, the only dimension in which they differ; calls beside it likewise."""
    crash, every = evidence.crash, operands(evidence)
    if crash is None or crash.place is None or crash.function not in JOINS or not every:
        return
    ranks = {len(one.shape) for one in every}
    apart = [at for at in range(min(ranks)) if len({one.shape[at] for one in every}) > 1]
    if len(ranks) != 1 or len(apart) != 1:
        return
    alike = _alike(crash.place)
    calls = [crash.place, *alike]
    for chosen in [calls, [crash.place]] if alike else [[crash.place]]:
        edits = partial(_with_dimension, chosen, apart[0])
        words: dict[str, Any] = {"new": apart[0], "old": dimension_of(crash.place)}
        yield from evidence.made(edits, "set-argument", crash.place, "dim", **words)


def _alike(call: Place) -> list[Place]:
    """The other joins of the function that are made along the same dimension."""
    function = call.source.function_at(call.node.lineno)
    calls = [one for one in ast.walk(function) if isinstance(one, ast.Call)] if function is not None else []
    same = [one for one in calls if ast.unparse(one.func) == ast.unparse(call.node.func)]  # type: ignore[union-attr]
    places = [call.at(one) for one in same if one is not call.node]
    return [one for one in places if dimension_of(one) == dimension_of(call)]


def dimension_of(call: Place) -> int:
    """The dimension along which a call joins: 0 where none is given, -1 where it is not known."""
    given = arguments.argument_node(call, "dim")
    value = evaluated(given, {}) if given is not None else 0
    return value if value is not None else -1


def _with_dimension(calls: list[Place], dimension: int) -> Any:
    groups = [_set(call, dimension) for call in calls]
    return joined(calls[0].source, *groups) if len(groups) > 1 else groups[0]


def _set(call: Place, dimension: int) -> Any:
    words = call.node.keywords if isinstance(call.node, ast.Call) else []
    name = next((word.arg for word in words if word.arg == "axis"), "dim")
    return arguments.set_argument(call, name, dimension)


def joined_otherwise(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.stack(parts)` -> `torch.cat(parts)` and the reverse, for the failing call and those that led to it."""
    found = [step for one in operands(evidence) for step in chain(evidence, one.start, _STEPS)]
    for step in {id(step): step for step in [*evidence.steps[:1], *found]}.values():
        place, other = step.place, _OTHER.get(step.function)
        if place is None or other is None or not isinstance(place.node, ast.Call):
            continue
        edits = partial(replace_call, place, other if isinstance(place.node.func, ast.Attribute) else f"torch.{other}")
        yield from evidence.made(edits, "replace-call", place, "join-otherwise", new=other, old=step.function)


def expanded(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.cat([self.token, x], 1)` -> `self.token.expand(x.shape[0], -1, -1)`: one for all, beside one for each."""
    crash, every = evidence.crash, operands(evidence)
    if crash is None or crash.place is None or crash.function not in JOINS or len({len(o.shape) for o in every}) != 1:
        return
    places = _parts(crash.place)
    along = dimension_of(crash.place) % len(every[0].shape)
    for (one, place), (other, beside) in itertools.permutations(zip(every, places, strict=False), 2):
        pairs = list(enumerate(zip(one.shape, other.shape, strict=True)))
        grown = [at for at, (a, b) in pairs if at != along and a == 1 != b]
        if grown and all(a == b or at in (*grown, along) for at, (a, b) in pairs):
            sizes = ", ".join(f"{as_primary(beside)}.shape[{at}]" if at in grown else "-1" for at, _ in pairs)
            new = f"{as_primary(place)}.expand({sizes})"
            yield from evidence.replaced(place, new, "insert-method", "expanded", what=place.text, other=beside.text)


def _parts(call: Place) -> list[Place]:
    """The tensors that a join is given, where it names them one by one."""
    given = call.node.args[0] if isinstance(call.node, ast.Call) and call.node.args else None
    plain = isinstance(given, (ast.List, ast.Tuple)) and not any(isinstance(one, ast.Starred) for one in given.elts)
    return [call.at(one) for one in given.elts] if plain else []  # type: ignore[union-attr]
