"""Where a number arises that no machine has the memory for."""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from explainer.bindings import given_to_name, last_name
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.follow import At, Follow, Trait, bound_above
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.tensor import short
from explainer.probes.values import MISSING, is_tensor, read

#: From how many elements on a size is absurd by itself: 16 GiB of float32.
_ABSURD = 2**32
#: How many of the values that it is computed from are told.
_TOLD = 3


@probe
def number_made(scene: Scene) -> SpanFact | None:
    """The expression that computes the one absurd number of the failing call, on another line than the call.

    `detail`: the `number`; `of`, what it is computed from, in words, where that is still known.
    """
    live, failing = scene.live, scene.failing
    if live is None or failing is None or not live.user:
        return None
    follow = _Numbers(live.user, _Absurd(), scene)
    node = call_node(failing.node)
    start = At(failing.source, node, live.user[-1].line, len(live.user) - 1)
    odd = {ast.unparse(one.node): one for one in follow.absurd(start)}
    if len(odd) != 1:
        return None
    (first,) = odd.values()
    found, number = follow.entry(first), _largest(follow.value(first))
    if found is None or (found.source.file, found.node.lineno) == (failing.source.file, node.lineno):  # type: ignore[attr-defined]
        return None
    return span_fact(found.source, found.node, number=int(number), of=", ".join(follow.told(found)))


class _Absurd(Trait):
    """A number, or a size among others, that is too large by itself."""

    wanted = "absurd"

    def of(self, value: Any) -> str | None:
        return self.wanted if _largest(value) >= _ABSURD else "other"


class _Numbers(Follow):
    """Goes from a number to the expression that computes it of something else."""

    def entry(self, at: At) -> At | None:
        if isinstance(at.node, (ast.Tuple, ast.List)):
            return self._of_operands(at)
        return self._of_attribute(at) if isinstance(at.node, ast.Subscript) else super().entry(at)

    def absurd(self, at: At) -> Iterator[At]:
        """The names, attributes and entries that an expression reads which hold such a number."""
        places = (dataclasses.replace(at, node=node, part=(), value=MISSING) for node in _reads(at.node))
        return (one for one in places if self.trait.of(self.value(one)) == self.trait.wanted)

    def value(self, at: At) -> Any:
        """What is read, by what is there now; MISSING where it was bound again since."""
        entry = isinstance(at.node, ast.Subscript) and at.frame is not None
        return read(at.node, self.frames[at.frame].frame) if entry else self._value(at)  # type: ignore[index]

    def told(self, at: At) -> list[str]:
        """What is known of what an expression reads: numbers, dtypes and shapes."""
        values = ((ast.unparse(node), self.value(dataclasses.replace(at, node=node))) for node in _reads(at.node))
        return [row for row in dict.fromkeys(_words(name, value) for name, value in values) if row][:_TOLD]

    def _of_operands(self, at: At) -> At | None:
        """What an operand that is as large was computed from; this expression where none is."""
        own = self._called(at)
        further = [own] if own is not None else self.absurd(at)
        return next((one for one in map(self.entry, further) if one is not None), at)

    def _of_name(self, at: At) -> At | None:
        last = bound_above(at)
        if isinstance(last, ast.AugAssign):
            return dataclasses.replace(at, node=last, line=last.lineno)
        return super()._of_name(at)

    def _given(self, at: At, name: str) -> At | None:
        """What the caller gave; of a name that no function binds, what its file gives it."""
        function = at.source.function_at(at.node.lineno)  # type: ignore[attr-defined]
        own = function is not None and name in {one.arg for one in ast.walk(function) if isinstance(one, ast.arg)}
        return super()._given(at, name) if own else self._set(at, name)

    def _of_attribute(self, at: At) -> At | None:
        kept = self._assigned(at)
        return self.entry(kept) if kept is not None else self._set(at, last_name(at.node))

    def _set(self, at: At, name: str) -> At | None:
        """The one value that the program gives to a name, an attribute, a keyword or a key."""
        found = [(source, node) for source in self._files(at.source) for node in given_to_name(source, name)]
        plain = [(source, node) for source, node in found if last_name(node) != name]  # handed on under its own name
        source, node = plain[0] if len(plain) == 1 else (at.source, None)
        return self.entry(At(source, node, node.lineno)) if node is not None else None


def _reads(node: ast.AST) -> Iterator[ast.expr]:
    """What an expression reads of names, attributes and entries of its own, the functions that it calls left out."""
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
        inner: list[ast.AST] = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        for part in (*inner, *node.args, *(word.value for word in node.keywords)):
            yield from _reads(part)
    elif isinstance(node, (ast.Name, ast.Attribute)) or (isinstance(node, ast.Subscript) and last_name(node)):
        yield node
    else:
        for one in ast.iter_child_nodes(node):
            yield from _reads(one)


def _largest(value: Any) -> float:
    """The largest finite number that a plain value is or holds; 0 for all else."""
    plain = value if isinstance(value, (tuple, list)) and len(value) < 10 else [value]
    return max((one for one in plain if type(one) in (int, float) and abs(one) < math.inf), default=0)


def _words(name: str, value: Any) -> str:
    if type(value) in (int, float):
        return f"`{name}` = {value:g}" if type(value) is float else f"`{name}` = {value}"
    return f"`{name}` {short(value.dtype)} {list(value.shape)}" if is_tensor(value) else ""
