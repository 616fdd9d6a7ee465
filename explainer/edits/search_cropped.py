"""Candidates that crop a stored table to the sequence at hand: `self.mask` -> `self.mask[:n, :n]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.place import Place, as_primary
from explainer.edits.search_padding import last_transposed
from explainer.edits.shapes import by_channel
from explainer.edits.slices import operands
from explainer.patterns import Pattern

_EXPECTED = Pattern(r"should be [\[(](\d+(?:, \d+)+)")


def cropped(evidence: Evidence) -> Iterator[Candidate]:
    """A mask or table that a call was given longer than the sequence, cropped there to the sizes of the others."""
    if any(last_transposed(evidence, one) is not None for one in operands(evidence)):
        return  # a map that fell short is to be made larger, not its target smaller
    for wanted in _wanted(evidence):
        for frame in evidence.frames[:-4:-1]:
            for part in _stored(frame):
                shape = frame.shape(part.text)
                table = bool(shape) and (_EXPECTED.search(evidence.message) or _is_table(part, frame, shape))
                index = _index(frame, shape, wanted) if table else None
                if index is not None:
                    text = f"{as_primary(part)}[{index}]"
                    words: dict[str, Any] = {"what": part.text, "method": f"[{index}]", "shape": shape}
                    yield from evidence.replaced(part, text, "insert-method", "insert", **words)


def _wanted(evidence: Evidence) -> Iterator[list[int]]:
    """The sizes that the table should have: as the message has them, or those of the other operands."""
    found = _EXPECTED.search(evidence.message)
    if found is not None:
        yield [int(size) for size in found[1].split(", ")]
    if evidence.crash is not None and found is None and len(evidence.crash.before) > 1:
        yield from (shape for shape, _ in evidence.crash.before if len(shape) > 1)


def _stored(frame: Call) -> Iterator[Place]:
    """Attributes and names in the call that a frame was in, attributes of `self` first."""
    parts = [one for one in ast.walk(frame.place.node) if isinstance(one, (ast.Attribute, ast.Name))]
    for kind in (ast.Attribute, ast.Name):
        yield from (frame.place.at(one) for one in parts if isinstance(one, kind))


def _is_table(part: Place, frame: Call, shape: list[int]) -> bool:
    """Whether a value may hold more rows than are needed: not one number for each channel, nor vectors of floats."""
    dtype = frame.scope[part.text][1]
    return not by_channel(shape) and (isinstance(part.node, ast.Attribute) or len(shape) > 2 or "float" not in dtype)


def _index(frame: Call, shape: list[int], wanted: list[int]) -> str | None:
    """`:n, :n` for a table that is longer than wanted in two dimensions or more, or one; None where it is not."""
    rank = len(shape)
    aligned = wanted[len(wanted) - rank :]
    if rank > len(wanted) or rank < 2 or shape == aligned:
        return None
    if shape[-1] > aligned[-1] > 1 and shape[-1] != shape[-2]:  # features are not cut like positions
        return None
    parts = []
    for own, size in zip(shape, aligned, strict=True):
        name = _named(frame, size) or _but_one(own, size) if own > size > 1 else ":" if own in (size, 1) else None
        if name is None:
            return None
        parts.append(f":{name}" if name != ":" else ":")
    return ", ".join(parts) if parts and set(parts) != {":"} else None


def _but_one(own: int, size: int) -> str | None:
    """All entries but one, where a sequence was cut by one for its targets."""
    return "-1" if own == size + 1 else None


def _named(frame: Call, size: int) -> str | None:
    """What the function calls a size: a local integer, or a dimension (not the first, if it can be) of a tensor."""
    ints = [name for name, value in frame.scope.items() if name.isidentifier() and name.islower() and value == size]
    short = [name for name in ints if isinstance(frame.scope[name], int)]
    tensors = [(name, frame.shape(name)) for name in frame.scope if name.isidentifier()]
    sizes = [(at == 0, f"{name}.size({at})")
             for name, shape in tensors for at, one in enumerate(shape) if one == size]  # fmt: skip
    return next(iter([*short, *(text for _, text in sorted(sizes, key=lambda one: one[0]))]), None)
