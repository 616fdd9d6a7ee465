"""Another key of a dict, another attribute of a settings object."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import expressions
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called

_MOST = 10


def key(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`cfg["hidden"]` -> `cfg["code_dim"]`: a key under which the same object has a value of the same kind.

    `options.pop("ignore", -1)` -> `options.pop("ignore_index", -1)` where the object has no such key.
    """
    for node in expressions(spot):
        if isinstance(node, ast.Call) and called(node) in ("get", "pop") and len(node.args) == 2:
            yield from _absent(spot, node)
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        ):
            owner = ast.unparse(node.value).replace("'", '"')
            for other in _keys(spot, owner, node.slice.value)[:_MOST]:
                yield Offer("key", spot, node.slice, repr(other), "scope", 0.8)


def _absent(spot: Spot, node: ast.Call) -> Iterator[Offer]:
    """The keys that an object has, where it is asked for one that it has not."""
    asked = node.args[0]
    plain = isinstance(asked, ast.Constant) and isinstance(asked.value, str)
    if not isinstance(node.func, ast.Attribute) or not plain:
        return
    owner = ast.unparse(node.func.value)
    known = _in_scope(spot, owner)
    if asked.value not in known:  # type: ignore[attr-defined]
        for one in known[:_MOST]:
            yield Offer("key", spot, asked, f'"{one}"', "absent", -0.5)


def _in_scope(spot: Spot, owner: str) -> list[str]:
    """The keys under which an object in scope has values that are known."""
    return [name[len(owner) + 2 : -2] for name in spot.scope if name.startswith(f'{owner}["')]


def _keys(spot: Spot, owner: str, own: str) -> list[str]:
    """The keys of an object in scope, else those that the file reads or writes anywhere."""
    known = _in_scope(spot, owner)
    if not known:
        for node in spot.place.source.nodes():
            if isinstance(node, ast.Dict):
                texts = [one.value for one in node.keys if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                known += texts if own in texts else []
    if not known:
        known = [node.slice.value for node in spot.place.source.nodes()
                 if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
                 and isinstance(node.slice.value, str)]  # fmt: skip
    return [one for one in dict.fromkeys(known) if one != own]
