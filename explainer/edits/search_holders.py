"""Candidates for device errors: what plain objects hold moved with them, layers that a forward builds moved there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from explainer.edits.arguments import argument_node
from explainer.edits.candidate import Candidate
from explainer.edits.devices import devices_at
from explainer.edits.evidence import Evidence
from explainer.edits.lines import EditError, changed
from explainer.edits.methods import insert_method
from explainer.edits.place import Place
from explainer.edits.search_device import at_home, odd_operands
from explainer.source import Source

#: How many expressions for a device are tried at one place.
_MOST = 2


def handed(evidence: Evidence) -> Iterator[Candidate]:
    """`.to(device)` for an object of a class with such a method, where it is kept or handed on: `data.scaler`."""
    crash = evidence.crash
    place = crash.place if crash is not None else None
    owner = place.source.class_at(place.span.line) if place is not None else None
    held = any(one.text.startswith("self.") for one in odd_operands(evidence))
    if owner is None or not held or not any(getattr(one, "name", "") == "to" for one in owner.body):
        return
    for at in reversed(list(_owners(evidence))):
        for device in [one for one in dict.fromkeys(devices_at(at)) if one[:1] not in "\"'"][:_MOST]:
            edits = partial(insert_method, at, f"to({device})")
            yield from evidence.made(edits, "insert-method", at, "move", what=at.text, device=device)


def _owners(evidence: Evidence) -> Iterator[Place]:
    """Where the frames name the object whose method failed: its receiver, what was given for it, what it was set to."""
    calls = [frame.place for frame in reversed(evidence.frames)]
    if len(calls) < 2 or not isinstance(calls[1].node, ast.Call) or not isinstance(calls[1].node.func, ast.Attribute):
        return
    at = calls[1].at(calls[1].node.func.value)
    yield at
    for call in calls[2:]:
        given = _given(call, at)
        if given is None:
            break
        at = given
        yield at
    yield from _assigned(at)


def _given(call: Place, at: Place) -> Place | None:
    """What a call gives for the parameter that a name is, in the function that it enters."""
    function = at.source.function_at(at.span.line)
    names = [one.arg for one in function.args.args] if isinstance(function, ast.FunctionDef) else []
    if not isinstance(at.node, ast.Name) or at.node.id not in names or not isinstance(call.node, ast.Call):
        return None
    try:
        given = argument_node(call, at.node.id, names[1:] if names[:1] == ["self"] else names)
    except EditError:
        return None
    return call.at(given) if given is not None else None


def _assigned(at: Place) -> Iterator[Place]:
    """What the class sets an attribute of itself to."""
    owner = at.source.class_at(at.span.line)
    for node in ast.walk(owner) if owner is not None and isinstance(at.node, ast.Attribute) else ():
        if isinstance(node, ast.Assign) and at.source.text(node.targets[0]) == at.text:
            yield Place(at.source, node.value)


def attributes(evidence: Evidence) -> Iterator[Candidate]:
    """`.to(x.device)` for all tensors of one owner that a failing function reads: `(x - self.mean) / self.std`."""
    crash = evidence.crash
    place = crash.place if crash is not None else None
    function = place.source.function_at(place.span.line) if place is not None else None
    homes, odd = at_home(evidence), odd_operands(evidence)
    if place is None or function is None or not homes or not odd:
        return
    read = _read_alike(evidence, place.source, function, odd[0].text, homes)
    names = list(dict.fromkeys(place.source.text(one) for one in read))
    if len(names) > 1:
        device = f"{homes[0]}.device"
        changes = [(place.source.span(one), f"{place.source.text(one)}.to({device})") for one in read]
        edits = partial(changed, place.source, changes)
        yield from evidence.made(edits, "insert-method", place, "move", what=", ".join(names), device=device)


def _read_alike(
    evidence: Evidence, source: Source, function: ast.AST, odd: str, homes: list[str]
) -> list[ast.Name | ast.Attribute]:
    """The tensors that a function reads from the same owner as the odd one; beside a bare name its other parameters."""
    head, dot, _ = odd.rpartition(".")
    held = {name for frame in evidence.frames[-1:] for name, value in frame.scope.items() if isinstance(value, list)}
    given = {one.arg for one in ast.walk(function) if isinstance(one, ast.arg)}
    found: list[ast.Name | ast.Attribute] = []
    for node in ast.walk(function):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            text = source.text(node)
            alike = text.startswith(head + dot) if dot else text in given and odd in given
            if alike and text in held and text not in homes:
                found.append(node)
    return found
