"""Candidates for tables of too few rows: a factory's size that misses an index, a largest id sought in a part."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.edits.slices import operands, trunk
from explainer.patterns import Pattern
from explainer.source import Function, Source

_SAID = Pattern(r"index (\d+) is out of bounds for dimension (\d+) with size (\d+)")
#: Calls that make a tensor of the sizes that they are given; what is random may be data, and keeps its size.
_EMPTY = ("zeros", "ones", "empty", "full")
_RANDOM = ("randn", "rand")
#: How many rows may be missing: more are another mistake.
_MOST = 4


def more_rows(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.randn(n, n)` -> `torch.randn(n + 1, n)` for a table that an id beyond the last is looked up in."""
    said, crash = _SAID.search(evidence.message), evidence.crash
    if said is None or crash is None:
        return
    index, dim, size = (int(one) for one in said.groups())
    if not 0 < index + 1 - size <= _MOST:
        return
    for operand in operands(evidence)[:1]:
        made = _EMPTY + _RANDOM * operand.text.startswith("self.")
        for step in trunk(evidence, operand.start):
            given = _size(step, dim) if step.function in made and step.shape == operand.shape else None
            if given is not None:
                yield from _enlarged(evidence, given, index + 1 - size)


def _size(step: Step, dim: int) -> Place | None:
    """The argument of a factory that gives the size of a dimension, where it is no literal."""
    node = step.place.node if step.place is not None else None
    if step.place is None or not isinstance(node, ast.Call) or not node.args:
        return None
    first = node.args[0]
    sizes = first.elts if isinstance(first, (ast.Tuple, ast.List)) else node.args
    if dim >= len(sizes) or isinstance(sizes[dim], (ast.Starred, ast.Constant)):
        return None
    return step.place.at(sizes[dim])


def _enlarged(evidence: Evidence, place: Place, missing: int) -> Iterator[Candidate]:
    bare = isinstance(place.node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    new = f"{place.text} + {missing}" if bare or isinstance(place.node, ast.BinOp) else f"({place.text}) + {missing}"
    yield from evidence.replaced(place, new, "replace", "one-more" if missing == 1 else "more", new=new)


def whole_range(evidence: Evidence) -> Iterator[Candidate]:
    """`ids[:, 0].max() + 1` -> `len(names)` of the dict that numbered them, or `ids.max() + 1` of all columns."""
    for source in evidence.sources_seen():
        for part in filter(None, (_part(node) for node in source.nodes())):
            place = Place(source, part)
            count, whole = _counted(place), source.text(part.value)
            names = _numbering(source.function_at(part.lineno), source) if count is not None else ()
            for at, new in [*((count, f"len({name})") for name in names), (place, whole)]:
                if at is not None:
                    yield from evidence.replaced(at, new, "replace", "rename", new=new, old=at.text)


def exchanged(evidence: Evidence) -> Iterator[Candidate]:
    """`users(pairs[:, 1]) * items(pairs[:, 0])` -> the columns exchanged: each table looks up what the other should."""
    crash = evidence.crash
    place = crash.place if crash is not None and crash.function == "embedding" else None
    statement = place.statement() if place is not None else None
    reads = list(_columns(statement.node)) if statement is not None else []
    if statement is None or len(reads) != 2 or ast.unparse(reads[0]) == ast.unparse(reads[1]):
        return
    first, other = (statement.source.text(one) for one in reads)
    if first.partition("[")[0] == other.partition("[")[0]:
        changes = [(statement.source.span(reads[0]), other), (statement.source.span(reads[1]), first)]
        edits = partial(changed, statement.source, changes)
        yield from evidence.made(edits, "swap-arguments", statement, "exchange-columns", new=f"{other}, {first}")


def _columns(node: ast.AST) -> Iterator[ast.Subscript]:
    """The subscripts with one number that calls in a statement are given: `x[:, 0]` of `table(x[:, 0])`."""
    for call in ast.walk(node):
        for one in call.args if isinstance(call, ast.Call) else ():
            if isinstance(one, ast.Subscript) and _numbered(one):
                yield one


def largest(evidence: Evidence) -> Iterator[Candidate]:
    """`len(ids.unique())` -> `int(ids.max()) + 1`: ids with gaps reach further than there are different ones."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            ids = _told_apart(node)
            if ids is not None:
                place = Place(source, node)  # type: ignore[arg-type]
                new = f"int({source.text(ids)}.max()) + 1"
                yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text)


def _told_apart(node: ast.AST) -> ast.expr | None:
    """`ids` of `len(ids.unique())`, `ids.unique().numel()` and `len(torch.unique(ids))`."""
    if not isinstance(node, ast.Call):
        return None
    counts = isinstance(node.func, ast.Attribute) and node.func.attr in ("numel", "size", "__len__")
    inner = node.func.value if counts else node.args[0] if _is_len(node) else None  # type: ignore[attr-defined]
    if not isinstance(inner, ast.Call) or not isinstance(inner.func, ast.Attribute) or inner.func.attr != "unique":
        return None
    library = ast.unparse(inner.func.value) in ("torch", "np", "numpy")
    return inner.args[0] if library and inner.args else inner.func.value


def _is_len(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1


def _part(node: ast.AST) -> ast.Subscript | None:
    """`ids[:, 0]` of `ids[:, 0].max()` or `max(ids[0])`, where a number picks a row or column."""
    if not isinstance(node, ast.Call):
        return None
    method = isinstance(node.func, ast.Attribute) and node.func.attr in ("max", "amax") and not node.args
    owner = node.func.value if method else node.args[0] if _is_max(node) else None  # type: ignore[attr-defined]
    if not isinstance(owner, ast.Subscript):
        return None
    return owner if _numbered(owner) else None


def _numbered(node: ast.Subscript) -> bool:
    """Whether a subscript picks by one number, and slices besides."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    numbers = [one for one in parts if isinstance(one, ast.Constant) and type(one.value) is int]
    return len(numbers) == 1 and all(isinstance(one, (ast.Slice, ast.Constant)) for one in parts)


def _is_max(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "max" and len(node.args) == 1


def _counted(place: Place) -> Place | None:
    """The sum around a largest id that makes a count of it: `int(ids[:, 0].max()) + 1`."""
    outer = place.parent()
    while outer is not None and isinstance(outer, (ast.Call, ast.Attribute)):
        outer = place.at(outer).parent()
    if not isinstance(outer, ast.BinOp) or not isinstance(outer.op, ast.Add):
        return None
    return place.at(outer) if ast.unparse(outer.right) == "1" else None


def _numbering(function: Function | None, source: Source) -> Iterator[str]:
    """The dicts of a function that number what they are given: `names.setdefault(key, len(names))`."""
    found: dict[str, None] = {}
    for node in ast.walk(function) if function is not None else ():
        name = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault":
            name = source.text(node.func.value)
            counted = node.args[1:]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            name = source.text(node.targets[0].value)
            counted = [node.value]
        if name is not None and any(source.text(one) == f"len({name})" for one in counted):
            found.setdefault(name)
    yield from found
