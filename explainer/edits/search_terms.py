"""Candidates for sums of sizes that leave out one of the parts that are joined: the name that has its size is added."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Layer, Tree
from explainer.edits.place import Place, fitted
from explainer.edits.sites import layers_hit, trees_hit
from explainer.edits.slices import chain
from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.replay.taint import parts, value_with

_JOINING = ("cat", "concat", "concatenate", "hstack")
#: `width`, `self.width`, `config["width"]`: what a size is read from, and its own name.
_NAME = Pattern(r'(?:(?P<owner>[A-Za-z_][\w.]*)(?:\.|\["))?(?P<own>[A-Za-z_]\w*)(?:"\])?')


@frozen
class Sum:
    """A sum of sizes, `tree` being what a layer is built for and `part` the sum in it, and what is in scope there."""

    place: Place
    tree: Tree
    part: Tree
    scope: Mapping[str, Any]

    @property
    def terms(self) -> list[str]:
        """The terms as they are written, with double quotes."""
        return [ast.unparse(one).replace("'", '"') for one in _terms(self.place.node)]


def left_out(evidence: Evidence) -> Iterator[Candidate]:
    """`Critic(env["obs"] + env["act"])` -> `env["obs"] + env["act"] + env["goal"]`, where all three are joined."""
    joined = _joined(evidence)
    for one, size in _sums(evidence) if joined is not None and not evidence.passed else ():
        names = _fitting(one, size, *joined) if joined is not None else []
        yield from _with(evidence, one.place, names)


def left_out_of_copy(evidence: Evidence) -> Iterator[Candidate]:
    """The same of a layer whose making was not seen, as of a copied one: by the values that names have elsewhere."""
    joined, built = _joined(evidence), _built(evidence)
    if joined is None or evidence.passed or layers_hit(evidence) or built is None:
        return
    values = _values(evidence)
    for source in evidence.sources_seen():
        for node in source.nodes():
            place = Place(source, node) if isinstance(node, ast.BinOp) else None
            if place is not None and _whole(place) and _total(place, values) == built:
                tree: Tree = ["op", "+", [], [], None, built]
                one = Sum(place, tree, tree, _written(place, values))
                yield from _with(evidence, place, _fitting(one, sum(joined[0]), *joined))


def _with(evidence: Evidence, place: Place, names: list[str]) -> Iterator[Candidate]:
    """A sum with one term more, where just one can be meant."""
    if len(names) == 1 and isinstance(place.node, ast.Call):
        last = place.at(_terms(place.node)[-1])  # type: ignore[arg-type]
        yield from evidence.replaced(last, f"{last.text}, {names[0]}", "replace", "count-part", place, new=names[0])
    elif len(names) == 1:
        new = f"{place.text} + {names[0]}"
        yield from evidence.replaced(place, fitted(place, new), "replace", "count-part", new=names[0])


def _built(evidence: Evidence) -> int | None:
    """The size that the failing layer reads, by its weight."""
    crash = evidence.crash
    shapes = [shape for shape, _ in crash.before] if crash is not None and crash.function == "linear" else []
    return shapes[1][-1] if len(shapes) > 1 and len(shapes[1]) == 2 else None


def _values(evidence: Evidence) -> dict[str, int]:
    """The sizes that names have wherever the frames know them: `obs_dim`, of whatever it is read."""
    found: dict[str, set[int]] = {}
    for name, value in (item for frame in evidence.frames for item in frame.scope.items()):
        if isinstance(value, int) and _NAME.fullmatch(name):
            found.setdefault(_part(name, "own"), set()).add(int(value))
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}


def _total(place: Place, values: Mapping[str, int]) -> int | None:
    terms = [ast.unparse(one).replace("'", '"') for one in _terms(place.node)]
    known = [values.get(_part(one, "own")) for one in terms]
    return None if None in known else sum(one for one in known if one is not None)


def _written(place: Place, values: Mapping[str, int]) -> dict[str, int]:
    """All sizes by the names that a sum's last term would give them: `env["goal"]` beside `env["act"]`."""
    last = place.source.text(_terms(place.node)[-1]).replace("'", '"')
    own = _part(last, "own")
    if not _part(last, "owner"):
        known = {one.arg for one in ast.walk(place.source.scope_at(place.span.line)) if isinstance(one, ast.arg)}
        return {name: value for name, value in values.items() if name in known}
    head, _, tail = last.rpartition(own)
    return {f"{head}{name}{tail}": value for name, value in values.items()}


def _joined(evidence: Evidence) -> tuple[list[int], set[str]] | None:
    """The sizes of the parts that were joined to what the failing layer got, and the words of their source."""
    crash = evidence.crash
    steps = chain(evidence, crash.inputs[0], 6) if crash is not None and crash.inputs else []
    for step in steps:
        shapes = [shape for shape, _ in step.before]
        if step.function in _JOINING and step.place is not None and len(shapes) > 1 and step.shape:
            apart = [at for at, size in enumerate(step.shape) if size == sum(shape[at] for shape in shapes)]
            return [shape[apart[0]] for shape in shapes] if apart else [], _words(step.place.text)
    return None


def _sums(evidence: Evidence) -> Iterator[tuple[Sum, int]]:
    """The sums in what the failing layer was built for, each whole, with the size that arrives."""
    for layer, _ in layers_hit(evidence):
        for tree, size in trees_hit(evidence):
            for part in parts(tree):
                place = evidence.place(part[4]) if part[1] == "+" and part[4] else None
                scope = _scope(evidence, layer, place) if place is not None else None
                if place is not None and scope is not None and _whole(place):
                    yield Sum(place, tree, part, scope), size


def _whole(place: Place) -> bool:
    outer = place.parent()
    inside = isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Add)
    return not inside and len(_terms(place.node)) > 1


def _scope(evidence: Evidence, layer: Layer, place: Place) -> Mapping[str, Any] | None:
    """What the function in which a sum stands could name as the layer was built, or as the program failed."""
    function = place.source.function_at(place.span.line)
    for call in [*layer.calls, *evidence.frames]:
        source = call.place.source
        if source.file == place.source.file and source.function_at(call.place.span.line) is function:
            return call.scope
    return _owners(evidence, layer, place)


def _owners(evidence: Evidence, layer: Layer, place: Place) -> Mapping[str, Any] | None:
    """The fields of the object whose method gave the sum, by `self`, where one is known with the terms' names."""
    own = {one.partition(".")[2] for one in (ast.unparse(term) for term in _terms(place.node)) if one[:5] == "self."}
    for call in [*layer.calls, *evidence.frames] if own else ():
        for owner in dict.fromkeys(name.rpartition(".")[0] for name in call.scope if "." in name):
            if all(isinstance(call.scope.get(f"{owner}.{name}"), int) for name in own):
                fields = [name for name in call.scope if name.startswith(f"{owner}.")]
                return {f"self.{name[len(owner) + 1 :]}": call.scope[name] for name in fields}
    return None


def _fitting(one: Sum, size: int, sizes: list[int], words: set[str]) -> list[str]:
    """The names that make the sum fit and are most like its terms, or named where the parts are joined."""
    total, terms = int(one.part[-1]), one.terms
    values = {name: value for name, value in one.scope.items() if isinstance(value, int)}
    fits = [name for name, value in values.items() if value in sizes and name not in terms and _NAME.fullmatch(name)
            and value_with(one.tree, one.part, total + value) == size]  # fmt: skip
    likeness = {name: _likeness(name, terms, words) for name in fits}
    best = max(likeness.values(), default=(False, False, False))
    return [name for name in fits if likeness[name] == best] if best[0] or best[1] else []


def _likeness(name: str, terms: list[str], words: set[str]) -> tuple[bool, bool, bool]:
    """Whether a name is among those joined, is called as the terms are, and is read from where they are."""
    own = _words(_part(name, "own"))
    called = set().union(*(_words(_part(term, "own")) for term in terms))
    owners = {_part(term, "owner") for term in terms}
    joined = any(word[:3] == other[:3] for word in own - called for other in words)
    return joined, bool(own & called), _part(name, "owner") in owners


def _part(name: str, group: str) -> str:
    found = _NAME.fullmatch(name)
    return (found[group] or "") if found is not None else ""


def _words(text: str) -> set[str]:
    return {word for word in re.split(r"[^a-z]+", text.lower()) if len(word) > 1}


def _terms(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    listed = node.args[0] if isinstance(node, ast.Call) and ast.unparse(node.func) == "sum" and node.args else None
    return [*listed.elts] if isinstance(listed, (ast.List, ast.Tuple)) else [node]
