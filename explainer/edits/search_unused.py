"""Candidates from what a function's own lines tell: a result that nothing uses, a statement unlike its siblings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.place import Place, as_primary

#: How many of the user's frames are looked at, the innermost first.
_FRAMES = 3


def unused(evidence: Evidence) -> Iterator[Candidate]:
    """`h = self.first(x)`, then `self.second(x)` -> `self.second(h)`: a tensor that was made is not used."""
    for frame in evidence.frames[: -_FRAMES - 1 : -1]:
        left = [name for name in _unread(frame) if frame.shape(name)]
        for node in ast.walk(frame.place.statement().node) if left else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and frame.shape(node.id):
                for name in left:
                    words: dict[str, Any] = {"new": name, "old": node.id}
                    yield from evidence.replaced(frame.place.at(node), name, "replace", "unused", **words)


def _unread(frame: Call) -> list[str]:
    """The names that the function of a frame binds before the failing line and never reads, the last bound first.

    Not those of several results: `out, state = self.rnn(x)`, of which one is often left.
    """
    function: Any = frame.place.source.function_at(frame.place.node.lineno)
    names = [one for one in ast.walk(function) if isinstance(one, ast.Name)] if function is not None else []
    read = {one.id for one in names if isinstance(one.ctx, ast.Load)}
    assigned = [one.targets[0] for one in ast.walk(function) if isinstance(one, ast.Assign)] if names else []
    bound = [one for one in assigned if isinstance(one, ast.Name) and one.lineno < frame.place.node.lineno]
    found = {one.id: one.lineno for one in bound if one.id not in read and not one.id.startswith("_")}
    return sorted(found, key=lambda name: -found[name])


def unlike_siblings(evidence: Evidence) -> Iterator[Candidate]:
    """`v = v.view(n, t, h, d)` beside `k = k.view(n, t, h, d).transpose(1, 2)`: what follows there is put here too."""
    for frame in evidence.frames[: -_FRAMES - 1 : -1]:
        bound = _bindings(frame)
        for place in bound:
            endings = [end for other in bound if other is not place for end in [_ending(place, other)] if end]
            for end in sorted(set(endings), key=endings.count, reverse=True)[:2]:
                shape = frame.shape(ast.unparse(place.parent().targets[0]))  # type: ignore[union-attr]
                words: dict[str, Any] = {"method": end, "what": place.text[:48], "shape": shape}
                text = f"{as_primary(place)}{end}"
                yield from evidence.replaced(place, text, "insert-method", "insert", **words)


def _bindings(frame: Call) -> list[Place]:
    """The calls whose results a function gives a name, up to the failing line."""
    function: Any = frame.place.source.function_at(frame.place.node.lineno)
    found = []
    node: Any
    for node in ast.walk(function) if function is not None else ():
        named = isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        if named and isinstance(node.value, ast.Call) and node.lineno <= frame.place.node.lineno:
            found.append(frame.place.at(node.value))
    return found


def _ending(place: Place, other: Place) -> str | None:
    """The method calls that follow in another binding's value on what is this one's but for names."""
    own, ending, node = _pattern(place.node), "", other.node
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        inner = node.func.value
        ending = f"{other.source.text(node)[len(other.source.text(inner)) :].strip()}{ending}"
        if _pattern(inner) == own:
            return ending if "\n" not in ending else None
        node = inner  # type: ignore[assignment]
    return None


def _pattern(node: ast.AST) -> str:
    """An expression without its names and the attributes of `self`."""
    return re.sub(r"\bself\.\w+|(?<![.\w])[A-Za-z_]\w*", "_", ast.unparse(node))
