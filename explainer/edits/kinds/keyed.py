"""Edits of what decides whether a kept tensor is made anew: the device becomes a part of the key, or of the test."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place
from explainer.source import Source, walked


def key_with_device(at: Place, table: str, device: str) -> tuple[Edit, ...]:
    """`tables[n]` -> `tables[(n, device)]` throughout a function; a key with a name is changed where it is made."""
    function = at.source.function_at(at.span.line)
    keys = list(keys_of(at.source, function, table)) if function is not None else []
    if function is None or len({at.source.text(one) for one in keys}) != 1:
        raise EditError("the keys of the table are not alike")
    made = key_made(at.source, function, table)
    return changed(at.source, [(at.source.span(one), _with(at, one, device)) for one in ([made] if made else keys)])


def asked_with_device(at: Place, table: str, device: str) -> tuple[Edit, ...]:
    """`if self.mask is None:` -> `if self.mask is None or self.mask.device != x.device:`.

    Where the test asks whether it is there already, `if self.mask is not None:`, the device has to be the same as well.
    """
    there = any(isinstance(one, ast.IsNot) for one in walked(at.node))
    other: type[ast.boolop] = ast.Or if there else ast.And
    test = f"({at.text})" if isinstance(at.node, ast.BoolOp) and isinstance(at.node.op, other) else at.text
    asked = device if device.endswith(".device") else f"torch.device({device})"
    joint, sign = ("and", "==") if there else ("or", "!=")
    return changed(at.source, [(at.span, f"{test} {joint} {table}.device {sign} {asked}")])


def keys_of(source: Source, function: ast.AST, table: str) -> Iterator[ast.expr]:
    """The keys with which a function asks for an entry of a table, or sets one."""
    for node in walked(function):
        if isinstance(node, ast.Subscript) and source.text(node.value) == table:
            yield node.slice
        elif isinstance(node, ast.Compare) and source.text(node.comparators[0]) == table:
            yield node.left
        elif isinstance(node, ast.Call) and _entry_of(source, node.func, table) and node.args:
            yield node.args[0]


def key_made(source: Source, function: ast.AST, table: str) -> ast.expr | None:
    """What a function makes a key of, where it gives it a name that is for keys alone: `key = (height, width)`."""
    keys = list(keys_of(source, function, table))
    names = {one.id for one in keys if isinstance(one, ast.Name)}
    read = [one for one in walked(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    if len(names) != 1 or len(keys) != sum(one.id in names for one in read):
        return None
    every = [one for one in walked(function) if isinstance(one, ast.Assign)]
    found = [one.value for one in every if source.text(one.targets[0]) in names]
    return found[0] if len(found) == 1 else None


def _entry_of(source: Source, function: ast.expr, table: str) -> bool:
    """`table.get`, `table.pop`, `table.setdefault`."""
    named = isinstance(function, ast.Attribute) and function.attr in ("get", "pop", "setdefault")
    return named and source.text(function.value) == table  # type: ignore[attr-defined]


def _with(at: Place, key: ast.expr, device: str) -> str:
    text = at.source.text(key)
    if not isinstance(key, ast.Tuple):
        return f"({text}, {device})"
    inner = text[1:-1] if text.startswith("(") else text
    return f"({inner.rstrip().rstrip(',')}, {device})"
