"""Candidates for sizes counted from the data at hand: classes that this part of it lacks are counted all the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits import expressions
from explainer.edits.arguments import add_argument, argument_node
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence, Step
from explainer.edits.lines import EditError
from explainer.edits.place import Place
from explainer.edits.search_index import sparse
from explainer.edits.sites import enclosing
from explainer.edits.slices import chain, operands
from explainer.patterns import Pattern
from explainer.source import holds

#: Functions whose result is as long as the largest value demands, with the argument that says how long it has to be.
_COUNTING = {"bincount": "minlength", "one_hot": "num_classes"}
#: Functions that make a tensor of numbers.
_MADE = ("tensor", "as_tensor", "from_numpy", "asarray", "LongTensor")
#: How many classes a part of the data may lack, where only a difference of sizes tells it.
_MORE = 100
#: How a number of classes is counted from labels.
_COUNTS = (
    Pattern(r"(?P<of>[\w.\[\]]+)\.(?:max|amax|unique)\(\)"),
    Pattern(r"(?:(?:torch|np)\.)?(?:max|amax|unique|set)\((?P<of>[\w.\[\]]+?)(?:\.tolist\(\))?\)"),
)


def absent(evidence: Evidence) -> Iterator[Candidate]:
    """`bincount(labels)` -> `bincount(labels, minlength=5)` where the failing call wanted more than occurred."""
    said = sorted(evidence.said)
    for step in evidence.steps:
        place = step.place
        if place is None or not _counts(step, place):
            continue
        argument = _COUNTING[step.function]
        for size in _wanted(said, step.shape[-1]):
            for text in _texts(evidence, place, size):
                words: dict[str, Any] = {"old": step.shape[-1], "new": size, "argument": f"{argument}={text}"}
                edits = partial(add_argument, place, f"{argument}={text}")
                yield from evidence.made(edits, "add-argument", place, "all-classes", **words)


def _wanted(said: list[int], counted: int) -> list[int]:
    """The sizes that would do: a larger one that the message names, or as much more as two of its sizes differ by."""
    apart = {larger - smaller for larger in said for smaller in said if larger > smaller > 1}
    sizes = {size for size in said if size > counted} | {counted + more for more in apart if more < _MORE}
    return sorted(sizes)


def _counts(step: Step, place: Place) -> bool:
    """Whether a step is a call that counts, without the argument that fixes the length."""
    if step.function not in _COUNTING or not isinstance(place.node, ast.Call) or not step.shape:
        return False
    named = any(word.arg == _COUNTING[step.function] for word in place.node.keywords)
    return not named and len(place.node.args) < 2


def _texts(evidence: Evidence, place: Place, size: int) -> list[str]:
    """A name for a size in the function of a place, then the number."""
    frame = evidence.frame_of(place)
    named = expressions.named(size, frame.scope) if frame is not None else []
    return [*[text for text in named if re.fullmatch(r"[\w.]+", text)][:1], str(size)]


def of_part(evidence: Evidence) -> Iterator[Candidate]:
    """`build(train_y)` -> `build(y)` where the labels that a layer's classes were counted from are part of others."""
    for layer in evidence.layers_around():
        for call, outer in zip(layer.calls, [*layer.calls[1:], None], strict=True):
            for given in _counted(call):
                handed = _handed(given, call, outer)
                where = outer if handed is not given and outer is not None else call
                yield from _whole(evidence, where, handed)


def _counted(call: Call) -> Iterator[Place]:
    """The labels whose classes the function of a call counts: of `y.max()`, `len(set(y))`, `len(torch.unique(y))`."""
    source, line = call.place.source, call.place.node.lineno
    function = source.function_at(line)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Call) and node.lineno <= line:
            found = next(filter(None, (one.fullmatch(source.text(node)) for one in _COUNTS)), None)
            owner = next((one for one in ast.walk(node) if found and source.text(one) == found.group("of")), None)
            if owner is not None:
                yield Place(source, owner)  # type: ignore[arg-type]


def _handed(given: Place, call: Call, outer: Call | None) -> Place:
    """What the caller gave for a parameter; for all else the place itself."""
    parameters = enclosing(call.place) or []
    if outer is None or given.text not in parameters or not isinstance(outer.place.node, ast.Call):
        return given
    try:
        node = argument_node(outer.place, given.text, parameters)
    except EditError:
        return given
    return outer.place.at(node) if node is not None else given


def _whole(evidence: Evidence, where: Call, given: Place) -> Iterator[Candidate]:
    """The other tensors in reach of one dimension that are longer, in the place of the labels that were counted."""
    tensors = {name: value[0] for name, value in where.scope.items() if isinstance(value, list) and len(value[0]) == 1}
    for name, shape in tensors.items():
        if name != given.text and "int64" in str(where.scope[name]) and _longer(shape[0], given, where):
            words: dict[str, Any] = {"old": given.text, "new": name}
            yield from evidence.replaced(given, name, "replace", "all-labels", **words)


def _longer(size: int, given: Place, where: Call) -> bool:
    """Whether a size is beyond that of what was counted, as far as that is known."""
    own = where.scope.get(given.text)
    return not isinstance(own, list) or size > own[0][0]


def coded(evidence: Evidence) -> Iterator[Candidate]:
    """Codes for labels made class numbers where all of them become a tensor: `torch.unique(y, return_inverse=True)`."""
    crash = evidence.crash
    if crash is None or not ("nll" in crash.function or "cross_entropy" in crash.function):
        return
    classes = crash.before[0][0][1] if len(crash.before[0][0]) > 1 else 0
    for operand, extent in zip(operands(evidence), crash.extents, strict=False):
        if extent is None or not sparse(crash, classes, extent[1], extent[2]):
            continue
        for step in chain(evidence, operand.start):
            place = step.place
            if step.function in _MADE and place is not None and _once(place) and isinstance(place.node, ast.Call):
                new = f"torch.unique({place.text}, return_inverse=True)[1]"
                words: dict[str, Any] = {"what": place.text[:48], "low": extent[0], "high": extent[1]}
                yield from evidence.replaced(place, new, "replace", "class-numbers", **words)


def _once(place: Place) -> bool:
    """Whether an expression sees all labels: not those of a sample or a batch, inside a loop or a loader's function."""
    function = place.source.function_at(place.span.line)
    names = [one.arg for one in function.args.args] if function is not None else []
    repeated = getattr(function, "name", "") in ("__getitem__", "forward", "__call__") or "batch" in names
    loops = (one for one in place.source.nodes() if isinstance(one, (ast.For, ast.While)))
    return not repeated and not any(holds(one, place.span.line) for one in loops)
