"""Candidates taken from a call of the same thing elsewhere in the program, which prepares its arguments otherwise."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.place import Place
from explainer.source import stored

_LIBRARIES = ("torch", "F", "nn", "np", "numpy", "super", "math", "range", "len", "print", "zip", "enumerate")
#: How many other calls of one thing are taken for an example.
_MOST = 6
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def given_alike(evidence: Evidence) -> Iterator[Candidate]:
    """`self.decoder(z)` -> `self.decoder(torch.cat([z, y], 1))`, as another method of the class calls it."""
    for frame in reversed(evidence.frames):
        call = frame.place
        if not _own_call(call):
            continue
        own = ast.unparse(call.node)
        seen = {own}
        for other in _others(evidence, call)[:_MOST]:
            for text in _adapted(frame, other):
                if text not in seen and _shape_of(text) != _shape_of(own) and _layers(own) <= _layers(text):
                    seen.add(text)
                    yield from evidence.replaced(call, text, "replace", "alike", new=text[:70], line=other.span.line)


def _shape_of(text: str) -> str:
    """A call without its literals: one that differs in nothing else is given other data, not prepared otherwise."""
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = None
    return ast.unparse(tree)


def _layers(text: str) -> set[str]:
    """The layers and methods of `self` that a text calls: to leave one out makes another model."""
    calls = [node.func for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Call)]
    return {found for found in map(ast.unparse, calls) if found.startswith("self.")}


def _own_call(call: Place) -> bool:
    """Whether a call is of the program's own: a function, a method, a module; not of a library."""
    return isinstance(call.node, ast.Call) and ast.unparse(call.node.func).split(".")[0] not in _LIBRARIES


def _others(evidence: Evidence, call: Place) -> list[Place]:
    """Other calls of what a call calls: in its class first; what `self` has only there."""
    function = ast.unparse(call.node.func)  # type: ignore[union-attr]
    found = []
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Call) and node is not call.node and ast.unparse(node.func) == function:
                found.append(Place(source, node))
    owner = call.source.class_at(call.node.lineno)
    beside = [one for one in found if one.source is call.source and one.source.class_at(one.node.lineno) is owner]
    return beside if function.startswith("self.") else [*beside, *(one for one in found if one not in beside)]


def _adapted(frame: Call, other: Place) -> Iterator[str]:
    """The call with the other's arguments, in the names that the frame's function has."""
    call: Any = frame.place.node
    for node in _expanded(other):
        if len(node.args) < len(call.args) or any(isinstance(one, ast.Starred) for one in (*node.args, *call.args)):
            continue
        known = _known(frame.place) | stored(node)
        renamed = copy.deepcopy(node)
        for own, one in zip(call.args, renamed.args, strict=False):
            _Renamed(own, known).visit(ast.Expression(one)) if not isinstance(one, ast.Name) else None
        renamed.args = [
            own if isinstance(one, ast.Name) and one.id not in known else one
            for own, one in zip([*call.args, *renamed.args[len(call.args) :]], renamed.args, strict=True)
        ]
        if _names(renamed) <= known and all(_names(one) <= _names(renamed) for one in call.args):
            yield ast.unparse(renamed)


def _expanded(other: Place) -> Iterator[Any]:
    """A call, and the same with names as arguments replaced by what they were bound to before."""
    call: Any = other.node
    yield call
    function = other.source.function_at(call.lineno)
    bound: dict[str, ast.expr] = {}
    for one in ast.walk(function) if function is not None else ():
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and one.lineno < call.lineno:
            bound[one.targets[0].id] = one.value
    if any(isinstance(one, ast.Name) and one.id in bound for one in call.args):
        args = [bound.get(one.id, one) if isinstance(one, ast.Name) else one for one in call.args]
        yield ast.Call(call.func, args, call.keywords)


class _Renamed(ast.NodeTransformer):
    """Puts an expression in the place of names that are not known."""

    def __init__(self, own: ast.expr, known: set[str]):
        self.own, self.known = own, known

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return node if node.id in self.known else self.own


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _known(place: Place) -> set[str]:
    """The names that a place can use: builtins, the file's own, those of its function bound before."""
    function: Any = place.source.function_at(place.node.lineno)
    found = set(dir(builtins))
    for node in ast.iter_child_nodes(place.source.tree or ast.Module([], [])):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(one.asname or one.name).split(".")[0] for one in node.names}
        elif isinstance(node, _DEFINITIONS):
            found.add(node.name)
        else:
            found |= stored(node)
    if function is not None:
        found |= {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
        found |= {name for one in function.body if one.lineno <= place.node.lineno for name in stored(one)}
    return found
