"""Candidates for bytes of a file's header that are read as numbers: another offset, a longer piece left out."""

from __future__ import annotations

import ast
import math
import re
import struct
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.patterns import Pattern
from explainer.source import Source, called

_SAID = Pattern(r"shape '\[([\d, ]+)\]' is invalid for input of size (\d+)")
_SIZES = {"uint8": 1, "int8": 1, "bool": 1, "int16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "float32": 4}
_BUFFERS = ("frombuffer", "fromfile", "memmap")


def longer_header(evidence: Evidence) -> Iterator[Candidate]:
    """`frombuffer(raw, offset=8)` -> `offset=16`: so many bytes are too much, and the header is read as `raw[:16]`."""
    for source in evidence.sources_seen():
        for call in source.nodes():
            if isinstance(call, ast.Call) and called(call) in _BUFFERS:
                missing = _excess(evidence) * _itemsize(source.text(call))
                for at in _starts(source, call) if missing else ():
                    yield from _further(evidence, Place(source, at), missing)


def _excess(evidence: Evidence) -> int:
    """How many elements there are more than the shape that was asked for has; 0 where there are fewer."""
    said = _SAID.search(evidence.message)
    return max(0, int(said[2]) - math.prod(map(int, said[1].split(",")))) if said is not None else 0


def _itemsize(text: str) -> int:
    """The bytes of a number of the dtype that a call names."""
    named = re.search(r"\b(u?int8|bool|u?int16|b?float16|u?int32|float32)\b", text)
    return _SIZES.get(named[1].removeprefix("u") if named[1] != "uint8" else "uint8", 4) if named else 8


def _starts(source: Source, call: ast.Call) -> Iterator[ast.expr]:
    """What says how many bytes are left out: `offset`, the start of a slice, a piece read or skipped before."""
    yield from (word.value for word in call.keywords if word.arg == "offset")
    function = source.scope_at(call.lineno)
    for node in ast.walk(function):
        piece = node.slice if isinstance(node, ast.Subscript) else None
        if isinstance(piece, ast.Slice) and piece.lower is not None and piece.upper is None:
            yield piece.lower
        if isinstance(node, ast.Call) and called(node) in ("read", "seek") and node.args and node.lineno <= call.lineno:
            yield node.args[0]


def _further(evidence: Evidence, at: Place, missing: int) -> Iterator[Candidate]:
    """Another number of bytes: as the function reads them elsewhere, else those that are too much besides."""
    function = at.source.scope_at(at.span.line)
    own = at.node.value if isinstance(at.node, ast.Constant) and isinstance(at.node.value, int) else None
    read = [one for one in _lengths(function) if own is None or one == own + missing]
    texts = [str(one) for one in read] if own is not None else [str(one) for one in read if one >= missing]
    texts += [str(own + missing)] if own is not None else [f"{at.text} + {missing}"]
    for text in dict.fromkeys(texts):
        yield from evidence.replaced(at, text, "replace", "header", new=text, old=at.text, more=missing)


def _lengths(function: Any) -> Iterator[int]:
    """The lengths of headers that a function reads: `raw[:16]`, `f.read(16)`, a format of struct."""
    for node in ast.walk(function):
        end = node.slice.upper if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) else None
        given = node.args[0] if isinstance(node, ast.Call) and node.args else None
        if isinstance(node, ast.Call) and called(node) == "unpack" and isinstance(given, ast.Constant):
            try:
                yield struct.calcsize(given.value)  # type: ignore[arg-type]
            except (struct.error, TypeError):
                continue
        elif isinstance(node, ast.Call) and called(node) != "read":
            continue
        one = end if end is not None else given
        if isinstance(one, ast.Constant) and type(one.value) is int:
            yield one.value
