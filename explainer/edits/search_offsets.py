"""Candidates for offsets of parts that lie one behind another: each part begins where those before it end."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from explainer.diagnosis import Edit
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place, as_operand, fitted
from explainer.edits.slices import chain, operands
from explainer.source import called

_ADDING = ("add", "__add__", "__radd__", "add_", "__iadd__")


def from_start(evidence: Evidence) -> Iterator[Candidate]:
    """`cumsum(sizes)` -> `cumsum(sizes) - sizes`: the ends of parts, which the next ones begin at, as offsets."""
    if not _shifted(evidence):
        return
    for source in evidence.sources_seen():
        for node in source.nodes():
            place = Place(source, node) if isinstance(node, ast.Call) else None
            new = starts_of(place) if place is not None else ""
            if place is not None and new:
                yield from evidence.replaced(place, new, "replace", "starts", new=new[:70], old=place.text[:48])
        for first, second in noted_late(source.nodes()):
            edits = partial(_exchanged, Place(source, first), Place(source, second))
            words: dict[str, Any] = {"new": source.text(second), "old": source.text(first)}
            yield from evidence.made(edits, "move-statement", Place(source, second), "starts", **words)


def _shifted(evidence: Evidence) -> bool:
    """Whether an index of the failing call is a sum."""
    found = [step for operand in operands(evidence) for step in chain(evidence, operand.start, 8)]
    summed = any(step.function in _ADDING for step in found)
    return summed and any(extent is not None for extent in (evidence.crash.extents if evidence.crash else ()))


def starts_of(place: Place) -> str:
    """Where parts of some sizes begin, in place of where they end; "" for another call, or one that begins with 0."""
    node = place.node
    if not isinstance(node, ast.Call) or _begins_with_zero(place):
        return ""
    name = called(node)
    if name == "list" and len(node.args) == 1 and isinstance(node.args[0], ast.Call):
        inner = node.args[0]
        plain = called(inner) == "accumulate" and len(inner.args) == 1
        return f"[0] + {place.text}[:-1]" if plain and not inner.keywords else ""
    if name != "cumsum" or not isinstance(node.func, ast.Attribute):
        return ""
    library = place.source.text(node.func.value)
    given = node.args[0] if library in ("np", "numpy", "torch") and node.args else node.func.value
    text = place.source.text(given)
    return fitted(place, f"{place.text} - {as_operand(text)}")


def _begins_with_zero(place: Place) -> bool:
    """Whether a 0 was put before the sizes or the sums, or one is taken off their end."""
    outer = place.parent()
    put = isinstance(outer, (ast.BinOp, ast.Subscript, ast.Starred, ast.List, ast.Tuple))
    return put or "0]" in place.text.replace(" ", "") or "(0," in place.text.replace(" ", "")


def noted_late(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """`total += size` right before `starts.append(total)`."""
    for node in nodes:
        body = getattr(node, "body", None) if isinstance(node, ast.For) else None
        for first, second in zip(body or (), (body or [])[1:], strict=False):
            if isinstance(first, ast.AugAssign) and isinstance(first.op, ast.Add) and isinstance(second, ast.Expr):
                call = second.value
                noted = isinstance(call, ast.Call) and called(call) == "append" and len(call.args) == 1
                if noted and ast.unparse(call.args[0]) == ast.unparse(first.target):  # type: ignore[attr-defined]
                    yield first, second


def _exchanged(first: Place, second: Place) -> tuple[Edit, ...]:
    if first.span.end_line != first.span.line or second.span.end_line != second.span.line:
        raise EditError("the statements are longer than a line")
    return changed(first.source, [(first.span, second.text), (second.span, first.text)])
