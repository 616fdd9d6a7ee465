"""Texts that an expression stands for: literals followed through names, arguments, settings and lists of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.bindings import given_to_name
from explainer.frozen import frozen
from explainer.probes.decided import given
from explainer.probes.files import sources
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
    found = [(source, one) for source in sources(scene) for one in given_to_name(source, key)]
    return found[0] if len(found) == 1 else None
