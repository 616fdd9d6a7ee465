"""Tables that a program looks up, `{"h": 4, "t": 5}[freq]`: what chooses from them, and what stands in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.bindings import last_name
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place


def names_of_keys(evidence: Evidence, table: Place) -> Iterator[str]:
    """What chooses from a dict: `freq` where the program reads `TABLE[freq]` or `TABLE[args.freq]`."""
    parent = table.parent()
    name = last_name(parent.targets[0]) if isinstance(parent, ast.Assign) else ""
    found: dict[str, None] = {}
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Subscript) and (node.value is table.node or last_name(node.value) == name != ""):
                found[last_name(node.slice)] = None
    yield from (one for one in found if one)


def stands_for_another(evidence: Evidence, place: Place, value: int) -> bool:
    """Whether a literal's table has a value under another key: then the key is wrong that was chosen, no number."""
    table = place.parent()
    others = [one for one in table.values if one is not place.node] if isinstance(table, ast.Dict) else []
    if table is None or not any(constant(one) == value for one in others):
        return False
    return next(names_of_keys(evidence, place.at(table)), None) is not None  # type: ignore[arg-type]


def constant(node: Any) -> Any:
    """The value of a constant; None of any other node."""
    return node.value if isinstance(node, ast.Constant) else None
