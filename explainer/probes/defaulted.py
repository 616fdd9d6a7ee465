"""Calls that leave a device out, so that what they make lies on the CPU: followed back from the tensor out of place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.cuts import sources
from explainer.probes.decided import arguments_of, calls_of
from explainer.probes.device import misplaced
from explainer.probes.elsewhere import foreign_result
from explainer.probes.makers import bindings
from explainer.probes.places import spanned
from explainer.probes.scene import Scene
from explainer.source import Source, called, loaded, stored

#: How many expressions are looked at, and how many callers a device is followed through.
_STEPS, _CALLERS = 80, 4
_PLACES = ("to", "cpu", "cuda", "numpy", "tolist")
Node = tuple[Source, ast.AST]


@frozen
class Omission:
    """A call that does not give a parameter whose default is the CPU, with that parameter's name."""

    source: Source
    call: ast.Call
    parameter: str


@probe
def device_left_out(scene: Scene) -> SpanFact | None:
    """The one call that leaves out the device on which the tensor out of place was made; None where it may be another.

    `detail`: `parameter`, its name; `function`, what is called; `device`, what can be written for a device there.
    """
    start = _start(scene)
    walk = Walk(scene)
    found = list(walk.omissions(*start)) if start is not None else []
    taken = [one for one in found if id(one.call) in walk.entered]
    every = {id(one.call): one for one in taken or found}
    return _fact(next(iter(every.values()))) if len(every) == 1 else None


def _fact(found: Omission) -> SpanFact | None:
    from explainer.edits.devices import devices_at
    from explainer.edits.place import Place

    near = [one for one in devices_at(Place(found.source, found.call)) if one[:1] not in "\"'"]
    device = near[0] if near else ""
    name = called(found.call)
    return spanned(found.source, found.call, parameter=found.parameter, function=name, device=device)


def _start(scene: Scene) -> Node | None:
    """The expression of the tensor that lies on the CPU, or of the call that gave it."""
    odd = misplaced(scene)
    fact = odd if odd is not None else foreign_result(scene)
    device = odd.device if odd is not None else fact.detail["device"] if fact is not None else ""  # type: ignore
    source = scene.source(fact.span.file) if fact is not None and fact.span is not None else None
    if device != "cpu" or source is None or fact is None or fact.span is None:
        return None
    node = next((one for one in source.nodes() if isinstance(one, ast.expr) and source.span(one) == _bare(fact)), None)
    return (source, node) if node is not None else None


def _bare(fact: SpanFact) -> object:
    from dataclasses import replace

    return replace(fact.span, symbol=None)


class Walk:
    """Goes from an expression to all that it may be computed from, as far as the source tells."""

    def __init__(self, scene: Scene):
        self.scene, self.left = scene, _STEPS
        self.entered: set[int] = set()
        self.seen: set[int] = set()

    def omissions(self, source: Source, node: ast.AST) -> Iterator[Omission]:
        """The calls without a device behind an expression: those that made it, and those of what made it."""
        self.left -= 1
        if self.left < 0 or id(node) in self.seen:
            return
        self.seen.add(id(node))
        for part in _parts(node):
            if isinstance(part, ast.Call):
                yield from self._of_call(source, part)
            elif isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
                for home, value in bindings(self.scene, source, part):
                    yield from self.omissions(home, value)

    def _of_call(self, source: Source, call: ast.Call) -> Iterator[Omission]:
        for given in _devices_given(source, call):
            yield from self._origin(source, given, _CALLERS)
        for home, function in self._functions(call):
            self.entered.add(id(call))
            for one in ast.walk(function):
                if isinstance(one, ast.Return) and one.value is not None:
                    yield from self.omissions(home, one.value)

    def _functions(self, call: ast.Call) -> list[tuple[Source, ast.FunctionDef]]:
        """The program's only function, or method, of the name that is called."""
        files = sources(self.scene)
        found = [(one, node) for one in files for node in one.nodes() if isinstance(node, ast.FunctionDef)]
        named = [one for one in found if one[1].name == called(call)]
        return named if len(named) == 1 else []

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
        for home, call in calls_of(self.scene, source, function):
            if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
                continue
            given = arguments_of(call, names).get(name)
            if given is None:
                yield Omission(home, call, name)
            else:
                yield from self._origin(home, given, most - 1)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """An expression and its parts, but for what is put on another device inside: where that lay does not matter."""
    yield node
    placed = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and called(node) in _PLACES
    inner = [*node.args, *node.keywords] if isinstance(node, ast.Call) and placed else ast.iter_child_nodes(node)
    for part in inner:
        yield from _parts(part)


def _devices_given(source: Source, call: ast.Call) -> Iterator[ast.expr]:
    """What a call is given for a device: `device=...` of a factory, the first argument of `.to(...)`."""
    yield from (word.value for word in call.keywords if word.arg == "device")
    if called(call) == "to" and isinstance(call.func, ast.Attribute):
        yield from (one for one in call.args[:1] if any("device" in name for name in loaded(one)))


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
