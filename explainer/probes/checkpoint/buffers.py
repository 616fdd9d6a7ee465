"""Buffers of another size in a checkpoint: tables that a model computes for itself, and saves although it need not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.checkpoint.loading import changed_sizes, load_frame
from explainer.probes.checkpoint.resized import module_at
from explainer.probes.files import named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of
from explainer.source import Source, called

#: What makes a table that cannot be made again: random numbers, or something that was read.
_ONCE = Pattern(r"rand|normal|uniform|load|open\(")


@probe
def computed_buffer(scene: Scene) -> SpanFact | None:
    """The `register_buffer` of the one table whose copies are all that a checkpoint holds in another size.

    Only of a table that its class computes from its arguments and never writes to. `detail.name` is the buffer's,
    `key` the first entry with its shapes `saved` and `own`, `count` how many there are, `ending` that of all keys.
    """
    frame, rows = load_frame(scene), changed_sizes(scene) or ()
    owners = [(module_at(frame.locals["self"], row["key"].rpartition(".")[0]), row) for row in rows] if frame else []
    names = {row["key"].rpartition(".")[2] for row in rows}
    kinds = {type(owner) for owner, _ in owners}
    if len(names) != 1 or len(kinds) != 1:
        return None
    name, kind = names.pop(), kinds.pop()
    if any(name not in (fields_of(owner).get("_buffers") or {}) for owner, _ in owners):
        return None
    found = list(_registered(scene, kind.__name__, name))
    if len(found) != 1:
        return None
    source, call = found[0]
    first = min(rows, key=lambda row: str(row["key"]))
    about = {"key": first["key"], "saved": first["saved"], "own": first["own"], "count": len(rows)}
    return span_fact(source, call, name=name, ending=_ending([row["key"] for row in rows]), **about)


def _registered(scene: Scene, kind: str, name: str) -> Iterator[tuple[Source, ast.Call]]:
    """The calls by which a class registers a buffer that it only computes, once and from what it is given."""
    for source, owner in named(scene, ast.ClassDef, kind):
        for node in ast.walk(owner) if not _writes(owner, name) else ():
            if _registers(node, name) and not _once_only(source, node):
                yield source, node  # type: ignore[misc]


def _registers(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Call) or called(node) != "register_buffer" or len(node.args) != 2 or node.keywords:
        return False
    return isinstance(node.args[0], ast.Constant) and node.args[0].value == name


def _writes(owner: ast.ClassDef, name: str) -> bool:
    """Whether methods of a class write to a buffer: then it is state that was learned or counted."""
    text = f"self.{name}"
    for node in ast.walk(owner):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        own = [one for target in targets for one in ast.walk(target or ast.Pass()) if isinstance(one, ast.Attribute)]
        method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_")
        if any(ast.unparse(one) == text for one in own):
            return True
        if method and ast.unparse(node.func.value).startswith(text):  # type: ignore[union-attr, attr-defined]
            return True
    return False


def _once_only(source: Source, call: Any) -> bool:
    """Whether the table is made of random numbers or of a file, itself or by the names that it is made of."""
    scope = source.scope_at(call.lineno)
    names = {one.id for one in ast.walk(call.args[1]) if isinstance(one, ast.Name)}
    made = [ast.unparse(call.args[1])]
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and names & {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}:
            made.append(ast.unparse(node.value))
    return any(_ONCE.search(text) for text in made)


def _ending(keys: list[str]) -> str:
    """What dotted keys have in common at their ends; the whole of a single one."""
    parts = [key.split(".")[::-1] for key in keys]
    same = 0
    while all(len(one) > same for one in parts) and len({one[same] for one in parts}) == 1:
        same += 1
    return ".".join(parts[0][:same][::-1])
