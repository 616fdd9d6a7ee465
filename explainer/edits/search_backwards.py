"""Candidates for lists of tensors that are gone through from the wrong end: the skips of an encoder in its decoder."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.place import as_primary

#: How many of the user's frames are looked at, the innermost first.
_FRAMES = 4


def from_other_end(evidence: Evidence) -> Iterator[Candidate]:
    """`zip(ups, skips)` -> `zip(ups, reversed(skips))`, `skips.pop(0)` -> `skips.pop()`, `skips[i]` -> `skips[-1 - i]`.

    Only lists that are still held by the functions that failed, with two entries or more; and the reverse of each.
    """
    for frame in evidence.frames[: -_FRAMES - 1 : -1]:
        function: Any = frame.place.source.function_at(frame.place.node.lineno)
        for node in ast.walk(function) if function is not None else ():
            if node.lineno > frame.place.node.lineno if isinstance(node, ast.expr) else False:
                continue  # not reached
            for old, new in _turned(node, frame):
                yield from evidence.replaced(frame.place.at(old), new, "replace", "other-end", new=new)


def _turned(node: ast.AST, frame: Call) -> Iterator[tuple[ast.expr, str]]:
    """What a part of a function would be, each with what it would become, if it went from the other end of a list."""
    if isinstance(node, ast.For):
        yield from _of_walk(node.iter, frame)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip":
        for given in node.args:
            yield from _of_walk(given, frame)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pop":
        name = ast.unparse(node.func.value)
        if _held(name, frame.scope) and _is_end(node.args):
            yield node, f"{name}.pop()" if node.args else f"{name}.pop(0)"
    elif (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and _held(ast.unparse(node.value), frame.scope)
    ):
        index = _other(node.slice)
        if index is not None:
            yield node, f"{as_primary(frame.place.at(node.value))}[{index}]"


def _of_walk(walked: ast.expr, frame: Call) -> Iterator[tuple[ast.expr, str]]:
    """`skips` -> `reversed(skips)`, and `reversed(skips)` or `skips[::-1]` -> `skips`."""
    text = ast.unparse(walked)
    inner = text[len("reversed(") : -1] if text.startswith("reversed(") else text.removesuffix("[::-1]")
    if _held(inner, frame.scope):
        yield walked, f"reversed({inner})" if inner == text else inner


def _held(name: str, scope: Mapping[str, Any]) -> bool:
    """Whether a name, or an attribute, holds a list of two entries or more."""
    length = scope.get(f"len({name})")
    return isinstance(length, int) and length > 1


def _is_end(args: list[ast.expr]) -> bool:
    return not args or (isinstance(args[0], ast.Constant) and args[0].value == 0)


def _other(index: ast.expr) -> str | None:
    """`i` -> `-1 - i`, `-i` -> `-1 - i`, and `-1 - i` or `-(i + 1)` -> `i`, for an index that is one name."""
    text = ast.unparse(index)
    names = [one.id for one in ast.walk(index) if isinstance(one, ast.Name)]
    if len(names) != 1:
        return None
    name = names[0]
    if text in (name, f"-{name}"):
        return f"-1 - {name}"
    return name if text in (f"-1 - {name}", f"-{name} - 1", f"-({name} + 1)", f"-(1 + {name})") else None
