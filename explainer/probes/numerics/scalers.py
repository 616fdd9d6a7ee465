"""Functions of the program that bring values to a scale of one, used beside values that stay as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from explainer.edits.place import Place
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import is_tensor, readable
from explainer.source import Source, called, source_of

#: Magnitudes of what was scaled, and of what was in need of it.
_SMALL, _LARGE = 15.0, 30.0
#: Methods whose results are the same values, or some of them.
_PARTING = ("split", "chunk", "unbind", "view", "reshape", "flatten", "t", "T", "float", "to", "unsqueeze", "narrow")


def scaled_beside(scene: Scene, source: Source, bound: ast.stmt, names: Sequence[str]) -> tuple[ast.stmt, str] | None:
    """`y = standardize(price)` behind the statement that binds other names: it, and what the function is called.

    None where parts of one of them are taken before that: they would stay as they were.
    """
    for frame in scene.live.user if scene.live is not None else ():
        if source_of(frame.file, frame.frame.f_globals).file != source.file:
            continue
        scope = source.scope_at(frame.line)
        if scope is None or not any(node is bound for node in ast.walk(scope)):
            continue
        for statement, call in _uses(frame, scope, bound.lineno):
            if not _parted_between(source, scope, names, bound.end_lineno or 0, statement.end_lineno or 0):
                return statement, source.text(call.func)
    return None


def _uses(frame: LiveFrame, scope: ast.AST, after: int) -> Iterator[tuple[ast.stmt, ast.Call]]:
    """The assignments behind a line, above the frame's, of what a function made small."""
    for node in ast.walk(scope):
        if not isinstance(node, ast.Assign) or not after < node.lineno < frame.line or len(node.targets) != 1:
            continue
        targets, values = _flat(node.targets[0]), _flat(node.value)
        for target, value in zip(targets, values, strict=False) if len(targets) == len(values) else ():
            if isinstance(target, ast.Name) and isinstance(value, ast.Call) and _scales(frame, target.id, value):
                yield node, value


def _flat(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]


def _scales(frame: LiveFrame, target: str, call: ast.Call) -> bool:
    """Whether a call made a small tensor of a name's large one."""
    given = call.args[0] if len(call.args) == 1 and not call.keywords else None
    result: Any = frame.locals.get(target)
    if not isinstance(given, ast.Name) or not isinstance(call.func, ast.Name) or not _magnitude(result) < _SMALL:
        return False
    before = frame.locals.get(given.id)
    return bool(
        is_tensor(before) and before is not result and before.shape == result.shape and _magnitude(before) >= _LARGE
    )


def _magnitude(value: object) -> float:
    """The largest magnitude of a tensor of fractions that has one; without bound where there is none."""
    if not readable(value) or not value.is_floating_point():
        return float("inf")
    return float(value.detach().abs().max())


def _parted_between(source: Source, scope: ast.AST, names: Sequence[str], first: int, last: int) -> bool:
    """Whether parts of a value are taken, or it is put into a dataset, between two lines."""
    read = [node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id in names]
    return any(_parts(source, node) for node in read if first < node.lineno <= last)


def _parts(source: Source, node: ast.Name) -> bool:
    parent = Place(source, node).parent()
    if isinstance(parent, ast.Attribute):
        return parent.attr in _PARTING
    function = called(parent) or "" if isinstance(parent, ast.Call) else ""
    held = isinstance(parent, (ast.Subscript, ast.Tuple, ast.List, ast.Assign, ast.Dict))
    return held or function[:1].isupper() or function.endswith(("split", "zip"))
