"""Candidates for sizes that a program looks up: the key that chose one from a table, the list that chose several."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.bindings import given_to_name, name_of_value
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lookups import constant, names_of_keys
from explainer.edits.place import Place
from explainer.edits.search_literals import leaves
from explainer.edits.sites import trees_hit
from explainer.source import called

#: The size that arrives, and the literal in the source that the size which was read comes from.
_Read = tuple[int, Place]


def other_key(evidence: Evidence) -> Iterator[Candidate]:
    """`freq="h"` -> `freq="t"` where the layer is built for `{"h": 4, "t": 5}[freq]` and 5 features arrive."""
    for size, place in _read(evidence):
        table = place.parent()
        if not isinstance(table, ast.Dict):
            continue
        keys = {constant(value): constant(key) for key, value in zip(table.keys, table.values, strict=True)}
        old, new = keys.get(constant(place.node)), keys.get(size)
        for name in names_of_keys(evidence, place.at(table)) if isinstance(old, str) and isinstance(new, str) else ():
            for decided in _decided(evidence, name, str(old)):
                text = decided.text.replace(str(old), str(new))
                words: dict[str, Any] = {"name": name, "new": new, "old": old, "size": size}
                yield from evidence.replaced(decided, text, "replace-literal", "other-key", **words)


def entries(evidence: Evidence) -> Iterator[Candidate]:
    """`in_channels=[24, 48, 96]` -> `[48, 96]` where the first layer gets what the second is built for."""
    for size, place in _read(evidence):
        parent = place.parent()
        sizes = [constant(one) for one in parent.elts] if isinstance(parent, (ast.List, ast.Tuple)) else []
        if len(sizes) < 3 or size not in sizes[1:] or not isinstance(parent, (ast.List, ast.Tuple)):
            continue
        if parent.elts[0] is place.node:
            whole, first = place.at(parent), parent.elts[sizes.index(size, 1)]
            kept = place.source.text(parent)[_offset(whole, place.at(first)) :]
            yield from _fewer(evidence, whole, f"{whole.text[0]}{kept}")


def _fewer(evidence: Evidence, whole: Place, new: str) -> Iterator[Candidate]:
    """A list with less in it: as an entry of the dict that overrides the section in which it stands, or in place."""
    words: dict[str, Any] = {"new": new[:60], "old": whole.text[:60]}
    name, section = name_of_value(whole.source, whole.node), _section(whole)
    for place in _overriding(evidence, whole, section) if name and section else ():
        node = place.node
        if isinstance(node, ast.Call) and name not in [word.arg for word in node.keywords]:
            head = place.source.text(node.func)
            text = f"{head}({name}={new}, {place.text[len(head) + 1 :]}" if node.keywords else f"{head}({name}={new})"
            yield from evidence.replaced(place, text, "replace", "fewer-entries", **words)
        elif isinstance(node, ast.Dict) and name not in [constant(key) for key in node.keys]:
            text = f'{{"{name}": {new}, {place.text[1:].lstrip()}' if node.keys else f'{{"{name}": {new}}}'
            yield from evidence.replaced(place, text, "replace", "fewer-entries", **words)
    yield from evidence.replaced(whole, new, "replace", "fewer-entries", **words)


def _read(evidence: Evidence) -> Iterator[_Read]:
    """The literals behind the size for which the failing layer was built, where another size arrives."""
    for tree, size in trees_hit(evidence):
        for leaf in leaves([tree]) if tree[-1] != size else ():
            place = evidence.place(leaf[1])
            if place is not None and leaf[-1] == tree[-1]:
                yield size, place


def _decided(evidence: Evidence, name: str, value: str) -> Iterator[Place]:
    """Where a program gives a name a text: an option's default, an argument, an entry, an assignment, a constant."""
    for source in evidence.sources_seen():
        for key in dict.fromkeys((name, name.upper())):
            yield from (Place(source, one) for one in given_to_name(source, key) if constant(one) == value)


def _overriding(evidence: Evidence, place: Place, section: str) -> Iterator[Place]:
    """The other dicts that are given to the same section: `neck=dict(out=40)` beside `neck=dict(in_=[..], out=32)`."""
    own: Any = place.parent()
    own = place.at(own).parent() if isinstance(own, ast.keyword) else own
    for source in evidence.sources_seen():
        for node in source.nodes():
            inner = node.value if isinstance(node, ast.keyword) and node.arg == section else None
            found = [inner] if inner is not None else []
            if isinstance(node, ast.Dict):
                found = [v for k, v in zip(node.keys, node.values, strict=True) if constant(k) == section]
            yield from (Place(source, one) for one in found if _is_dict(one) and one is not own)


def _is_dict(node: ast.AST) -> bool:
    return isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and called(node) == "dict" and not node.args)


def _section(place: Place) -> str:
    """The name under which the dict that holds a value stands in another."""
    parent: Any = place.parent()
    around = place.at(parent).parent() if isinstance(parent, ast.keyword) else parent
    return name_of_value(place.source, around) if around is not None and _is_dict(around) else ""


def _offset(whole: Place, part: Place) -> int:
    """How many characters of a text stand before a part of it."""
    lines = whole.text.split("\n")
    down = part.span.line - whole.span.line
    column = (part.span.column or 1) - (1 if down else (whole.span.column or 1))
    return sum(len(line) + 1 for line in lines[:down]) + column
