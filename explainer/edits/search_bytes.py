"""Candidates for sizes read from bytes in the wrong order: the other byte order where a format says one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.source import called

#: Functions that take a format with a byte order: of `struct`, numpy's and torch's.
_FORMATTED = ("Struct", "unpack", "unpack_from", "iter_unpack", "frombuffer", "fromfile", "dtype", "from_bytes")
_ORDERS = {"<": ">", ">": "<", "!": "<", "=": ">", "little": "big", "big": "little"}


def flipped(evidence: Evidence) -> Iterator[Candidate]:
    """`struct.Struct("<II")` -> `">II"`: a file that another machine wrote, read as it was written."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            if not isinstance(node, ast.Call) or called(node) not in _FORMATTED:
                continue
            for given in (*node.args, *(word.value for word in node.keywords)):
                new = _other(given)
                if new:
                    place, text = Place(source, given), repr(new)
                    text = text.replace("'", '"') if source.text(given).startswith('"') else text
                    yield from evidence.replaced(place, text, "replace", "rename", new=text, old=place.text)


def _other(node: ast.AST) -> str:
    """A format with the other byte order; empty where a node is none, or says none."""
    text = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(text, str) or not text:
        return ""
    if text in _ORDERS:
        return _ORDERS[text]
    return _ORDERS[text[0]] + text[1:] if text[0] in _ORDERS else ""
