"""Candidates for counts: of the rows of a tensor where another is indexed, of things one of which is left out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, fitted
from explainer.edits.sites import trees_hit
from explainer.patterns import Pattern
from explainer.replay.taint import literals, parts, value_of, value_with
from explainer.source import Source

#: How many other tensors are tried in the place of one that was counted.
_MOST = 4
_SIZE = Pattern(r"index -?\d+ is out of bounds for (?:dimension|axis) 0 with size (\d+)")


def of_indexed(evidence: Evidence) -> Iterator[Candidate]:
    """`randperm(len(data.x))` -> `randperm(len(data.x_train))` where the rows that are indexed are those of a part."""
    said = _SIZE.search(evidence.message)
    if said is None:
        return
    rows = _rows(evidence)
    fitting = {name for name, count in rows.items() if count == int(said[1])}
    wanted = {word for name in fitting for word in _words(name)}
    for source in evidence.sources_seen():
        for owner in filter(None, (_counted(node) for node in source.nodes())):
            place, text = Place(source, owner), source.text(owner)
            if text in fitting:
                continue
            others = [one for one in _beside(source, owner, fitting) if rows.get(one, int(said[1])) == int(said[1])]
            others.sort(key=lambda one: (one not in fitting, -len(_words(one) & wanted), len(_words(one))))
            for other in others[:_MOST]:
                yield from evidence.replaced(place, other, "replace", "other-rows", old=text, new=other, size=said[1])


def one_more(evidence: Evidence) -> Iterator[Candidate]:
    """`Pairs(len(fields))` -> `Pairs(len(fields) + 1)` where a layer built for what follows from it then fits."""
    if "selected index k" in evidence.message:  # too few classes for that many of the best are no wrong count of them
        return
    for tree, size in trees_hit(evidence):
        for leaf in {tuple(one[1]): one for one in literals(tree) if one[0] == "len"}.values():
            more, place = _missing(tree, leaf, size), evidence.place(leaf[1])
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


def _counted_more(evidence: Evidence, place: Place, more: int) -> Iterator[Candidate]:
    new = f"{place.text} {'+' if more > 0 else '-'} {abs(more)}"
    kind = "one-more" if more == 1 else "count-as"
    yield from evidence.replaced(place, fitted(place, new), "replace", kind, new=new)


def _missing(tree: list, leaf: list, wanted: int) -> int:
    """By how many more a count gives the wanted size, 0 where by none."""
    return next((more for more in (1, -1, 2) if value_of(tree, {tuple(leaf[1]): leaf[-1] + more}) == wanted), 0)


def _rows(evidence: Evidence) -> dict[str, int]:
    """The tensors that the frames can name, with the size of their first dimension."""
    held = [item for frame in evidence.frames for item in frame.scope.items()]
    return {name: value[0][0] for name, value in held if isinstance(value, list) and value[0]}


def _counted(node: ast.AST) -> ast.expr | None:
    """What `len(x)`, `x.size(0)` and `x.shape[0]` count the rows of."""
    owner: ast.AST | None = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        owner = node.args[0]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        owner = node.func.value if [ast.unparse(one) for one in node.args] == ["0"] else None
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        owner = node.value.value if ast.unparse(node.slice) == "0" else None
    return owner if isinstance(owner, (ast.Name, ast.Attribute)) else None


def _beside(source: Source, owner: ast.expr, fitting: set[str]) -> list[str]:
    """The names and attributes of the same function that are called alike, and those known to have as many rows."""
    scope = source.scope_at(owner.lineno)
    nodes = list(ast.walk(scope)) if scope is not None else []
    inner = {id(one.func) for one in nodes if isinstance(one, ast.Call)}
    inner |= {id(one.value) for one in nodes if isinstance(one, ast.Attribute)}
    read = [one for one in nodes if isinstance(one, (ast.Name, ast.Attribute)) and id(one) not in inner]
    texts = dict.fromkeys(source.text(one) for one in read)
    own, words = source.text(owner), _words(source.text(owner))
    return [one for one in texts if one != own and (one in fitting or _words(one) & words)]


def _words(name: str) -> set[str]:
    """`data.x_train` -> data, x, train."""
    return set(re.split(r"[._]", name.lower())) - {"self", ""}
