"""Candidates for maps that are joined or added and differ in their last sizes: one is brought to the other's size."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.diagnosis import Span
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.shapes import BROADCAST
from explainer.edits.generators.slices import Operand, operands, trunk
from explainer.edits.kinds import statements
from explainer.edits.lines import changed, joined
from explainer.edits.place import Place, as_primary
from explainer.source import Source, called, walked

_CATS = ("cat", "concat", "concatenate")
_JOINS = (*_CATS, *BROADCAST)
_GROWING = ("conv_transpose", "interpolate", "upsample", "unpool", "pixel_shuffle", "repeat_interleave", "expand")
_OF_MAPS = ("conv", "max_pool", "avg_pool", "adaptive", "interpolate", "upsample", "pixel_shuffle")
_PLAIN = (ast.Name, ast.Attribute, ast.Subscript)


def caught_up(evidence: Evidence) -> Iterator[Candidate]:
    """A map that upsampling left less than a step apart from the one beside it, as odd sizes do: brought to its size.

    One that is not a whole number of times as large as before has a layer to blame, whose own size is off. One that is
    a step or more too small lost its edges to convolutions without padding: the other is cropped, where
    it is put beside that, or layers made it.
    """
    for grown, other in _pairs(evidence, _JOINS):
        step = _upsampling(evidence, grown)
        apart = [b - a for a, b in zip(grown.shape[2:], other.shape[2:], strict=True)]
        if step is None or _upsampling(evidence, other) is not None:
            continue
        if max(map(abs, apart)) < _times(step):
            yield from _fitted(evidence, step, grown, other) if _whole(step) else ()
        elif min(apart) >= 0 and _lost_edges(grown, other) and _of_layers(evidence, other):
            yield from _cropped(evidence, grown, other)


def _lost_edges(small: Operand, large: Operand) -> bool:
    """Whether a map may have lost its edges to the other one's: half as large, it was halved once more."""
    return all(2 * a > b for a, b in zip(small.shape[2:], large.shape[2:], strict=True))


def _of_layers(evidence: Evidence, operand: Operand) -> bool:
    """Whether an operand is put beside a map, or layers made it: what a loss compares with is not cut to a map."""
    beside = evidence.crash is not None and evidence.crash.function in _CATS
    return beside or any(step.layer is not None for step in trunk(evidence, operand.start))


def _pairs(evidence: Evidence, functions: tuple[str, ...]) -> Iterator[tuple[Operand, Operand]]:
    """Maps of the failing call of one rank and batch, but of different sizes, both ways round."""
    crash, every = evidence.crash, operands(evidence)
    if crash is None or crash.function not in functions or not any(_is_map(evidence, one) for one in every):
        return
    for one in every:
        for other in every:
            alike = len(one.shape) == len(other.shape) and one.shape[0] == other.shape[0]
            if alike and len(one.shape) > 2 and one.shape[2:] != other.shape[2:]:
                yield one, other


def _is_map(evidence: Evidence, operand: Operand) -> bool:
    """Whether the dimensions behind the second are places: of an image or volume, or of what a convolution made."""
    if len(operand.shape) != 3:
        return len(operand.shape) in (4, 5)
    return any(part in step.function for step in trunk(evidence, operand.start, 8) for part in _OF_MAPS)


def _upsampling(evidence: Evidence, operand: Operand) -> Step | None:
    """The step behind an operand that made its map larger, by more than the padding of a convolution does."""
    steps = (step for step in trunk(evidence, operand.start, 8) if step.before and _grows_maps(step))
    return next((step for step in steps if len(step.shape) == len(step.before[0][0]) and _times(step) >= 1.5), None)


def _grows_maps(step: Step) -> bool:
    return any(part in step.function for part in _GROWING)


def _times(step: Step) -> float:
    before = step.before[0][0]
    return step.shape[-1] / before[-1] if len(step.shape) > 2 and before[-1] else 0.0


def _fitted(evidence: Evidence, step: Step, grown: Operand, other: Operand) -> Iterator[Candidate]:
    yield from _rescaled(evidence, step, other)
    yield from _interpolated(evidence, grown, other)
    yield from _padded(evidence, grown, other)


def _whole(step: Step) -> bool:
    """Whether a map became a whole number of times as large."""
    return not any(after % before for after, before in zip(step.shape[2:], step.before[0][0][2:], strict=True))


def _rescaled(evidence: Evidence, step: Step, other: Operand) -> Iterator[Candidate]:
    """`interpolate(x, scale_factor=2)` -> `interpolate(x, size=skip.shape[2:])`, where the skip is known there."""
    call, crash = step.place, evidence.crash
    words = call.node.keywords if call is not None and isinstance(call.node, ast.Call) else []
    factor = next((word for word in words if word.arg == "scale_factor"), None)
    if call is None or factor is None or crash is None or crash.place is None or not _together(call, crash.place):
        return
    for name in _names_of(evidence, other):
        new = f"size={name}.shape[2:]"
        edits = partial(changed, call.source, [(call.source.span(factor), new)])
        yield from evidence.made(edits, "set-argument", call, "flag", new=new, layer=step.function)


def _together(one: Place, other: Place) -> bool:
    """Whether two places stand in one function."""
    function = one.source.function_at(one.node.lineno)
    return one.source.file == other.source.file and function is one.source.function_at(other.node.lineno)


def _names_of(evidence: Evidence, operand: Operand) -> list[str]:
    """How the failing function can name an operand, or a map of its size."""
    if operand.place is not None and isinstance(operand.place.node, _PLAIN):
        return [as_primary(operand.place)]
    scope = evidence.frames[-1].scope if evidence.frames else {}
    shapes = {name: value[0] for name, value in scope.items() if isinstance(value, list) and name.isidentifier()}
    return [name for name, shape in shapes.items() if shape[2:] == operand.shape[2:]][:2]


def _interpolated(evidence: Evidence, one: Operand, other: Operand) -> Iterator[Candidate]:
    if one.place is not None and other.place is not None:
        text = f"{functional(one.place)}.interpolate({one.text}, size={{}}.shape[2:])"
        yield from _in_place(evidence, one.place, other.place, text, "resize", what=one.text)


def _padded(evidence: Evidence, small: Operand, large: Operand) -> Iterator[Candidate]:
    """`x` -> `F.pad(x, (0, skip.size(-1) - x.size(-1)))`: zeros at the ends."""
    if small.place is None or large.place is None or not isinstance(small.place.node, ast.Name):
        return
    last = range(-1, 1 - len(small.shape), -1)
    sizes = ", ".join(f"0, {{0}}.size({at}) - {small.text}.size({at})" for at in last)
    text = f"{functional(small.place)}.pad({small.text}, ({sizes}))"
    yield from _in_place(evidence, small.place, large.place, text, "pad-to", what=small.text, other=large.text)


def _cropped(evidence: Evidence, small: Operand, large: Operand) -> Iterator[Candidate]:
    """`skip` -> `skip.narrow(2, (skip.size(2) - x.size(2)) // 2, x.size(2))`: its middle."""
    if small.place is None or large.place is None or not isinstance(large.place.node, _PLAIN):
        return
    own = text = as_primary(large.place)
    for at in (at for at in range(2, len(small.shape)) if small.shape[at] < large.shape[at]):
        text += f".narrow({at}, ({own}.size({at}) - {{0}}.size({at})) // 2, {{0}}.size({at}))"
    yield from _in_place(evidence, large.place, small.place, text, "crop-to", what=large.text, other=small.text)


def _in_place(
    evidence: Evidence, place: Place, other: Place, text: str, title: str, /, **words: Any
) -> Iterator[Candidate]:
    """An operand replaced by a text that names the other one; what only a call gives gets a name before."""
    if isinstance(other.node, _PLAIN):
        new = text.format(as_primary(other))
        yield from evidence.replaced(place, new, "wrap-call", title, **words)
    elif isinstance(other.node, ast.Call) and place.source.file == other.source.file:
        edits = partial(_with_name, place, other, text)
        yield from evidence.made(edits, "wrap-call", place, title, **words)


def _with_name(place: Place, other: Place, text: str) -> Any:
    name = next(one for one in ("skip", "beside", "beside_it") if not _stands(one, place))
    put = statements.insert_statement(f"{name} = {other.text}", before=other)
    return joined(place.source, put, changed(place.source, [(place.span, text.format(name)), (other.span, name)]))


def _stands(name: str, place: Place) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in place.source.nodes())


def functional(place: Place) -> str:
    """How a file calls torch's functions of layers: `F`, or their module."""
    text = "\n".join(place.source.lines)
    return "F" if "torch.nn.functional as F" in text else "torch.nn.functional"


def batches(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.stack(rows).flatten(0, 1)` -> `torch.cat(rows)`: results of batches, the last of which is smaller.

    Those of the same batches that the function stacks beside them, too.
    """
    crash = evidence.crash
    rows = [shape for shape, _ in crash.before] if crash is not None and crash.function == "stack" else []
    apart = {row[0] for row in rows if row}
    if crash is None or crash.place is None or len(apart) != 2 or len({tuple(row[1:]) for row in rows}) != 1:
        return
    if rows[-1][0] >= rows[0][0] or any(row[0] != rows[0][0] for row in rows[:-1]):
        return
    source, scope = crash.place.source, crash.place.source.function_at(crash.place.line)
    every = [one for one in walked(scope or crash.place.node) if isinstance(one, ast.Call) and called(one) == "stack"]
    for stacks in ([crash.place.node], every) if len(every) > 1 else ([crash.place.node],):
        changes = [_as_cat(source, one) for one in stacks if isinstance(one, ast.Call) and one.args]
        words: dict[str, Any] = {"new": changes[0][1], "old": crash.place.text}
        yield from evidence.made(partial(changed, source, changes), "replace", crash.place, "rename", **words)


def _as_cat(source: Source, stack: ast.Call) -> tuple[Span, str]:
    """A stack with what joins its first two dimensions behind it, and `cat` in its place."""
    method = source.parent_of(stack)
    above = source.parent_of(method) if method is not None else None
    whole = (
        above if isinstance(above, ast.Call) and source.text(above) == f"{source.text(stack)}.flatten(0, 1)" else stack
    )
    head = source.text(stack.func)
    return source.span(whole), f"{head[: -len('stack')]}cat({source.text(stack.args[0])})"
