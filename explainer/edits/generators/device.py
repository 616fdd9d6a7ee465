"""Candidates for device errors: make the odd tensor where the model is, move it with its layer, or with others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import Operand, chain, operands
from explainer.edits.kinds.arguments import set_argument
from explainer.edits.kinds.devices import devices_at, give_device, moves
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.source import stored, walked

#: Calls that make a tensor from nothing and take `device=`.
_FACTORIES = (
    "zeros", "ones", "empty", "full", "rand", "randn", "randint", "randperm", "arange", "linspace", "logspace", "eye",
    "tensor", "as_tensor", "hann_window",
)  # fmt: skip
#: How many expressions for a device are tried at one place.
_MOST = 3


def created(evidence: Evidence) -> Iterator[Candidate]:
    """`device=` for the factory call that made an operand which lies elsewhere than the others."""
    for place in _factories(evidence):
        yield from _on_device(evidence, place, [one for one in _first(devices_at(place)) if one[:1] not in "\"'"])


def _factories(evidence: Evidence) -> Iterator[Place]:
    for operand in odd_operands(evidence):
        for step in chain(evidence, operand.start):
            place = step.place
            if step.function in _FACTORIES and step.lies == _device(evidence, operand) and place is not None:
                yield place


def _on_device(evidence: Evidence, place: Place, devices: list[str]) -> Iterator[Candidate]:
    node = place.node
    if not isinstance(node, ast.Call) or any(word.arg == "device" for word in node.keywords):
        return
    twins = _twins(place)
    for device in devices:
        words: dict[str, Any] = {"what": place.short, "device": device}
        every = partial(give_device, (place, *twins), device)
        yield from evidence.made(every, "give-device", place, "on-device", **words) if twins else ()
        alone = partial(set_argument, place, "device", device)
        yield from evidence.made(alone, "set-argument", place, "on-device", **words)


def _twins(place: Place) -> list[Place]:
    """The calls of the same function that read alike, as those of the two states of a recurrent layer do."""
    scope = place.source.scope_at(place.line)
    calls = [one for one in walked(scope) if isinstance(one, ast.Call)] if scope is not None else []
    return [place.at(one) for one in calls if one is not place.node and place.source.text(one) == place.text]


def odd_operands(evidence: Evidence) -> list[Operand]:
    """The operands that lie on the CPU while others do not, or elsewhere than the first where none is on the CPU."""
    crash, every = evidence.crash, operands(evidence)
    devices = crash.devices if crash is not None else ()
    if len(set(devices)) < 2 or len(devices) < len(every):
        return []
    away = "cpu" if "cpu" in devices else next(one for one in devices if one != devices[0])
    return [one for one in every if devices[one.index] == away]


def at_home(evidence: Evidence) -> list[str]:
    """The names of the operands that lie where most of the model does."""
    odd = odd_operands(evidence)
    return [one.text for one in operands(evidence) if one not in odd and one.text.isidentifier()]


def _device(evidence: Evidence, operand: Operand) -> str:
    return evidence.crash.devices[operand.index] if evidence.crash is not None else ""


def _first(texts: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(texts))[:_MOST]


def together(evidence: Evidence) -> Iterator[Candidate]:
    """`.to(x.device)` for all constants of the file that a failing function reads: `(x - MEAN) / STD`."""
    crash = evidence.crash
    place = crash.place if crash is not None else None
    function = place.source.function_at(place.line) if place is not None else None
    if place is None or function is None:
        return
    homes, odd = at_home(evidence), odd_operands(evidence)
    constants = _constants(place) - _own_names(function)
    read = [one for one in walked(function) if isinstance(one, ast.Name) and one.id in constants]
    if homes and len({one.id for one in read}) > 1 and any(one.text in constants for one in odd):
        changes = [(place.source.span(one), f"{one.id}.to({homes[0]}.device)") for one in read]
        names = ", ".join(dict.fromkeys(one.id for one in read))
        edits = partial(changed, place.source, changes)
        yield from evidence.made(edits, "insert-method", place, "move", what=names, device=f"{homes[0]}.device")


def _own_names(function: ast.AST) -> set[str]:
    """The parameters of a function and the names that it binds."""
    return stored(function) | {one.arg for one in walked(function) if isinstance(one, ast.arg)}


def _constants(place: Place) -> set[str]:
    """The names that a file gives tensors, outside of functions."""
    body = getattr(place.source.tree, "body", [])
    made = [one for one in body if isinstance(one, ast.Assign) and ast.unparse(one.value).startswith("torch.")]
    names = [one.targets[0] for one in made if isinstance(one.value, ast.Call)]
    return {one.id for one in names if isinstance(one, ast.Name)}


def nested(evidence: Evidence) -> Iterator[Candidate]:
    """A helper that moves the tensors of a dict made to move those of the dicts inside it, too."""
    for source in evidence.sources_seen():
        for call, device in moves(source):
            function = source.function_at(call.span.line)
            other = _kept_aside(call)
            if isinstance(function, ast.FunctionDef) and other is not None:
                value, given = call.source.text(other), [one.arg for one in function.args.args]
                inner = ", ".join([value, *given[1:]])
                new = f"{function.name}({inner}) if isinstance({value}, dict) else {value}"
                yield from evidence.replaced(call.at(other), new, "replace", "nested", call, what=value, device=device)


def _kept_aside(call: Place) -> ast.expr | None:
    """`value` of `value.to(device) if torch.is_tensor(value) else value`, an expression or statements."""
    receiver = call.source.text(call.node.func.value)  # type: ignore[union-attr]
    for node in call.source.nodes():
        if isinstance(node, ast.IfExp) and node.body is call.node:
            return node.orelse if call.source.text(node.orelse) == receiver else None
        if isinstance(node, ast.If) and len(node.orelse) == 1 and getattr(node.body[0], "value", None) is call.node:
            value = getattr(node.orelse[0], "value", None)
            return value if value is not None and call.source.text(value) == receiver else None
    return None
