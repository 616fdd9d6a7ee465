"""Candidates that change an operand's layout at the failing call, or where it came by its shape."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.bindings import only_value
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.generators.shapes import BROADCAST, SAME, by_channel, changes, fits
from explainer.edits.generators.slices import Operand, chain, editable, operands, trunk
from explainer.edits.kinds import arguments, methods
from explainer.edits.place import Place
from explainer.source import walked

_REDUCTIONS = ("mean", "sum", "amax", "amin", "norm", "std", "var", "logsumexp", "prod", "std_mean", "var_mean",
               "median", "nanmean", "nansum")  # fmt: skip


#: By the ranks of weight and data: how channels come in front, in a batch and in one sample.
_ORDERS = {
    (4, 4): ("permute(0, 3, 1, 2)", "permute(2, 0, 1)"),
    (4, 3): ("permute(2, 0, 1)", "permute(2, 0, 1)"),
    (3, 3): ("transpose(1, 2)", "transpose(0, 1)"),
    (3, 2): ("transpose(0, 1)", "transpose(0, 1)"),
}


def channels_first(evidence: Evidence) -> Iterator[Candidate]:
    """Channels moved in front, where the samples are made first: `permute(2, 0, 1)` of one, or of the batch."""
    crash, every = evidence.crash, operands(evidence)
    if crash is None or not crash.function.startswith("conv") or len(every) < 2:
        return
    data, weight = every[0], every[1]
    sizes = len(weight.shape), len(data.shape)
    if sizes not in _ORDERS or data.shape[-1] != weight.shape[1]:
        return
    of_batch, of_one = _ORDERS[sizes]
    for step in reversed(chain(evidence, data.start)):
        if step.shape == data.shape:
            yield from put_behind(evidence, next((p for p in step.places if editable(p)), None), of_batch, step.shape)
        elif step.shape == data.shape[1:]:
            yield from put_behind(evidence, next((p for p in step.places if editable(p)), None), of_one, step.shape)
    yield from put_behind(evidence, data.place if editable(data.place) else None, of_batch, data.shape)


def put_behind(evidence: Evidence, place: Place | None, method: str, shape: list[int]) -> Iterator[Candidate]:
    """A method, or an index like `[:, None]`, put behind an expression whose tensor has a shape; none without it."""
    if place is not None:
        edits = partial(methods.insert_method, place, method)
        shown = method if method[0] == "[" else f".{method}"
        words: dict[str, Any] = {"what": " ".join(place.text.split())[:48], "method": shown, "shape": shape}
        yield from evidence.made(edits, "insert-method", place, "insert", **words)


#: How many steps behind an operand one_hot is looked for.
_NEAR = 3
#: Changes of layout that put dimensions in another order.
_TURNS = ("transpose", "permute", "movedim", "t()", "mT")


def inserted(evidence: Evidence) -> Iterator[Candidate]:
    """One change of layout on one operand with which the shapes fit; at its origin first, then at the call."""
    crash = evidence.crash
    if crash is None:
        return
    every = operands(evidence)
    if crash.function in ("view", "reshape", "__getitem__", "__setitem__"):  # not a matter of layout
        return
    if crash.function in BROADCAST:
        yield from _sliced(evidence, every)
        yield from _kept_dimensions(evidence, every)
    widest = max((len(one.shape) for one in every), default=0)
    # A dimension of size 1 that is too much goes before a new one comes.
    written = every[:1] if re.search(r"[a-z]_$", crash.function) else []  # of what is written to, the layout stays
    both = [(operand, *change) for operand in every for change in changes(operand.shape)]
    hot = [one for one in every if any(step.function == "one_hot" for step in trunk(evidence, one.start, _NEAR))]
    for operand, method, shape in sorted(both, key=lambda one: (one[0] in written, not one[1].startswith("squeeze"))):
        fitting = fits(crash.function, [shape if one is operand else one.shape for one in every])
        if method.startswith("mean") and crash.function in (*SAME, *BROADCAST):  # it runs, but is hardly ever meant
            continue
        turns = method.startswith(_TURNS)
        if turns and ((evidence.passed and not evidence.square) or (hot and operand not in hot)):
            continue  # other data came, in the same order; classes come last of one_hot, first of a layer of channels
        if crash.function in BROADCAST and len(shape) > widest:  # every pair broadcasts once it is spread far enough
            continue
        beside = [one.shape for one in every if one is not operand]
        if crash.function in BROADCAST and method.startswith("flatten") and shape not in beside:
            continue
        if fitting or (fitting is None and method[:3] in ("uns", "squ", "tra", "t()")):
            for place in (_where_made(evidence, operand), operand.place):
                yield from put_behind(evidence, place if editable(place) else None, method, operand.shape)


def _where_made(evidence: Evidence, operand: Operand) -> Place | None:
    """What a name was given that the function reads elsewhere, too: there it is to have the same layout."""
    name = operand.place.node if operand.place is not None else None
    step = evidence.steps[operand.start] if operand.start is not None else None
    if operand.place is None or not isinstance(name, ast.Name) or step is None or step.shape != operand.shape:
        return None
    source, scope = operand.place.source, operand.place.source.scope_at(name.lineno)
    reads = [one for one in walked(scope) if isinstance(one, ast.Name) and one.id == name.id] if scope else []
    value = only_value(scope, name.id) if len(reads) > 2 else None
    return next((place for place in step.places if place.source is source and place.node is value), None)


def _sliced(evidence: Evidence, every: list[Operand]) -> Iterator[Candidate]:
    """`self.pe` -> `self.pe[:x.size(1)]`: a stored tensor that is longer than what it is joined with."""
    for stored, other in ((one, two) for one in every for two in every if one is not two):
        rank, shape = len(other.shape), stored.shape
        if stored.place is None or not isinstance(stored.place.node, ast.Attribute) or rank < len(shape):
            continue
        aligned = other.shape[rank - len(shape) :]
        longer = [at for at, (own, given) in enumerate(zip(shape, aligned, strict=True)) if own > given > 1]
        if len(longer) == 1 and other.place is not None and not by_channel(shape):
            size = f"{other.text}.size({longer[0] + rank - len(shape)})"
            index = ", ".join([":"] * longer[0] + [f":{size}"])
            yield from put_behind(evidence, stored.place, f"[{index}]", shape)


_OF_BATCH = re.compile(r"\[\s*:\s*(\w[\w.]*)\.(?:size\(0\)|shape\[0\])\s*\]$")


def steps_first(evidence: Evidence) -> Iterator[Candidate]:
    """`pe[:x.size(0)]` [steps, 1, width] -> `pe[:x.size(1)].transpose(0, 1)`, where the samples of x come first."""
    crash, every = evidence.crash, operands(evidence)
    if crash is None or crash.function not in BROADCAST:
        return
    for stored, other in ((one, two) for one in every for two in every if one is not two):
        cut = _OF_BATCH.search(stored.text)
        if stored.place is None or cut is None or len(other.shape) != 3 or len(stored.shape) != 3:
            continue
        if stored.shape[1] == 1 and stored.shape[2] == other.shape[2] and stored.shape[0] != other.shape[0]:
            new = f"{stored.text[: cut.start()]}[: {cut[1]}.size(1)].transpose(0, 1)"
            yield from evidence.replaced(stored.place, new, "replace", "rename", new=new, old=stored.text)


def _kept_dimensions(evidence: Evidence, every: list[Operand]) -> Iterator[Candidate]:
    """`x.mean(1)` -> `x.mean(1, keepdim=True)` on the way to an operand."""
    for operand in every:
        for step in trunk(evidence, operand.start, 4):
            if step.function in _REDUCTIONS and step.place is not None and isinstance(step.place.node, ast.Call):
                edits = partial(arguments.set_argument, step.place, "keepdim", True)
                words: dict[str, Any] = {"new": "keepdim=True", "layer": step.function}
                yield from evidence.made(edits, "set-argument", step.place, "flag", **words)
