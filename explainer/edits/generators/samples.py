"""Candidates in a dataset's own class: the dtype of what `__getitem__` returns, how many samples `__len__` promises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence, Step
from explainer.edits.expressions import evaluated
from explainer.edits.generators.slices import operands
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_primary, bound_above
from explainer.source import called

#: Samples past the end of a series are missed by few; more would be another mistake.
_MOST = 4
#: What makes a tensor of an array.
_MAKING = ("from_numpy", "as_tensor", "tensor")


def cast_samples(evidence: Evidence) -> Iterator[Candidate]:
    """float64 arrays of samples made float32 where `__getitem__` returns them: all of them, then each alone."""
    if "float64" not in {one.dtype for one in operands(evidence)}:
        return
    for method in _methods(evidence, "__getitem__"):
        parts = [_born(method, part) for part in _returned(method.node) if _may_be_array(part)]
        for together in ([parts] if len(parts) > 1 else []) + [[part] for part in parts]:
            arrays = not any(isinstance(one.node, ast.Call) and called(one.node) in _MAKING for one in together)
            for cast in ('astype("float32")', "float()") if arrays else ("float()",):
                edits = partial(changed, method.source, [(one.span, f"{as_primary(one)}.{cast}") for one in together])
                words: dict[str, Any] = {"what": together[0].text[:48], "method": cast, "dtype": "float64"}
                yield from evidence.made(edits, "cast", together[0], "cast", **words)


def _born(method: Place, part: ast.expr) -> Place:
    """The call that makes a tensor of an array, where a method returns that by a name it binds once; else the part."""
    bound = [one for one in ast.walk(method.node) if isinstance(one, ast.Assign) and ast.unparse(part) in _targets(one)]
    made = [node for one in bound[:1] for node in ast.walk(one.value) if isinstance(node, ast.Call)]
    births = [one for one in made if called(one) in _MAKING]
    return method.at(births[0] if len(bound) == len(births) == 1 else part)


def _targets(node: ast.Assign) -> list[str]:
    return [ast.unparse(one) for one in node.targets]


def counted_from_one(evidence: Evidence) -> Iterator[Candidate]:
    """Labels that run from 1 made to run from 0 where they are numbered: `enumerate(names, 1)`, `{name: i + 1 ...}`."""
    crash = evidence.crash
    if crash is None or not any(extent is not None and extent[0] == 1 for extent in crash.extents):
        return
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Call) and _from_one(node):
                place = Place(source, node)
                new = f"enumerate({source.text(node.args[0])})"
                yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text)
            for index in _numbered(node):
                for term in ast.walk(node):
                    if isinstance(term, ast.BinOp) and source.text(term) == f"{index} + 1":
                        words: dict[str, Any] = {"new": index, "old": source.text(term)}
                        yield from evidence.replaced(Place(source, term), index, "replace", "rename", **words)
    yield from _returned_less(evidence)


def _from_one(node: ast.Call) -> bool:
    """`enumerate(names, 1)` or `enumerate(names, start=1)`."""
    starts = [*node.args[1:], *(word.value for word in node.keywords)]
    named = isinstance(node.func, ast.Name) and node.func.id == "enumerate"
    return named and len(starts) == 1 and isinstance(starts[0], ast.Constant) and starts[0].value == 1


def _numbered(node: ast.AST) -> Iterator[str]:
    """The names of the positions in a comprehension or loop over `enumerate(...)`."""
    loops = [node] if isinstance(node, ast.For) else getattr(node, "generators", [])
    for loop in loops:
        called = isinstance(loop.iter, ast.Call) and getattr(loop.iter.func, "id", "") == "enumerate"
        if called and isinstance(loop.target, ast.Tuple) and isinstance(loop.target.elts[0], ast.Name):
            yield loop.target.elts[0].id


def _returned_less(evidence: Evidence) -> Iterator[Candidate]:
    """The last of what `__getitem__` returns, mostly the label, less one."""
    for method in _methods(evidence, "__getitem__"):
        parts = list(_returned(method.node))
        if len(parts) > 1 and not isinstance(parts[-1], ast.Constant):
            place = method.at(parts[-1])
            simple = isinstance(parts[-1], (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
            text = f"{place.text} - 1" if simple else f"({place.text}) - 1"
            words: dict[str, Any] = {"what": place.text[:48], "low": 1, "high": ""}
            yield from evidence.replaced(place, text, "replace", "shift", **words)


def _methods(evidence: Evidence, name: str) -> Iterator[Place]:
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.FunctionDef) and node.name == name:
                yield Place(source, node)


def _returned(function: ast.AST) -> Iterator[ast.expr]:
    """The parts of what a function returns: a tuple's elements, a dict's values, or the value itself."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            value = node.value
            if isinstance(value, (ast.Tuple, ast.List)):
                yield from value.elts
            elif isinstance(value, ast.Dict):
                yield from value.values
            else:
                yield value


def parts_returned(evidence: Evidence) -> Iterator[Place]:
    """The parts of what each `__getitem__` of the program returns, constants left out."""
    for method in _methods(evidence, "__getitem__"):
        yield from (method.at(part) for part in _returned(method.node) if not isinstance(part, ast.Constant))


def returned_as(evidence: Evidence, step: Step) -> Place | None:
    """The part of what a `__getitem__` returns that is a step's result under its name: `x` in `return x, label`."""
    made = step.place
    for part in parts_returned(evidence) if made is not None else ():
        scope = part.source.scope_at(part.span.line)
        bound = bound_above(scope, part.text, part.span.line) if isinstance(part.node, ast.Name) else None
        if made is not None and bound is not None and part.source is made.source and bound.value is made.node:
            return part
    return None


def _may_be_array(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp))


def shortened(evidence: Evidence) -> Iterator[Candidate]:
    """A `__len__` that promises samples which `__getitem__` cannot give: fewer, by names of the class if they fit."""
    getter = next((frame for frame in reversed(evidence.frames) if frame.function == "__getitem__"), None)
    if getter is None or not re.search(r"out of (range|bounds)|equal size|resizable|empty", evidence.message):
        return
    owner = getter.place.source.class_at(getter.place.span.line)
    length = next((one for one in owner.body if getattr(one, "name", "") == "__len__"), None) if owner else None
    for part in _returned(length) if length is not None else ():
        yield from _fewer(evidence, getter.place.source, part, getter)


def _fewer(evidence: Evidence, source: Any, part: ast.expr, getter: Call) -> Iterator[Candidate]:
    place = Place(source, part)
    names = [name for name, value in getter.scope.items() if name.startswith("self.") and isinstance(value, int)]
    texts = [text for name in names if name not in place.text for text in _without(place, name)]
    texts += [_less(place, n) for n in range(1, _MOST)]
    # Read in order, the first sample that is not there tells how many there are.
    index = next((value for name, value in getter.scope.items() if name == _parameter(getter)), None)
    exact = lambda text: index is not None and evaluated(ast.parse(text, mode="eval").body, getter.scope) == index  # noqa: E731
    for text in sorted(dict.fromkeys(texts), key=exact, reverse=True):
        yield from evidence.replaced(place, text, "replace", "fewer", new=text)


def _parameter(getter: Call) -> str | None:
    function = getter.place.source.function_at(getter.place.span.line)
    names = [one.arg for one in function.args.args] if function is not None else []
    return names[1] if len(names) > 1 else None


def _without(place: Place, name: str) -> Iterator[str]:
    """`n - width + 1` -> `n - width - horizon + 1`, then without the number at the end."""
    head, number = _parted(place)
    yield f"{head} - {name} {_signed(number)}" if number else f"{head} - {name} + 1"
    yield f"{head} - {name}"


def _less(place: Place, count: int) -> str:
    """`n + 1` -> `n`, `n` -> `n - 1`."""
    head, number = _parted(place)
    return f"{head} {_signed(number - count)}".strip()


def _parted(place: Place) -> tuple[str, int]:
    """A sum as what stands before a number at its end, and that number with its sign (0 where there is none)."""
    node = place.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.right, ast.Constant):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        if type(node.right.value) is int:
            return place.source.text(node.left), sign * node.right.value
    return place.text, 0


def _signed(number: int) -> str:
    return f"{'+' if number > 0 else '-'} {abs(number)}" if number else ""
