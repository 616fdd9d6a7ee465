"""Candidates for indices, labels and dimensions out of range."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from explainer.edits.calls import asks_how_much
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Layer, Step
from explainer.edits.expressions import summands
from explainer.edits.generators.sites import LEAVING
from explainer.edits.generators.sizes import built_for
from explainer.edits.generators.slices import chain, editable, operands, trunk
from explainer.edits.kinds.arguments import set_argument
from explainer.edits.kinds.statements import insert_statement
from explainer.edits.place import Place, fitted
from explainer.replay.recorders.taint import literals
from explainer.source import holds, loaded, stored, walked

#: What stands around the largest of some values and gives it as a plain number.
_AROUND = ("int(", "max(")
_VALUES = ("tensor", "as_tensor")
#: Labels that go this many times beyond the classes, or are seen so often each, are the numbers of something else.
_FAR, _OFTEN = 3, 4
#: What takes entries at places.
_TAKING = ("gather", "take_along_dim", "index_select")


def lengths(evidence: Evidence) -> Iterator[Candidate]:
    """`len(x)` -> `len(x) + 1`, or what is missing, where a count that the failing call depends on is a length."""
    leaves: dict[Any, list] = {}
    for leaf in counted_lengths(evidence):
        leaves.setdefault(tuple(leaf[1]), leaf)
    said = set(evidence.said)
    for leaf in sorted(leaves.values(), key=lambda leaf: leaf[-1] not in said):
        place = evidence.place(leaf[1])
        if place is not None:
            for more in dict.fromkeys((1, _missing(evidence))):
                new = f"{place.text} + {more}"
                kind = "one-more" if more == 1 else "more"
                yield from evidence.replaced(place, fitted(place, new), "replace", kind, new=new)
    yield from _largest(evidence)


def _largest(evidence: Evidence) -> Iterator[Candidate]:
    """`int(ids.max())` -> `int(ids.max()) + 1`: the largest index taken for how many there are."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            if not isinstance(node, ast.Call) or not _is_largest(node):
                continue
            place = Place(source, node)
            outer = place.parent()
            while isinstance(outer, (ast.Call, ast.Attribute)) and source.text(outer).startswith(_AROUND):
                place = place.at(outer)
                outer = place.parent()
            if not isinstance(outer, (ast.BinOp, ast.Attribute, ast.Subscript, ast.Compare)):
                new = f"{place.text} + 1"
                yield from evidence.replaced(place, new, "replace", "one-more", new=new)


def _is_largest(node: ast.Call) -> bool:
    if isinstance(node.func, ast.Name):
        return node.func.id == "max" and len(node.args) == 1
    return isinstance(node.func, ast.Attribute) and node.func.attr in ("max", "amax") and not node.args


def made(evidence: Evidence) -> Iterator[Candidate]:
    """A term less in the range from which an index is drawn, `randint(0, len(names) + 1, ...)`, where it is no data."""
    for operand in operands(evidence):
        for step in chain(evidence, operand.start):
            for tree in step.numbers if step.function in ("randint", "arange", "randint_like", "full") else ():
                place = evidence.place(tree[4]) if tree[0] == "op" and tree[4] else None
                drawn = step.function.startswith("randint") and place is not None and not asks_how_much(place.node)
                if place is not None and isinstance(place.node, ast.BinOp) and not drawn:
                    for text in _parts(place):
                        yield from evidence.replaced(place, text, "replace", "term", new=text, old=place.text)


def _missing(evidence: Evidence) -> int:
    """How many rows the failing table has too few for the largest index; 1 where that is not known."""
    crash = evidence.crash
    high = max((extent[1] for extent in (crash.extents if crash else ()) if extent is not None), default=0)
    rows = [layer.value("num_embeddings") for layer in _tables(evidence) if layer.type.startswith("Embedding")]
    return max(1, high + 1 - rows[0]) if rows and rows[0] else 1


def counted_lengths(evidence: Evidence) -> list[list[Any]]:
    """The lengths that the numbers given to the failing call, to what led to it and to its layers come from."""
    return [leaf for tree in _trees(evidence) for leaf in literals(tree) if leaf[0] == "len"]


def _trees(evidence: Evidence) -> Iterator[list]:
    for step in evidence.steps:
        if step.function not in _VALUES:  # their numbers are values, not sizes
            yield from step.numbers
    for layer in evidence.layers_around():
        for trees in layer.numbers.values():
            yield from trees


def shifted(evidence: Evidence) -> Iterator[Candidate]:
    """Labels or indices that run from 1 to n made to run from 0: `- 1` where they come from."""
    if evidence.crash is not None and evidence.crash.function != "embedding":
        yield from _from_zero(evidence)


def _from_zero(evidence: Evidence) -> Iterator[Candidate]:
    extents = evidence.crash.extents if evidence.crash is not None else ()
    for operand, own in zip(operands(evidence), extents, strict=False):
        extent = _from_one(evidence, own)
        if extent is None:
            continue
        places = [p for step in chain(evidence, operand.start) if "int" in step.dtype for p in step.places[:1]]
        if extent[0] > 1:  # how many there are is right: it is no place
            places = places[:1]
        for place in [*reversed(places), operand.place]:
            if place is not None and editable(place):
                text = fitted(place, f"{place.text} - 1")
                words: dict[str, Any] = {"what": place.text[:48], "low": extent[0], "high": extent[1]}
                yield from evidence.replaced(place, text, "replace", "shift", **words)


def _from_one(evidence: Evidence, extent: Sequence[int] | None) -> Sequence[int] | None:
    """The range from 1 to a size that an operand's values have, or all together, as both ends of edges do."""
    extents = evidence.crash.extents if evidence.crash is not None else ()
    known = [one for one in extents if one is not None]
    ranges = [extent, [min(one[0] for one in known), max(one[1] for one in known)]] if extent is not None else []
    counts = evidence.crash is not None and evidence.crash.function in _TAKING  # the last of so many: lengths
    fits = (one for one in ranges if (one[0] == 1 or (counts and one[0] > 1)) and _fits_shifted(evidence, one[1]))
    return next(fits, None)


def _fits_shifted(evidence: Evidence, high: int) -> bool:
    """Whether the largest value is just one beyond what a size of the failing call allows."""
    sizes = [size for operand in operands(evidence) for size in operand.shape]
    return high in sizes or str(high) in re.findall(r"\d+", evidence.message)


def ranged(evidence: Evidence) -> Iterator[Candidate]:
    """`range(n)` -> `range(n - 1)` of the loop whose variable, with one added, is an index that does not exist."""
    crash = evidence.crash
    if crash is None or crash.place is None:
        return
    sums = [node for node in walked(crash.place.node) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)]
    names = {one.id for node in sums for one in walked(node) if isinstance(one, ast.Name)}
    line = crash.place.line
    for loop in crash.place.source.nodes():
        if not isinstance(loop, ast.For) or not holds(loop, line):
            continue
        if isinstance(loop.target, ast.Name) and loop.target.id in names and isinstance(loop.iter, ast.Call):
            call = crash.place.at(loop.iter)
            if call.source.text(loop.iter.func) == "range" and loop.iter.args:
                stop = call.at(loop.iter.args[min(1, len(loop.iter.args) - 1)])
                new = f"{stop.text} - 1"
                yield from evidence.replaced(stop, new, "replace", "stop", call, new=new)


def _parts(place: Place) -> list[str]:
    """The sums that are left when terms are dropped, those with fewer terms first; names before numbers."""
    summed = summands(place.node) if isinstance(place.node, ast.expr) else []
    if len(summed) < 2:
        return []
    texts = [place.source.text(node) for node in summed]
    whole = range(len(texts))
    single = sorted((texts[at] for at in whole), key=str.isdigit)
    without = [" + ".join(text for at, text in enumerate(texts) if at != left) for left in reversed(whole)]
    return list(dict.fromkeys([*without, *single] if len(texts) == 2 else [*single, *without]))


def enlarged(evidence: Evidence) -> Iterator[Candidate]:
    """The table, or the number of classes, made large enough for the largest index."""
    crash = evidence.crash
    extents = [extent for extent in (crash.extents if crash else ()) if extent is not None]
    for low, high, distinct in extents:
        if low < 0 or crash is None:
            continue
        for layer in _tables(evidence):
            argument = "num_embeddings" if layer.type.startswith("Embedding") else LEAVING[layer.type][0]
            own = layer.value(argument) or 0
            if own <= high and not (argument != "num_embeddings" and sparse(crash, own, high, distinct)):
                # Sums of whatever is in scope give the number too, but a table's rows are hardly ever meant so.
                # One row more than there are is for a mark that was added to the others.
                built = list(built_for(evidence, layer, argument, high + 1))
                more = [one for one in built if own == high and _one_more(one)]
                yield from (*more, *(one for one in built if not _summed(one)))


def sparse(crash: Step, classes: int, high: int, distinct: int) -> bool:
    """Whether labels are no more numbers than there are classes, with gaps that chance does not explain."""
    count = max((math.prod(shape) for shape, dtype in crash.before if "int" in dtype), default=0)
    return distinct <= classes + 1 and (high >= _FAR * classes or count >= _OFTEN * (high + 1))


def _one_more(candidate: Candidate) -> bool:
    """Whether an edit adds 1 to what stands there, and names nothing else."""
    before, after = candidate.edits[0].before or "", candidate.edits[0].after or ""
    return after.count(" + 1") > before.count(" + 1") and after.replace(" + 1", "") == before.replace(" + 1", "")


def _summed(candidate: Candidate) -> bool:
    added = len((candidate.edits[0].after or "").split(" + ")) > len((candidate.edits[0].before or "").split(" + "))
    return candidate.kind == "set-argument" and added


def _tables(evidence: Evidence) -> list[Layer]:
    """The embedding that failed, or the layers that gave the scores."""
    crash = evidence.crash
    found = [crash.layer] if crash and crash.layer and crash.layer.type.startswith("Embedding") else []
    for operand in operands(evidence):
        for step in trunk(evidence, operand.start, 8):
            if step.layer is not None and step.layer.type in LEAVING:
                found.append(step.layer)
                break
    return found


_OUTSIDE = re.compile(r"index (-?\d+) is out of bounds")
_TARGET = re.compile(r"Target (-?\d+) is out of bounds")
#: Labels that mark what is unsure, or has none.
_MARKS = (255, -1)


def ignored(evidence: Evidence) -> Iterator[Candidate]:
    """`kept = target != 255` above what counts labels, where the program's loss ignores that label."""
    outside, frame = _OUTSIDE.search(evidence.message), evidence.frames[-1] if evidence.frames else None
    mark = _label(evidence, int(outside[1])) if outside is not None else ""
    function = frame.place.source.function_at(frame.place.line) if frame is not None else None
    if frame is None or not mark or not isinstance(function, ast.FunctionDef):
        return
    source = frame.place.source
    for name in sorted(loaded(frame.place.node)):
        bound = _bindings(function, name, frame.place.line)
        above = bound[-1] if bound else None
        beside = [one for one in _names_of(function, above) if frame.shape(one) == frame.shape(name) != []]
        if name not in beside:
            continue
        row, kept = ", ".join(beside), ", ".join(f"{one}[kept]" for one in beside)
        text = f"kept = {name} != {mark}\n{row} = {kept}"
        after = {"after": Place(source, above)} if above is not None else {"before": Place(source, function.body[0])}
        edits = partial(insert_statement, text, **after)
        words: dict[str, Any] = {"new": f"{name}[kept]", "old": name}
        yield from evidence.made(edits, "insert-statement", frame.place, "rename", **words)


def told_to_ignore(evidence: Evidence) -> Iterator[Candidate]:
    """`CrossEntropyLoss(weight=w)` -> with `ignore_index=255`, wherever it is built: a label that is a mark."""
    outside = _TARGET.search(evidence.message)
    crash = evidence.crash
    layers = [one for one in (crash.layer if crash is not None else None, *evidence.on_stack) if one is not None]
    for layer in layers if outside is not None and int(outside[1]) in _MARKS else ():
        at = layer.calls[0].place if layer.type in ("CrossEntropyLoss", "NLLLoss") and layer.calls else None
        given = at.node.keywords if at is not None and isinstance(at.node, ast.Call) else []
        if at is not None and not any(one.arg == "ignore_index" for one in given):
            edits = partial(set_argument, at, "ignore_index", int(outside[1]))  # type: ignore[index]
            words: dict[str, Any] = {"layer": layer.type, "value": outside[1]}  # type: ignore[index]
            yield from evidence.made(edits, "set-argument", at, "mark", **words)


def _label(evidence: Evidence, label: int) -> str:
    """How the program writes the label that its loss ignores, where it is this one."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.keyword) and node.arg == "ignore_index":
                text = source.text(node.value)
                if str(evidence.frames[-1].scope.get(text, text)) == str(label):
                    return text
    return ""


def _bindings(function: ast.FunctionDef, name: str, line: int) -> list[ast.stmt]:
    """The statements of a function above a line that give a name a value."""
    above = [one for one in function.body if one.lineno < line and name in stored(one)]
    return [one for one in above if isinstance(one, ast.Assign)]


def _names_of(function: ast.FunctionDef, above: ast.stmt | None) -> list[str]:
    """The names that are bound by a statement, or as the parameters of a function."""
    names = [one.arg for one in function.args.args]
    return [one for one in names if one in stored(above)] + sorted(stored(above) - set(names)) if above else names
