"""Texts that an expression stands for: literals followed through names, arguments, settings and lists of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.frozen import frozen
from explainer.probes.cuts import sources
from explainer.probes.decided import given
from explainer.probes.scene import Scene
from explainer.source import Source, called

#: How many steps a value is followed back.
_MOST = 6


@frozen
class Text:
    """A literal of a file, and its value."""

    source: Source
    node: ast.Constant
    value: str

    @property
    def written(self) -> str:
        """Its source, quotes included."""
        return self.source.text(self.node)


def texts_of(scene: Scene, source: Source, node: ast.AST, left: int = _MOST) -> Iterator[Text]:
    """The literal texts that an expression is, or that a list of them holds; none where it leads elsewhere."""
    if left == 0:
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield Text(source, node, node.value)
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for one in node.elts:
            yield from texts_of(scene, source, one, left - 1)
    elif isinstance(node, ast.Call) and called(node) in ("tuple", "list", "set", "frozenset") and node.args:
        yield from texts_of(scene, source, node.args[0], left - 1)
    else:
        at = given(scene, source, node, ()) if isinstance(node, ast.Name) else setting(scene, node)
        if at is not None:
            yield from texts_of(scene, *at, left - 1)


def setting(scene: Scene, node: ast.AST) -> tuple[Source, ast.AST] | None:
    """What `cfg["trainable"]` or `cfg.trainable` is given, in the only place of the user's files that gives it."""
    key: object = node.attr if isinstance(node, ast.Attribute) else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        key = node.slice.value
    if not isinstance(key, str):
        return None
    found = [(source, one) for source in sources(scene) for one in _settings(source, key)]
    return found[0] if len(found) == 1 else None


def _settings(source: Source, key: str) -> Iterator[ast.AST]:
    """The values that a file gives to a key of a dict, a keyword, a class's or an object's attribute."""
    for node in source.nodes():
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            yield from (value for name, value in pairs if isinstance(name, ast.Constant) and name.value == key)
        elif isinstance(node, (ast.keyword, ast.Assign, ast.AnnAssign)) and node.value and key in _bound(node):
            yield node.value


def _bound(node: ast.keyword | ast.Assign | ast.AnnAssign) -> list[str | None]:
    """What a keyword or an assignment gives a value: its name, the attributes, the names in a class's body."""
    if isinstance(node, ast.keyword):
        return [node.arg]
    return [_last(one) for one in (node.targets if isinstance(node, ast.Assign) else [node.target])]


def _last(node: ast.AST) -> str:
    """The attribute or the name that an assignment binds."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
