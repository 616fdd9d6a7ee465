"""Calls that leave a device out, so that what they make lies on the CPU: followed back from the tensor out of place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.bindings import arguments_of
from explainer.edits.kinds.devices import devices_given
from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.behind import Behind, out_of_place
from explainer.probes.decided import calls_of
from explainer.probes.makers import bindings
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called, stored

#: How many callers a device is followed through.
_CALLERS = 4


@frozen
class Omission:
    """A call that does not give a parameter whose default is the CPU, with that parameter's name."""

    source: Source
    call: ast.Call
    parameter: str
    builds: bool


@probe
def device_left_out(scene: Scene) -> SpanFact | None:
    """The one call that leaves out the device on which the tensor out of place was made; None where it may be another.

    `detail`: `parameter`, its name; `function`, what is called; `device`, what can be written for a device there.
    """
    start = out_of_place(scene)
    walk = Walk(scene)
    found = list(walk.omissions(*start)) if start is not None else []
    every = {id(one.call): one for one in found if one.builds or id(one.call) in walk.entered}
    return _fact(next(iter(every.values()))) if len(every) == 1 else None


def _fact(found: Omission) -> SpanFact | None:
    from explainer.edits.kinds.devices import devices_at
    from explainer.edits.place import Place

    near = [one for one in devices_at(Place(found.source, found.call)) if one[:1] not in "\"'"]
    device = near[0] if near else ""
    owner = found.source.class_at(found.call.lineno)
    name = owner.name if called(found.call) == "cls" and owner is not None else called(found.call)
    return span_fact(found.source, found.call, parameter=found.parameter, function=name, device=device)


class Walk(Behind):
    """Goes back to the calls that leave a device out: those that made an expression, and those of what made it."""

    def omissions(self, source: Source, node: ast.AST) -> Iterator[Omission]:
        """The calls without a device behind an expression."""
        for home, part in self.parts(source, node):
            for given in devices_given(home, part) if isinstance(part, ast.Call) else ():
                yield from self._origin(home, given, _CALLERS)

    def _origin(self, source: Source, node: ast.AST, most: int) -> Iterator[Omission]:
        """The calls that leave out the parameter which a device comes from, through attributes and callers."""
        for part in ast.walk(node):
            if not isinstance(part, (ast.Name, ast.Attribute)) or not most:
                continue
            function = source.function_at(part.lineno)
            plain = isinstance(part, ast.Name) and isinstance(function, ast.FunctionDef)
            if plain and part.id in _defaulted(function) - stored(function):  # type: ignore
                yield from self._callers(source, function, part.id, most)  # type: ignore
            elif isinstance(part, ast.Attribute) and source.text(part.value) == "self":
                for home, value in bindings(self.scene, source, part):
                    yield from self._origin(home, value, most - 1)

    def _callers(self, source: Source, function: ast.FunctionDef, name: str, most: int) -> Iterator[Omission]:
        if function.name == "__init__" and _is_module(source.class_at(function.lineno)):
            return
        names = [one.arg for one in function.args.args]
        for home, call in (*calls_of(self.scene, source, function), *_own_makers(source, function)):
            if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
                continue
            given = arguments_of(call, names).get(name)
            if given is None:
                yield Omission(home, call, name, function.name == "__init__")
            else:
                yield from self._origin(home, given, most - 1)


def _own_makers(source: Source, function: ast.FunctionDef) -> Iterator[tuple[Source, ast.Call]]:
    """`cls(...)` in a class whose constructor a function is: the calls of its class methods."""
    owner = source.class_at(function.lineno) if function.name == "__init__" else None
    for node in ast.walk(owner) if owner is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cls":
            yield source, node


def _defaulted(function: ast.FunctionDef) -> set[str]:
    """The parameters for a device that are the CPU where they are left out."""
    spec = function.args
    placed = zip([one.arg for one in spec.args][::-1], spec.defaults[::-1], strict=False)
    named = zip([one.arg for one in spec.kwonlyargs], spec.kw_defaults, strict=True)
    return {name for name, default in (*placed, *named) if default is not None and _is_cpu(default)}


def _is_cpu(node: ast.expr) -> bool:
    """`None`, `"cpu"` or `torch.device("cpu")`."""
    if isinstance(node, ast.Call) and called(node) == "device" and node.args:
        node = node.args[0]
    return isinstance(node, ast.Constant) and node.value in (None, "cpu")


def _is_module(owner: ast.ClassDef | None) -> bool:
    """Whether a class is a layer or model: `.to()` of the whole moves what it registers, wherever it was made."""
    names = [ast.unparse(one).rpartition(".")[2] for one in owner.bases] if owner is not None else []
    return any(name.endswith(("Module", "Sequential")) for name in names)
