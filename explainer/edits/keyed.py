"""Edits of what decides whether a kept tensor is made anew: the device becomes a part of the key, or of the test."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place


def key_with_device(at: Place, table: str, device: str) -> tuple[Edit, ...]:
    """`tables[n]` -> `tables[(n, device)]` throughout a function; a key with a name is changed where it is made."""
    function = at.source.function_at(at.span.line)
    keys = list(_keys(at, function, table)) if function is not None else []
    names = {at.source.text(one) for one in keys}
    if len(names) != 1:
        raise EditError("the keys of the table are not alike")
    made = [one.value for one in ast.walk(function) if _makes(at, one, *names)]  # type: ignore
    return changed(at.source, [(at.source.span(one), _with(at, one, device)) for one in (made or keys)])


def asked_with_device(at: Place, table: str, device: str) -> tuple[Edit, ...]:
    """`if self.mask is None:` -> `if self.mask is None or self.mask.device != x.device:`."""
    test = f"({at.text})" if isinstance(at.node, ast.BoolOp) and isinstance(at.node.op, ast.And) else at.text
    asked = device if device.endswith(".device") else f"torch.device({device})"
    return changed(at.source, [(at.span, f"{test} or {table}.device != {asked}")])


def _keys(at: Place, function: ast.AST, table: str) -> Iterator[ast.expr]:
    """The keys with which a function asks for an entry of a table, or sets one."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and at.source.text(node.value) == table:
            yield node.slice
        elif isinstance(node, ast.Compare) and at.source.text(node.comparators[0]) == table:
            yield node.left
        elif isinstance(node, ast.Call) and _entry_of(at, node.func, table) and node.args:
            yield node.args[0]


def _entry_of(at: Place, function: ast.expr, table: str) -> bool:
    """`table.get`, `table.pop`, `table.setdefault`."""
    named = isinstance(function, ast.Attribute) and function.attr in ("get", "pop", "setdefault")
    return named and at.source.text(function.value) == table  # type: ignore[attr-defined]


def _makes(at: Place, node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Assign) and at.source.text(node.targets[0]) == name


def _with(at: Place, key: ast.expr, device: str) -> str:
    text = at.source.text(key)
    if not isinstance(key, ast.Tuple):
        return f"({text}, {device})"
    inner = text[1:-1] if text.startswith("(") else text
    return f"({inner.rstrip().rstrip(',')}, {device})"
