"""Candidates for views that fix or fold the batch dimension: `view(32, -1)`, `view(-1, 400)`."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from explainer.bindings import only_value
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence, Step
from explainer.edits.expressions import evaluated, product
from explainer.edits.generators.literals import changed_leaf, leaves
from explainer.edits.generators.sites import Site, sites
from explainer.edits.kinds.arguments import add_argument
from explainer.edits.kinds.updates import unrecorded
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.patterns import Pattern
from explainer.replay.recorders.taint import value_of
from explainer.source import called, holds, of_self, stored, walked

CREATORS = ("zeros", "ones", "randn", "rand", "empty", "full", "arange", "eye")
#: Names that mean the length of a map's side.
_SIDE = Pattern(r"(^|_)(side|size|width|height|grid|spatial|h|w|hw)(_|\d*$)")


def reshaped(evidence: Evidence) -> Iterator[Candidate]:
    """`view(32, -1)` -> `view(x.size(0), -1)`; `view(-1, 400)` behind the failure too, with the layer that follows."""
    crash = evidence.crash
    if crash is None:
        return
    for step in evidence.steps[:20]:
        if step.function in ("view", "reshape") and step.place is not None and isinstance(step.place.node, ast.Call):
            yield from _batch_kept(evidence, step, step is crash)


def _batch_kept(evidence: Evidence, step: Step, failing: bool) -> Iterator[Candidate]:
    node: Any = step.place.node  # type: ignore[union-attr]
    given = list(node.args)
    offset = 0 if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value) else 1
    if len(given) == offset + 1 and isinstance(given[offset], (ast.Tuple, ast.List)):
        sizes = given[offset].elts
    else:
        sizes = given[offset:]
    owner = node.func.value if offset == 0 else (given[0] if given else None)
    if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr == "contiguous":
        owner = owner.func.value
    before = step.before[0][0] if step.before else []
    if owner is None or len(sizes) < 2 or not before:
        return
    if len(sizes) == 2 and len(before) > 1:
        yield from _at_definition(evidence, step.place, sizes[1], product(before[1:]), math.prod(before[1:]))  # type: ignore[arg-type]
    if not isinstance(owner, ast.Name):
        return
    batch = f"{owner.id}.size(0)"
    yield from _sizes_replaced(evidence, step, sizes, batch, before, failing)


def _sizes_replaced(
    evidence: Evidence, step: Step, sizes: list, batch: str, before: list[int], failing: bool
) -> Iterator[Candidate]:
    place = step.place
    if place is None or place.source.text(sizes[0]) == batch:
        return
    rest = sizes[1:]
    folds = isinstance(sizes[0], ast.UnaryOp)
    changes = [(place.source.span(sizes[0]), batch)]
    old = place.source.text(sizes[0])
    if failing and not folds:
        edits = partial(changed, place.source, changes)
        yield from evidence.made(edits, "replace", place, "batch-size", new=batch, old=old)
    if len(rest) == 1 and len(before) > 1:
        features = 1
        for size in before[1:]:
            features *= size
        flat = [*changes, (place.source.span(rest[0]), "-1")]
        edits = partial(changed, place.source, flat)
        title = "flat-batch" if folds else "batch-size"
        yield from evidence.made(edits, "replace", place, title, new=f"{batch}, -1" if folds else batch, old=old)
        yield from _with_layer(evidence, place, flat, batch, product(before[1:]), features)


def _at_definition(evidence: Evidence, place: Place, width: ast.expr, sizes: str, features: int) -> Iterator[Candidate]:
    """The number that a view and the layer behind it both take from one name, where it gets its value."""
    name = place.source.text(width)
    for layer in evidence.layers_around() if isinstance(width, (ast.Name, ast.Attribute)) else ():
        built = next(sites(layer, "in_features"), None) if layer.type == "Linear" else None
        if built is None or built.place.source is not place.source or built.place.source.text(built.place.node) != name:
            continue
        scope = place.source.class_at(place.line) if of_self(width) else place.source.scope_at(0)
        value = only_value(scope, name)
        if value is not None and layer.value("in_features") != features:
            at, old = place.at(value), place.source.text(value)
            edits = partial(changed, place.source, [(at.span, sizes)])
            yield from evidence.made(
                edits, "replace", at, "literal", old=old, new=sizes, what="in_features", value=features
            )


def _with_layer(
    evidence: Evidence, place: Place, changes: list, batch: str, sizes: str, features: int
) -> Iterator[Candidate]:
    """The view put right together with the linear layer that reads it."""
    for layer in evidence.layers_around():
        if layer.type != "Linear" or layer.value("in_features") == features:
            continue
        for site in sites(layer, "in_features"):
            edits = partial(_both, place, changes, site, sizes)
            yield from evidence.made(edits, "replace", place, "keep-batch", new=f"{batch}, -1", value=sizes)


def _both(place: Place, changes: list, site: Site, sizes: str) -> tuple:
    if site.place.source.file == place.source.file:
        return changed(place.source, [*changes, (site.place.span, sizes)])
    return (*changed(place.source, changes), *changed(site.place.source, [(site.place.span, sizes)]))


def _is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "F")


def resized_view(evidence: Evidence) -> Iterator[Candidate]:
    """A number that a failing view repeats, `h.view(-1, 16, 8, 8)`, given the value with which the elements fit.

    The same for `unflatten`, also where a layer was built for it: `nn.Unflatten(1, (16, 8, 8))`.
    """
    crash = evidence.crash
    place = _splitting(crash) if crash is not None and crash.before else None
    if crash is None or place is None:
        return
    sizes, shape = [int(tree[-1]) for tree in crash.numbers], crash.before[0][0]
    if crash.function == "unflatten":
        sizes, shape = sizes[1:], [1, shape[sizes[0]]]
    constants = [node for node in walked(place.node) if isinstance(node, ast.Constant)]
    written = {node: node.value for node in constants if type(node.value) is int}
    for old in sorted({value for value in written.values() if value > 1}):
        for new in range(2, 2 * old + 1):
            if new != old and _fill([new if size == old else size for size in sizes], shape):
                same = [place.at(node) for node, value in written.items() if value == old]
                for text in (*_sides(evidence, place, new), str(new)):
                    edits = partial(changed, place.source, [(place.span, text) for place in same])
                    yield from evidence.made(edits, "replace-literal", place, "neighbour", True, old=old, new=text)
    for leaf in leaves(crash.numbers) if not evidence.passed else ():
        yield from _with_leaf(evidence, leaf, crash.numbers[-len(sizes) :], shape)


def _sides(evidence: Evidence, place: Place, value: int) -> list[str]:
    """The names of a side's length that have the value where a view or a layer is made: `side`, `grid_size`."""
    crash, frame = evidence.crash, evidence.frame_of(place)
    calls = crash.layer.calls if crash is not None and crash.layer is not None else ()
    made = next((call for call in calls if call.place.node is place.node), frame)
    names = made.scope.items() if made is not None else ()
    return [name for name, size in names if size == value and name.isidentifier() and _SIDE.search(name)]


def _with_leaf(evidence: Evidence, leaf: list, trees: Sequence[list], shape: list[int]) -> Iterator[Candidate]:
    """A literal behind the sizes of a view given the values with which the elements fit: `"side": 8` -> `7`."""
    for new in range(2, 2 * leaf[-1] + 1):
        if new != leaf[-1] and _fill([value_of(tree, {tuple(leaf[1]): new}) for tree in trees], shape):
            yield from changed_leaf(evidence, leaf, new)


def _splitting(crash: Step) -> Place | None:
    """The call that has the sizes of a view: the failing one, or that which built the layer for it."""
    if crash.function == "unflatten" and crash.layer is not None and crash.layer.type == "Unflatten":
        return crash.layer.calls[0].place if crash.layer.calls else None
    return crash.place if crash.function in ("view", "reshape", "unflatten") else None


def _fill(sizes: list[int], shape: list[int]) -> bool:
    """Whether a view of these sizes has as many elements as a shape; a -1 must stand for the batch."""
    known = math.prod(size for size in sizes if size != -1)
    return known * (shape[0] if -1 in sizes else 1) == math.prod(shape)


def created(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.zeros(1, BATCH, 6)` -> `torch.zeros(1, x.size(0), 6)`: a size taken from a tensor of the same function."""
    said = evidence.said
    for step in evidence.steps[1:30]:
        frame = _frame_of(evidence, step)
        if frame is None or step.function not in CREATORS or step.place is None:
            continue
        for part in sizes_of(step.place):
            if _measured(step.place, part) and "hidden" not in evidence.message:
                continue  # which dimension it is of was thought about
            old = evaluated(part, frame.scope)
            tensors = {name: frame.shape(name) for name in frame.scope if name.isidentifier()}
            texts = [f"{name}.size({at})" for name, shape in tensors.items() for at, size in enumerate(shape)
                     if size in said and size != old and shape != step.shape]  # fmt: skip
            for text in texts if old in said else ():
                edits = partial(changed, step.place.source, [(one.span, text) for one in _alike(step.place, part)])
                words: dict[str, Any] = {"new": text, "old": step.place.source.text(part)}
                yield from evidence.made(edits, "replace", step.place, "batch-size", **words)


def _alike(place: Place, part: ast.expr) -> list[Place]:
    """A size, and those that other calls in the function give in the same words: of `h0` and of `c0`."""
    scope, text = place.source.scope_at(place.node.lineno), place.source.text(part)
    calls = [one for one in walked(scope) if isinstance(one, ast.Call)] if scope is not None else []
    given = [size for call in calls if called(call) in CREATORS for size in sizes_of(place.at(call))]
    return [place.at(size) for size in given if place.source.text(size) == text]


def _frame_of(evidence: Evidence, step: Step) -> Call | None:
    """The failing frame of the function in which a step was made; of a script only in a loop of its own."""
    place = step.place
    inside = place is not None and (place.source.function_at(place.line) is not None or _in_loop(place))
    return evidence.frame_of(place) if place is not None and inside else None


def _in_loop(place: Place) -> bool:
    loops = (one for one in place.source.nodes() if isinstance(one, (ast.For, ast.While)))
    return any(holds(loop, place.line) for loop in loops)


def sizes_of(call: Place) -> list[ast.expr]:
    """The sizes that a creating call is given, one by one or in a tuple."""
    parts: list[ast.expr] = []
    for part in getattr(call.node, "args", []):
        parts += part.elts if isinstance(part, (ast.Tuple, ast.List)) else [part]
    return parts


def _taken(part: ast.AST) -> bool:
    """Whether a size is that of a tensor already: `x.size(0)`, `x.shape[0]`."""
    return any(isinstance(one, ast.Attribute) and one.attr in ("size", "shape") for one in walked(part))


def _measured(place: Place, part: ast.expr) -> bool:
    """Whether a size, or what its name was bound to in the function, is that of a tensor."""
    scope = place.source.scope_at(place.node.lineno)
    names = {one.id for one in walked(part) if isinstance(one, ast.Name)}
    bound = [one for one in walked(scope) if isinstance(one, ast.Assign) and one.lineno < place.node.lineno]
    values = [one.value for one in bound if any(names & stored(target) for target in one.targets)]
    return any(_taken(one) for one in (part, *values))


def left_out(evidence: Evidence) -> Iterator[Candidate]:
    """`DataLoader(...)` -> `drop_last=True`, where full batches went well and the smaller last one does not."""
    if not evidence.passed or any(unrecorded(call.place) for call in evidence.frames):
        return  # an evaluation is of all samples
    for source in evidence.sources_seen():
        for node in (one for one in source.nodes() if isinstance(one, ast.Call)):
            named = ast.unparse(node.func).rsplit(".", 1)[-1] == "DataLoader"
            if named and not any(word.arg in ("drop_last", None) for word in node.keywords):
                place = Place(source, node)
                edits = partial(add_argument, place, "drop_last=True")
                yield from evidence.made(edits, "add-argument", place, "flag", new="drop_last=True", layer="DataLoader")
