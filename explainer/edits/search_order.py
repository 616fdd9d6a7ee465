"""Candidates for sizes taken in the wrong order: names unpacked from a shape, the sizes of a tensor that is created."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.edits.shapes import fits
from explainer.edits.sites import layers_hit
from explainer.edits.slices import operands, trunk

_CREATORS = ("zeros", "ones", "randn", "rand", "empty", "full", "eye", "normal", "uniform_", "randint")
#: How many functions on the way are looked at, and the most names of one unpacking.
_FUNCTIONS, _NAMES = 6, 4


def unpacked(evidence: Evidence) -> Iterator[Candidate]:
    """`d_in, d_out = weight.shape` -> `d_out, d_in = weight.shape`, in the functions that led to the failing call."""
    if evidence.crash is not None and evidence.crash.function == "unpack_shape":  # it has another number of them
        return
    places = [call.place for layer, _ in layers_hit(evidence) for call in layer.calls[:2]]
    places += [place for step in evidence.steps[:12] for place in step.places[:1]]
    places += [call.place for call in evidence.frames[::-1]]
    for function, place in itertools.islice(_functions(places), _FUNCTIONS):
        node: Any
        for node in ast.walk(function):
            names = _unpacking(node)
            for one, other in itertools.combinations(names, 2):
                first, second = place.at(one), place.at(other)
                edits = partial(changed, place.source, [(first.span, second.text), (second.span, first.text)])
                new = ", ".join({one: other, other: one}.get(name, name).id for name in names)
                words: dict[str, Any] = {"new": new}
                yield from evidence.made(edits, "replace", place.at(node), "swap-names", **words)


def created(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.randn(n_in, n_out)` -> `torch.randn(n_out, n_in)` for an operand that fits the other way round."""
    crash, every = evidence.crash, operands(evidence)
    for operand in every if crash is not None else ():
        shapes = [one.shape[::-1] if one is operand else one.shape for one in every]
        if crash is None or len(operand.shape) != 2 or not fits(crash.function, shapes):
            continue
        for step in trunk(evidence, operand.start, 4):
            node = step.place.node if step.place is not None else None
            given = _sizes(node) if step.function in _CREATORS and isinstance(node, ast.Call) else []
            if step.place is not None and len(given) == 2 and step.shape == operand.shape:
                first, second = step.place.at(given[0]), step.place.at(given[1])
                edits = partial(changed, first.source, [(first.span, second.text), (second.span, first.text)])
                new = f"{second.text}, {first.text}"
                yield from evidence.made(edits, "replace", step.place, "swap-names", new=new)


def taken(evidence: Evidence) -> Iterator[Candidate]:
    """`for x, y in loader` -> `for y, x in loader` where the one name holds whole numbers and the other does not."""
    for frame in reversed(evidence.frames):
        function = frame.place.source.scope_at(frame.place.node.lineno)
        for node in ast.walk(function) if function is not None else ():
            target = _target(node)
            names = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == 2 else []
            kinds = ["int" in _dtype(frame, one) if _dtype(frame, one) else None for one in names]
            if kinds == [True, False]:
                first, second = frame.place.at(names[0]), frame.place.at(names[1])
                edits = partial(changed, first.source, [(first.span, second.text), (second.span, first.text)])
                words: dict[str, Any] = {"new": f"{second.text}, {first.text}"}
                yield from evidence.made(edits, "replace", first, "swap-items", **words)


def _target(node: ast.AST) -> ast.expr | None:
    """What a loop or an assignment binds."""
    if isinstance(node, ast.For):
        return node.target
    return node.targets[0] if isinstance(node, ast.Assign) else None


def _dtype(frame: Call, name: ast.expr) -> str:
    value = frame.scope.get(ast.unparse(name))
    return str(value[1]) if isinstance(value, list) and len(value) > 1 else ""


def _functions(places: list[Place]) -> Iterator[tuple[Any, Place]]:
    seen = set()
    for place in places:
        function = place.source.function_at(place.node.lineno)
        if function is not None and id(function) not in seen:
            seen.add(id(function))
            yield function, place


def _unpacking(node: ast.AST) -> list[ast.Name]:
    """The names to which a statement unpacks a shape, those left out (`_`) not among them."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
        return []
    value = node.value.func if isinstance(node.value, ast.Call) and not node.value.args else node.value
    if not isinstance(value, ast.Attribute) or value.attr not in ("shape", "size"):
        return []
    names = [one for one in node.targets[0].elts if isinstance(one, ast.Name)]
    return [one for one in names if one.id != "_"] if len(names) <= _NAMES else []


def _sizes(node: ast.Call) -> list[ast.expr]:
    if node.args and isinstance(node.args[0], (ast.Tuple, ast.List)):
        return list(node.args[0].elts)
    return [one for one in node.args if not isinstance(one, ast.Starred)]
