"""Candidates for counts: of the rows of a tensor where another is indexed, of things one of which is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.bindings import assignments
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.generators.sites import trees_hit
from explainer.edits.place import Place, fitted
from explainer.replay.recorders.taint import literals, parts, value_of, value_with
from explainer.source import Source, called, of_self, stored, walked


def one_more(evidence: Evidence) -> Iterator[Candidate]:
    """`Pairs(len(fields))` -> `Pairs(len(fields) + 1)` where a layer built for what follows from it then fits.

    With the length of what is listed beside that, where one is just so long: `len(self.fields) + len(self.flags)`.
    """
    if "selected index k" in evidence.message:  # too few classes for that many of the best are no wrong count of them
        return
    for tree, size in trees_hit(evidence):
        for leaf in {tuple(one[1]): one for one in literals(tree) if one[0] == "len"}.values():
            more, place = _missing(tree, leaf, size), evidence.place(leaf[1])
            for text, length in _beside(evidence, place) if place is not None else ():
                if value_of(tree, {tuple(leaf[1]): leaf[-1] + length}) == size:
                    new = f"{place.text} + len({text})"  # type: ignore[union-attr]
                    yield from evidence.replaced(place, fitted(place, new), "replace", "count-as", new=new)  # type: ignore[arg-type]
            if place is not None and more:
                yield from _counted_more(evidence, place, more)


def one_too_many(evidence: Evidence) -> Iterator[Candidate]:
    """`nn.Linear(width + 1, 8)` -> `nn.Linear(width, 8)` where a layer built without the term then fits."""
    for tree, size in trees_hit(evidence):
        for part in parts(tree):
            place = evidence.place(part[4]) if part[1] in ("+", "-") and part[3][0] == "lit" else None
            fits = value_with(tree, part, int(part[2][-1])) == size
            if place is not None and fits and isinstance(place.node, ast.BinOp):
                rest = place.source.text(place.node.left)
                yield from evidence.replaced(place, rest, "replace", "count-as", new=rest)


def behind_start(evidence: Evidence) -> Iterator[Candidate]:
    """`len(words)` -> `len(words) + len(SPECIALS)` where `enumerate(words, start=len(SPECIALS))` numbers them."""
    for source in evidence.sources_seen():
        for listed, start in dict.fromkeys(_numbered(source)):
            for node in source.nodes():
                if isinstance(node, ast.Call) and source.text(node) == f"len({listed})":
                    place = Place(source, node)
                    new = f"{place.text} + {start}"
                    yield from evidence.replaced(place, fitted(place, new), "replace", "count-as", new=new)


def _numbered(source: Source) -> Iterator[tuple[str, str]]:
    """What a file numbers and from which start: `enumerate(words, start=2)`, or `i + 2` of one that begins at 0.

    The table that numbers them has as many entries.
    """
    for node in source.nodes():
        loops = [node] if isinstance(node, ast.For) else getattr(node, "generators", [])
        for loop in loops:
            call = loop.iter
            if isinstance(call, ast.Call) and called(call) == "enumerate" and call.args:
                given = [*call.args[1:], *(word.value for word in call.keywords)]
                starts = given or _added(node, loop.target)
                tables = source.parent_of(node) if isinstance(node, ast.DictComp) else None
                named = tables.targets[:1] if isinstance(tables, ast.Assign) else []
                listed = [source.text(one) for one in (call.args[0], *named)]
                yield from ((name, source.text(one)) for one in starts if _wide(one, source) for name in listed)


def _added(around: ast.AST, target: ast.expr) -> list[ast.expr]:
    """What is added to the number of a loop over `enumerate`."""
    number = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else None
    sums = [one for one in walked(around) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add)]
    return [one.right for one in sums if isinstance(number, ast.Name) and ast.unparse(one.left) == number.id]


def _wide(start: ast.expr, source: Source) -> bool:
    """Whether an expression means the same in all of a file: a number, or a length of what its top or a class has."""
    if of_self(start):
        owner = source.class_at(start.lineno)
        return owner is not None and any(name == start.attr for one in owner.body for name in stored(one))  # type: ignore[attr-defined]
    names = {one.id for one in walked(start) if isinstance(one, ast.Name)} - {"len"}
    zero = isinstance(start, ast.Constant) and not start.value
    return not zero and all(assignments(source.tree, name) for name in names)


def _counted_more(evidence: Evidence, place: Place, more: int) -> Iterator[Candidate]:
    new = f"{place.text} {'+' if more > 0 else '-'} {abs(more)}"
    kind = "one-more" if more == 1 else "count-as"
    yield from evidence.replaced(place, fitted(place, new), "replace", kind, new=new)


def _beside(evidence: Evidence, place: Place) -> Iterator[tuple[str, int]]:
    """What is listed beside that of which a call gives the length, with how many entries: fields of its class."""
    counted = place.node.args[0] if isinstance(place.node, ast.Call) and place.node.args else None
    owner = f"{ast.unparse(counted.value)}." if isinstance(counted, ast.Attribute) else ""
    name = counted.attr if isinstance(counted, ast.Attribute) else getattr(counted, "id", "")
    for source in evidence.sources_seen() if owner else [place.source]:
        scopes = [one for one in source.nodes() if isinstance(one, ast.ClassDef)] if owner else [source.tree]
        for scope in scopes:
            listed = dict(_listed(scope))  # type: ignore[arg-type]
            if name in listed:
                yield from ((f"{owner}{one}", length) for one, length in listed.items() if one != name and length > 1)


def _listed(scope: ast.AST) -> Iterator[tuple[str, int]]:
    """The names that a class or a file binds to lists that are written there, with how many entries each has."""
    for one in ast.iter_child_nodes(scope) if isinstance(scope, ast.Module) else walked(scope):
        target = one.targets[0] if isinstance(one, ast.Assign) else getattr(one, "target", None)
        shown = [each for each in walked(one) if isinstance(each, (ast.List, ast.Tuple, ast.Dict, ast.Set))]
        if isinstance(one, (ast.Assign, ast.AnnAssign)) and isinstance(target, (ast.Name, ast.Attribute)) and shown:
            entries = shown[0].keys if isinstance(shown[0], ast.Dict) else shown[0].elts
            if one.value is not None and _is_listed(one.value, shown[0]):
                yield (target.attr if isinstance(target, ast.Attribute) else target.id), len(entries)


def _is_listed(value: ast.expr, shown: ast.expr) -> bool:
    """Whether a value is what is written out: as it stands, or made by `field(default_factory=lambda: [...])`."""
    words = [word.value for word in value.keywords] if isinstance(value, ast.Call) else []
    return value is shown or any(isinstance(one, ast.Lambda) and one.body is shown for one in words)


def _missing(tree: list, leaf: list, wanted: int) -> int:
    """By how many more a count gives the wanted size, 0 where by none."""
    return next((more for more in (1, -1, 2) if value_of(tree, {tuple(leaf[1]): leaf[-1] + more}) == wanted), 0)
