"""Candidates for ids that a table does not have: marks of padding, ids of a whole graph used in a part of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_primary, bound_above, fitted
from explainer.edits.slices import Operand, chain, editable, operands
from explainer.edits.statements import insert_statement
from explainer.patterns import Pattern

_PADDING = ("padding_value", "ignore_index", "value", "fill_value", "constant_values", "pad_id", "pad")
#: What losses leave out unless they are told otherwise.
_IGNORED = -100
#: Names of the id of padding: `pad`, `cfg.pad_id`, `PAD_TOKEN_ID`.
_PAD = Pattern(r"(?:\w+\.)*pad(?:_?(?:token_?)?(?:id|idx|index|token))?", re.IGNORECASE)
_LENGTHS = {"length", "lengths", "len", "lens", "count", "counts", "size", "sizes", "seqlen", "seqlens", "n"}


def padded(evidence: Evidence) -> Iterator[Candidate]:
    """`table(ids)` -> `table(ids.masked_fill(ids < 0, 0))`, where a negative id is the program's mark of padding.

    Ids that the function has made for this table, from labels as it may be, are filled right behind that.
    """
    crash = evidence.crash
    if crash is None or crash.function != "embedding":
        return
    lows = [extent[0] for extent in crash.extents if extent is not None]
    for operand in operands(evidence):
        low = min(lows, default=0)
        if operand.dtype not in ("int64", "int32") or operand.place is None or low >= 0 or not _marks(evidence, low):
            continue
        text, row = operand.text, _padding_row(evidence)
        new = f"{as_primary(operand.place)}.masked_fill({text} < 0, {row})"
        words: dict[str, Any] = {"low": low, "new": new, "row": row}
        made = _made_for(operand.place)
        if made is not None:
            edits = partial(insert_statement, f"{text} = {new}", after=made)
            yield from evidence.made(edits, "insert-statement", made, "mark", **words)
        yield from evidence.replaced(operand.place, new, "replace", "mark", **words)


def centred(evidence: Evidence) -> Iterator[Candidate]:
    """`table(steps)` -> `table(steps + reach)`: steps from -reach to reach, in a table of 2 * reach + 1 rows."""
    crash, every = evidence.crash, operands(evidence)
    if crash is None or crash.function not in ("embedding", "__getitem__", "index_select", "gather"):
        return
    rows = next((one.shape[0] for one in every if one.dtype.startswith(("float", "bfloat")) and one.shape), 0)
    reach = rows // 2
    for operand, extent in zip(every, crash.extents, strict=False):
        if extent is None or operand.place is None or not rows % 2 or not -reach <= extent[0] < 0 < extent[1] <= reach:
            continue
        scope = evidence.frames[-1].scope if evidence.frames else {}
        names = [name for name, value in scope.items() if value == reach and isinstance(value, int)]
        by = next(iter(names), str(reach))
        new = fitted(operand.place, f"{operand.text} + {by}")
        words: dict[str, Any] = {"what": operand.text[:48], "by": by, "low": extent[0], "high": extent[1], "rows": rows}
        yield from evidence.replaced(operand.place, new, "replace", "centred", **words)


def _padding_row(evidence: Evidence) -> str:
    """The table's `padding_idx` where it has one, else a name in scope for the id of padding, else 0."""
    crash = evidence.crash
    layer, node = (crash.layer, crash.place.node) if crash is not None and crash.place is not None else (None, None)
    func = node.func if isinstance(node, ast.Call) else None
    if layer is not None and layer.value("padding_idx") and isinstance(func, (ast.Name, ast.Attribute)):
        return f"{ast.unparse(func)}.padding_idx"
    scope = evidence.frames[-1].scope if evidence.frames else {}
    known = [name for name, value in scope.items() if isinstance(value, int) and value >= 0 and _PAD.fullmatch(name)]
    zero = layer is not None and layer.value("padding_idx") == 0
    return "0" if zero or not known else known[0]


def _made_for(place: Place) -> Place | None:
    """The assignment of a name that is computed for the failing call and read nowhere else but with it."""
    name = place.node.id if isinstance(place.node, ast.Name) else ""
    scope = place.source.function_at(place.span.line)
    bound = bound_above(scope, name, place.span.line) if scope is not None and name else None
    if scope is None or bound is None or not isinstance(bound.value, (ast.Call, ast.Subscript)):
        return None
    lines = {one.lineno for one in ast.walk(scope) if isinstance(one, ast.Name) and one.id == name}
    return place.at(bound) if lines == {bound.lineno, place.span.line} else None


def _marks(evidence: Evidence, low: int) -> bool:
    """Whether the program pads with a number, or has a constant named so with that value; losses ignore -100."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            if any(_number(value) == low and _is_mark(name) for name, value in _named(node)):
                return True
            if low == _IGNORED and _number(node) == low:
                return True
    return False


def _named(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """What a node gives a name to: keywords, assignments, the defaults of parameters, entries of a dict."""
    if isinstance(node, ast.keyword) and node.arg:
        yield f"{node.arg}_pad" if node.arg in _PADDING else node.arg, node.value
    elif isinstance(node, ast.Assign):
        yield from ((ast.unparse(one), node.value) for one in node.targets)
    elif isinstance(node, ast.AnnAssign):
        yield ast.unparse(node.target), node.value
    elif isinstance(node, ast.arguments):
        with_default = [*node.posonlyargs, *node.args][-len(node.defaults) :] if node.defaults else []
        yield from zip([one.arg for one in with_default], node.defaults, strict=True)
        yield from zip([one.arg for one in node.kwonlyargs], node.kw_defaults, strict=True)
    elif isinstance(node, ast.Dict):
        yield from ((str(key.value), value) for key, value in zip(node.keys, node.values, strict=True)
                    if isinstance(key, ast.Constant))  # fmt: skip


def _is_mark(name: str) -> bool:
    return bool(set(re.split(r"[\W_]+", name.upper())) & {"PAD", "IGNORE", "MASK", "PADDING"})


def _number(node: ast.AST | None) -> object:
    try:
        return ast.literal_eval(node)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None


def renumbered(evidence: Evidence) -> Iterator[Candidate]:
    """Ids of all rows made positions among the chosen ones: `edges` of a graph, used as an index into `x[nodes]`."""
    crash = evidence.crash
    if crash is None or crash.function not in ("__getitem__", "index_select", "embedding", "gather", "index_add"):
        return
    every = operands(evidence)
    for table in every:
        for chosen, ids in _chosen(evidence, table):
            for index in (one for one in every if one is not table and "int" in one.dtype):
                yield from _renumbered(evidence, index, chosen, ids)


def _chosen(evidence: Evidence, table: Operand) -> Iterator[tuple[Place, str]]:
    """The subscripts `x[nodes]` that gave a table its rows, with the source of `nodes`."""
    rows = table.shape[0] if table.shape else 0
    for step in chain(evidence, table.start):
        place = step.place
        if step.function != "__getitem__" or place is None or not isinstance(place.node, ast.Subscript):
            continue
        whole = step.before[0][0] if step.before else []
        if isinstance(place.node.slice, ast.Name) and step.shape[:1] == [rows] and whole and whole[0] > rows:
            yield place, place.node.slice.id


def _renumbered(evidence: Evidence, index: Operand, chosen: Place, ids: str) -> Iterator[Candidate]:
    """The ids behind an index, in the function that chose the rows, as positions: where `ids` has each of them."""
    function = chosen.source.function_at(chosen.span.line)
    if function is None or not _left_to(function, ids):
        return
    for step in [one for one in chain(evidence, index.start) if "int" in one.dtype]:
        for place in _in_function(step, chosen, function):
            new = places_among(as_primary(place), ids)
            edits = partial(changed, place.source, [(place.span, new)])
            yield from evidence.made(edits, "replace", place, "renumber", what=place.text[:48], ids=ids)


def places_among(values: str, ids: str) -> str:
    """Where each of some values is among `ids`, each of which is there once."""
    return f"({values}.unsqueeze(-1) == {ids}).int().argmax(-1)"


def _left_to(function: ast.AST, ids: str) -> bool:
    """Whether a function leaves out what is not among some ids: by a mask, `keep[ids] = True`, or by `isin`."""
    for node in ast.walk(function):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Subscript) and ast.unparse(target.slice) == ids:
            return True
        if isinstance(node, ast.Call) and "isin" in ast.unparse(node.func) and ids in map(ast.unparse, node.args):
            return True
    return False


def _in_function(step: Step, chosen: Place, function: ast.AST | None) -> list[Place]:
    found = [one for one in step.places if one.source is chosen.source and editable(one)]
    return [one for one in found if one.source.function_at(one.span.line) is function][:1]


def lengths_less(evidence: Evidence) -> Iterator[Candidate]:
    """`out[rows, lengths]` -> `out[rows, lengths - 1]`: lengths, the largest of which is a size, are no positions."""
    crash = evidence.crash
    if crash is None or crash.function not in ("__getitem__", "gather", "index_select", "take_along_dim"):
        return
    sizes = crash.before[0][0] if crash.before else []
    for operand in operands(evidence)[1:]:
        extent = crash.extents[operand.index] if operand.index < len(crash.extents) else None
        if extent is None or extent[0] <= 0 or extent[1] not in sizes:
            continue
        for place in _lengths_in(operand.place or crash.place):
            new = f"{as_primary(place)} - 1"
            words: dict[str, Any] = {"what": place.text[:48], "low": extent[0], "high": extent[1]}
            yield from evidence.replaced(place, new, "replace", "shift", **words)


def _lengths_in(place: Place | None) -> Iterator[Place]:
    """The parts of an expression that are named as lengths are."""
    for node in ast.walk(place.node) if place is not None else ():
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else "len"
        if place is not None and name != "len" and set(name.lower().split("_")) & _LENGTHS:
            yield place.at(node)  # type: ignore[arg-type]


def other_size(evidence: Evidence) -> Iterator[Candidate]:
    """`index // x.size(1)` -> `x.size(2)`: the size of another dimension in the arithmetic that gave an index."""
    seen: set[int] = set()
    for operand in operands(evidence):
        for step in chain(evidence, operand.start, 12) if "int" in operand.dtype else ():
            place = step.place
            for node in ast.walk(place.node) if place is not None and isinstance(place.node, ast.BinOp) else ():
                at = _dimension(node)
                if place is None or at is None or id(at) in seen:
                    continue
                seen.add(id(at))
                for new in (one for one in ("1", "2", "0", "-1") if one != ast.unparse(at)):
                    words: dict[str, Any] = {"new": new, "old": place.source.text(at)}
                    yield from evidence.replaced(place.at(at), new, "replace", "dim", place, **words)


def _dimension(node: ast.AST) -> ast.expr | None:
    """The dimension that `x.size(1)` or `x.shape[1]` asks for."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size" and node.args:
        return node.args[0]
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return node.slice
    return None
