"""Where a tensor that has to stay on the CPU was moved away: followed back to the call that moved it or its batch."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact, TensorFact
from explainer.probes import probe
from explainer.probes.files import nodes_of
from explainer.probes.follow import Trait, followed
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import is_tensor
from explainer.source import called

_COLLECTIONS = (ast.ListComp, ast.GeneratorExp, ast.DictComp)


@probe
def moved_away(scene: Scene, of: TensorFact | None = None) -> SpanFact | None:
    """The expression that moved a tensor, or a batch with it, away from the CPU; None where it cannot be followed.

    `detail`: `part`, its place in a tuple or list that was moved as a whole, -1 for none; `key`, the same of a dict.
    """
    if of is None or of.device == "cpu":
        return None
    trait = Away(scene)
    found = followed(scene, of, trait)
    if found is None:
        return None
    return span_fact(found.source, found.node, part=found.part[0] if found.part else -1, key=trait.key)


class Away(Trait):
    """A device other than the CPU. `key` is the last entry of a dict on the way, empty where there was none."""

    wanted = "away"

    def __init__(self, scene: Scene):
        self.movers = _movers(scene)
        self.key = ""

    def of(self, value: Any) -> str | None:
        if not is_tensor(value):
            return None
        return "home" if value.device.type == "cpu" else "away"

    def of_expression(self, node: ast.AST) -> str | None:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and type(node.slice.value) is str:
            self.key = node.slice.value
        if isinstance(node, _COLLECTIONS):
            inner = node.value if isinstance(node, ast.DictComp) else node.elt
            return "away" if _moves(inner, self.movers) else None
        return "away" if isinstance(node, ast.Call) and _is_move(node, self.movers) else None


def _movers(scene: Scene) -> frozenset[str]:
    """The names of the user's functions that move what they are given."""
    functions = [node for source, node in nodes_of(scene, ast.FunctionDef)]
    own = {one.name for one in functions if "forward" not in one.name and _moves_first(one)}
    return frozenset(own)


def _moves_first(function: ast.FunctionDef) -> bool:
    """Whether a function returns something, and moves a name that is no module of the script's."""
    returned = [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
    few = 1 <= len(function.args.args) <= 3
    return bool(returned) and few and _moves(function, frozenset()) and not _trains(function)


def _trains(function: ast.FunctionDef) -> bool:
    names = {called(node) for node in ast.walk(function) if isinstance(node, ast.Call)}
    return bool(names & {"backward", "step", "zero_grad"})


def _moves(tree: ast.AST, movers: frozenset[str]) -> bool:
    return any(_is_move(node, movers) for node in ast.walk(tree) if isinstance(node, ast.Call))


def _is_move(node: ast.Call, movers: frozenset[str]) -> bool:
    """`x.to(device)`, `x.cuda()`, or the call of a function that does so."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "to" and node.args:
        return not ast.unparse(node.args[0]).startswith("torch.") or "device" in ast.unparse(node.args[0])
    return called(node) == "cuda" or called(node) in movers
