"""Ways through a recording: the failing call's operands, and the chain of calls that led to each."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence, Step
from explainer.edits.place import Place
from explainer.frozen import frozen

_VALUES = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Attribute, ast.Name)
_JOINING = ("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack")
_MODULES = ("torch", "F", "nn", "np")


@frozen
class Operand:
    """A tensor that went into the failing call: where the source writes it, its shape and dtype, its own chain."""

    place: Place | None
    shape: list[int]
    dtype: str
    index: int
    start: int | None

    @property
    def text(self) -> str:
        """Its source."""
        return self.place.text if self.place is not None else ""


def operands(evidence: Evidence) -> list[Operand]:
    """The tensors that the failing call got, in order; parameters of layers have no place in the source."""
    crash = evidence.crash
    if crash is None:
        return []
    places = argument_places(crash)
    found = []
    for index, (shape, dtype) in enumerate(crash.before):
        place = places[index] if index < len(places) else None
        start = crash.inputs[index] if index < len(crash.inputs) else None
        found.append(Operand(place, shape, dtype, index, start))
    return found


def argument_places(step: Step) -> list[Place]:
    """The expressions that may be a call's tensors, the receiver of a method first, elements of a list in turn."""
    if step.place is None:
        return []
    node = step.place.node
    if isinstance(node, ast.AugAssign):
        return [step.place.at(node.target), step.place.at(node.value)]
    if isinstance(node, ast.BinOp):
        return [step.place.at(node.left), step.place.at(node.right)]
    if isinstance(node, ast.Compare):
        return [step.place.at(node.left), *(step.place.at(one) for one in node.comparators)]
    if isinstance(node, ast.Subscript):
        return [step.place.at(one) for one in (node.value, *_of_subscript(step.place, node, len(step.before) - 1))]
    if not isinstance(node, ast.Call):
        return []
    return [step.place.at(one) for one in _arguments(node, step)]


def _of_subscript(place: Place, node: ast.Subscript, count: int) -> list[ast.expr]:
    """The tensors among the parts of a subscript, `count` in all, and what is written there where it is a target."""
    parent = place.parent()
    value = parent.value if isinstance(parent, ast.Assign) and parent.targets == [node] else None
    if value is None or isinstance(value, ast.Constant):
        return _indices(node, count)
    found = _indices(node, count - 1) if count > 1 else []
    return [*found, value] if len(found) == count - 1 else found


def _indices(node: ast.Subscript, count: int) -> list[ast.expr]:
    """The tensors among the parts of a subscript, where just as many parts as there are tensors may be some."""
    if not isinstance(node.slice, ast.Tuple):
        return [node.slice]
    parts = [one for one in node.slice.elts if not isinstance(one, (ast.Slice, ast.Constant))]
    return parts if len(parts) == count else []


def _arguments(node: ast.Call, step: Step) -> Iterator[ast.expr]:
    function = node.func
    method = isinstance(function, ast.Attribute) and function.attr.rstrip("_") == step.function.rstrip("_")
    if isinstance(function, ast.Attribute) and method and step.layer is None:
        owner = function.value
        if ast.unparse(owner).split(".")[0] not in _MODULES:
            yield owner
    for one in [*node.args, *(word.value for word in node.keywords)]:
        if isinstance(one, (ast.List, ast.Tuple)):
            yield from one.elts
        elif step.function in _JOINING:  # of a list's elements the source has no expressions
            return
        elif not isinstance(one.operand if isinstance(one, ast.UnaryOp) else one, (ast.Constant, ast.Starred)):
            yield one  # numbers, signed ones too, are dimensions


def chain(evidence: Evidence, start: int | None, most: int = 40) -> list[Step]:
    """The steps behind an operand, nearest first, breadth first."""
    found: list[int] = [] if start is None else [start]
    for index in found:
        for source in evidence.steps[index].inputs:
            if source is not None and source not in found and len(found) < most:
                found.append(source)
    return [evidence.steps[index] for index in found]


def trunk(evidence: Evidence, start: int | None, most: int = 40) -> list[Step]:
    """The steps behind an operand by their first recorded input: the way of the data, nearest first."""
    found: list[int] = []
    while start is not None and start not in found and len(found) < most:
        found.append(start)
        start = next((one for one in evidence.steps[start].inputs if one is not None), None)
    return [evidence.steps[index] for index in found]


def editable(place: Place | None) -> bool:
    """Whether a method call can be put behind the expression at a place."""
    return place is not None and isinstance(place.node, _VALUES)


def ragged(evidence: Evidence) -> bool:
    """Whether samples that differ in size were to be stacked."""
    crash = evidence.crash
    return crash is not None and crash.function == "stack" and "equal size" in evidence.message


def collated(evidence: Evidence) -> bool:
    """Whether samples that differ in size were to be stacked in a `collate_fn` of the program's own."""
    running = {frame.function for frame in evidence.frames} if ragged(evidence) else set()
    nodes = (node for source in evidence.sources_seen() for node in source.nodes() if isinstance(node, ast.keyword))
    given = (ast.unparse(one.value).rpartition(".")[2] for one in nodes if one.arg == "collate_fn")
    return bool(running) and any(name in running for name in given)


def parting(evidence: Evidence) -> Step | None:
    """The call that gave samples of one size different ones; None where they differed from the start.

    It is the last one that the samples went through, at one place, of one size there and of several behind it. Parts of
    one tensor are of one size where most are, and none is longer: the others reach past its end. So do parts of samples
    of several sizes.
    """
    crash = evidence.crash
    if crash is None or not ragged(evidence):
        return None
    ways = [trunk(evidence, start) for start in crash.inputs if start is not None]
    for step in ways[0] if ways else ():
        found = [next((one for one in way if _same(one.place, step.place) and one.before), None) for way in ways]
        through = [one for one in found if one is not None]
        if step.place is None or 2 * len(through) <= len(ways):
            continue  # of calls that were alike one is listed, so that some ways begin behind it
        if len({tuple(one.before[0][0]) for one in through}) > 1:
            short = _short(through, [shape for shape, _ in crash.before])
            if short is None:
                continue
            return short
        if len({tuple(one.shape) for one in through}) > 1:
            whole = {one.inputs[0] for one in through} != {None} and len({one.inputs[0] for one in through}) == 1
            parts = whole and not _mostly_longest([shape for shape, _ in crash.before])
            return None if parts else next(one for one in through if _resized(one))
    return None


def _same(one: Place | None, other: Place | None) -> bool:
    return one is not None and other is not None and one.node is other.node


def _short(steps: list[Step], shapes: list[list[int]]) -> Step | None:
    """One of the calls that made less of a sample than most, which bring samples of several sizes to one."""
    longest = max(shapes)
    cut, less = ([one for one in steps if (one.shape == longest) is told] for told in (True, False))
    return less[0] if cut and less and _mostly_longest(shapes) and all(map(_resized, cut)) else None


def _mostly_longest(shapes: list[list[int]]) -> bool:
    return 2 * shapes.count(max(shapes)) > len(shapes)


def channels(evidence: Evidence) -> int | None:
    """The number of channels of most samples, where others have one and are of the same size else; None elsewhere."""
    crash = evidence.crash
    shapes = {tuple(shape) for shape, _ in crash.before} if crash is not None and ragged(evidence) else set()
    firsts = {shape[0] for shape in shapes if len(shape) > 2}
    alike = len({shape[1:] for shape in shapes}) == 1 and len(shapes) == len(firsts) == 2
    return max(firsts) if alike and min(firsts) == 1 else None


def _resized(step: Step) -> bool:
    return bool(step.before) and bool(step.out) and step.before[0][0] != step.shape
