"""All that an expression may have been computed from, as far as the program's source tells: names, callers, returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from explainer.edits.lines import EditError
from explainer.edits.place import place_of
from explainer.probes.call import call_node
from explainer.probes.device.elsewhere import foreign_result
from explainer.probes.device.misplaced import misplaced
from explainer.probes.files import sources
from explainer.probes.makers import bindings
from explainer.probes.module import below_user
from explainer.probes.owners import parameters_of
from explainer.probes.scene import Scene
from explainer.probes.values import is_tensor
from explainer.source import Source, called

#: How many expressions are looked at.
_STEPS = 80
_PLACES = ("to", "cpu", "cuda", "numpy", "tolist")
Node = tuple[Source, ast.AST]


class Behind:
    """Goes from an expression back to what it may come from. `entered` are the calls whose returns were looked at."""

    def __init__(self, scene: Scene):
        self.scene, self.left = scene, _STEPS
        self.entered: set[int] = set()
        self.seen: set[int] = set()

    def parts(self, source: Source, node: ast.AST) -> Iterator[Node]:
        """Every expression on the way, each with its file; not what is put on another device further on."""
        self.left -= 1
        if self.left < 0 or id(node) in self.seen:
            return
        self.seen.add(id(node))
        for part in _parts(node):
            yield source, part
            steps = self._returned(part) if isinstance(part, ast.Call) else self._bound(source, part)
            for home, value in steps:
                yield from self.parts(home, value)

    def _bound(self, source: Source, part: ast.AST) -> Iterator[Node]:
        if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
            yield from bindings(self.scene, source, part)
            yield from ((source, one) for one in _unpacked(source, part))

    def _returned(self, call: ast.Call) -> Iterator[Node]:
        for home, function in self.functions(call):
            self.entered.add(id(call))
            for one in ast.walk(function):
                if isinstance(one, ast.Return) and one.value is not None:
                    yield home, one.value

    def functions(self, call: ast.Call) -> list[tuple[Source, ast.FunctionDef]]:
        """The program's only function, or method, of the name that is called."""
        files = sources(self.scene)
        found = [(one, node) for one in files for node in one.nodes() if isinstance(node, ast.FunctionDef)]
        named = [one for one in found if one[1].name == called(call)]
        return named if len(named) == 1 else []


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """An expression and its parts, but for what is put on another device inside: where that lay does not matter."""
    yield node
    placed = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and called(node) in _PLACES
    inner = [*node.args, *node.keywords] if isinstance(node, ast.Call) and placed else ast.iter_child_nodes(node)
    for part in inner:
        yield from _parts(part)


def _unpacked(source: Source, part: ast.Name | ast.Attribute) -> Iterator[ast.expr]:
    """The calls whose result is unpacked into a name and others: `cos, sin = tables(x)`."""
    text, scope = source.text(part), source.scope_at(part.lineno)
    for node in ast.walk(scope):
        target = node.targets[0] if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) else None
        if isinstance(target, ast.Tuple) and any(source.text(one) == text for one in target.elts):
            yield node.value  # type: ignore[attr-defined]


def out_of_place(scene: Scene) -> Node | None:
    """The expression of the tensor that lies on the CPU while others do not, or of the call that gave it."""
    odd = misplaced(scene)
    fact: Any = odd if odd is not None else foreign_result(scene)
    if fact is None:
        return _given(scene)
    if (odd.device if odd is not None else fact.detail["device"]) != "cpu":
        return None
    with suppress(EditError):
        place = place_of(scene.source, fact)
        return place.source, place.node
    return None


def _given(scene: Scene) -> Node | None:
    """What a layer that lies elsewhere is given from the CPU, where that has no name: `net(store.last(3))`."""
    failing, calls = scene.failing, below_user(scene)
    node = call_node(failing.node) if failing is not None else None
    inputs = [str(one.device) for one in calls[-1].args if is_tensor(one)] if calls else []
    own = {str(one.device) for one in parameters_of(calls[-1].module)} if calls else set()
    plain = failing is not None and isinstance(node, ast.Call) and len(node.args) == 1
    return (failing.source, node.args[0]) if plain and inputs == ["cpu"] and own and "cpu" not in own else None  # type: ignore
