"""Places where an edit may repair a crash: the failing call, what led to it, what built the layers on the way."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.bindings import KEEPING, only_value
from explainer.edits.evidence import Call, Evidence, Layer, Step
from explainer.edits.generators.slices import ragged
from explainer.edits.lines import EditError
from explainer.edits.place import Place
from explainer.frozen import frozen
from explainer.repair.filled import given_above, given_behind, within
from explainer.repair.makers import lengths, makers
from explainer.repair.settings import defaults, loops, settings
from explainer.replay.recorders.taint import literals, parts
from explainer.source import Source, called, loaded, of_self, walked

#: How far the slice is followed: steps behind the failing call, layers built, names bound.
_STEPS, _LAYERS, _BOUND, _BEFORE, _AFTER = 30, 14, 12, 6, 3
#: Of how many steps the names are followed that are read beside: what a loop goes over is no operand.
_NEAREST = 6
#: How many functions that made what names on the way are bound to are looked into.
_HANDED = 3
#: What hands samples to a program, and how many calls of one name are looked at.
_LOADERS, _MADE = ("DataLoader", "WeightedRandomSampler", "SubsetRandomSampler", "BatchSampler", "Subset"), 4
#: Methods by which a module gets an attribute by its name.
_REGISTERING = ("register_buffer", "register_parameter", "add_module", "register_module")
_NONE: Mapping[str, Any] = {}
#: Statements that read all they name at once; a value that is unpacked fails where the targets stand.
_PLAIN = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)


@frozen
class Spot:
    """An expression or statement with its role in the crash, how far it lies behind it, and what is in scope there.

    Roles: `crash` (the failing call), `caller` (a call on the way to it), `slice` (made an operand), `returned` (what a
    function hands back that made it), `bound` (gave a name or attribute that is read on the way its value), `before`
    (was called above with an object that is read on the way), `built` (built a layer on the way), `given` (its caller),
    `setting` (gives a setting its value that is read on the way), `number` (a number on the way, where it is computed),
    `after` (is called right behind the failing call), `made` (made an object whose methods samples went through).
    """

    place: Place
    role: str
    distance: int
    step: Step | None = None
    layer: Layer | None = None
    scope: Mapping[str, Any] = _NONE

    @property
    def shape(self) -> list[int] | None:
        """The shape of what the expression made, where a call was recorded there."""
        return self.step.shape if self.step is not None and self.role == "slice" and self.step.out else None


def spots(evidence: Evidence) -> list[Spot]:
    """All places, those of each role from the nearest to the farthest; a place that has two roles has the first."""
    if evidence.spots is None:
        found: dict[tuple[str, int, int, int, int], Spot] = {}
        for spot in _all(evidence):
            span = spot.place.node
            key = (spot.place.source.file, span.lineno, span.col_offset, span.end_lineno or 0, span.end_col_offset or 0)
            found.setdefault(key, spot)
        evidence.spots = list(found.values())
    return evidence.spots


def _all(evidence: Evidence) -> Iterator[Spot]:
    near = list(_failing(evidence))
    yield from near
    behind = list(_behind(evidence))
    yield from behind
    yield from _returned(evidence)
    binding = list(_bound(near))
    yield from binding
    yield from _bound(behind[:_NEAREST])
    makers_of = [one for one in behind[_NEAREST:] if one.step is not None and not any(one.step.before)]
    yield from _bound(makers_of[:_NEAREST])  # whose sizes come in there
    yield from _before(evidence)
    yield from _freezing(evidence)
    yield from _after(evidence)
    built = list(_built(evidence))
    yield from built
    yield from _bound(built)
    attributes = list(_attributes(evidence, [*near, *behind]))
    yield from attributes
    yield from _bound(attributes)
    made = list(_loaders(evidence)) if evidence.loading else []
    yield from made
    yield from _bound(made)
    callers = list(_callers(evidence, [*near, *attributes]))
    yield from callers
    yield from _bound(callers)
    handed = list(_handed(evidence, [*behind[:_NEAREST], *binding]))
    handed += list(_bound(handed))
    yield from handed
    if evidence.placed:
        yield from _decided(evidence)
    yield from (Spot(place, "returned", 1, scope=scope_at(evidence, place)) for place in lengths(evidence))
    if ragged(evidence):
        yield from (Spot(place, role, distance) for place, role, distance in makers(evidence))
    cuts = [one for one in behind[:_NEAREST] if isinstance(one.place.node, ast.Subscript)]
    set_there = list(_settings(evidence, [*near, *built, *handed, *cuts]))
    yield from set_there
    yield from _handed(evidence, [one for one in set_there if one.role == "bound"])
    for spot in (*near, *built, *attributes, *callers):
        yield from (Spot(one, "setting", spot.distance + 2) for one in defaults(spot.place, spot.scope))
    numbers = list(_numbers(evidence))
    yield from numbers
    yield from _callers(evidence, numbers)


def _behind(evidence: Evidence) -> Iterator[Spot]:
    """The calls that led to the failing one, nearest first, with those of the user's that made them.

    Of calls at one place, such as those of each sample of a batch, the nearest counts.
    """
    nearest: dict[int, Step] = {}
    for step in evidence.steps[1:]:
        nearest.setdefault(id(step.place.node if step.place is not None else step), step)
    for distance, step in enumerate(itertools.islice(nearest.values(), _STEPS), 1):
        for at, place in enumerate(step.places[:2]):
            yield Spot(place, "caller" if at else "slice", distance + at, step, scope=scope_at(evidence, place))


def _failing(evidence: Evidence) -> Iterator[Spot]:
    """The failing call and the calls that led to it, innermost first."""
    crash = evidence.crash
    places = list(crash.places) if crash is not None else []
    frames = [frame.place for frame in reversed(evidence.frames)]
    places, frames = [_read_at(one) for one in places], [_read_at(one) for one in frames]
    for distance, place in enumerate(places or frames):
        role = "caller" if distance else "crash"
        yield Spot(place, role, distance, crash if not distance else None, scope=scope_at(evidence, place))
    for distance, place in enumerate(frames):
        yield Spot(place, "caller" if distance else "crash", distance, None, scope=scope_at(evidence, place))


def _read_at(place: Place) -> Place:
    """What a loop goes over, where it failed to go on; what is unpacked, where a value fails at its targets."""
    around: ast.AST | None = place.node
    while isinstance(getattr(around, "ctx", None), ast.Store):
        around = place.source.parent_of(around)  # type: ignore[arg-type]
    if isinstance(around, (ast.For, ast.AsyncFor)):
        return place.at(around.iter)
    return place.at(around.value) if isinstance(around, ast.Assign) else place


def scope_at(evidence: Evidence, place: Place) -> Mapping[str, Any]:
    """What was in scope in the function of a place: as it failed, as a layer was built there, as it called torch."""
    frame = evidence.frame_of(place)
    return frame.scope if frame is not None else {**evidence.scope_of(place), **_of_builder(evidence, place)}


def _built(evidence: Evidence) -> Iterator[Spot]:
    """The calls that built the layers on the way, those of the failing call first."""
    for distance, layer in enumerate(evidence.layers_around()[:_LAYERS]):
        for at, call in enumerate(layer.calls[:3]):
            yield Spot(call.place, "given" if at else "built", distance + at, None, layer, call.scope)


def _bound(near: list[Spot]) -> Iterator[Spot]:
    """The assignments of the names that calls read: above these in their functions, or below them in their loops."""
    for spot in near:
        whole = statement_around(spot.place)
        wanted = loaded(whole if isinstance(whole, _PLAIN) else spot.place.node)
        line, distance = whole.lineno, spot.distance
        for names, value in (*given_above(spot.place, line), *given_behind(spot.place, line)):
            if names & wanted and distance < spot.distance + _BOUND:
                wanted |= loaded(value)
                distance += 1
                yield Spot(spot.place.at(value), "bound", distance, None, scope=spot.scope)


def _before(evidence: Evidence) -> Iterator[Spot]:
    """The calls above the failing ones, in the same block, that were given an object which these read."""
    for distance, frame in enumerate(reversed(evidence.frames)):
        failing = statement_around(frame.place)
        block = frame.place.source.block_of(failing)
        above = [one for one in block if one.lineno < failing.lineno and isinstance(one, (ast.Expr, ast.Assign))]
        for at, one in enumerate(above[: -_BEFORE - 1 : -1], 1):
            shares = loaded(one) & loaded(failing) or "inplace operation" in evidence.message
            if isinstance(one.value, ast.Call) and shares:
                yield Spot(frame.place.at(one.value), "before", distance + at, None, scope=frame.scope)


def _freezing(evidence: Evidence) -> Iterator[Spot]:
    """The calls of the program's functions that decide which parameters are trained, where none is.

    And what the attributes are bound to whose parameters are frozen so: it may be another model's, too; and what they
    ask of a name.
    """
    if "require grad" not in evidence.message:
        return
    nodes = [(source, node) for source in evidence.sources_seen() for node in source.nodes()]
    deciding = {node.name for _, node in nodes if isinstance(node, ast.FunctionDef) and _decides(node)}
    for source, node in nodes:
        if isinstance(node, ast.Call) and called(node) in deciding:
            yield Spot(Place(source, node), "before", 2)
    for source, node in nodes:
        yield from (Spot(Place(source, asked), "bound", 2) for asked in _asked(source, node))
        owners = _frozen(node)
        function = source.class_at(node.lineno) or source.scope_at(node.lineno) if owners else None  # type: ignore[attr-defined]
        for one in walked(function) if function is not None else ():
            if isinstance(one, ast.Assign) and {ast.unparse(target) for target in one.targets} & owners:
                yield Spot(Place(source, one.value), "bound", 2)


def _asked(source: Source, node: ast.AST) -> Iterator[ast.expr]:
    """What decides whether a parameter is trained: `p.requires_grad_(name in kept)`, and an `if` around that."""
    if not isinstance(node, ast.Attribute) or not _sets(node):
        return
    call = source.parent_of(node)
    statement: ast.AST | None = Place(source, node).statement().node
    given = call.args if isinstance(call, ast.Call) else [getattr(statement, "value", None)]
    scope = source.scope_at(node.lineno)
    given = [*given, *(only_value(scope, one.id) for one in given if isinstance(one, ast.Name))]
    yield from (one for one in given if isinstance(one, ast.expr) and not isinstance(one, ast.Constant))
    while statement is not None and not isinstance(statement, ast.FunctionDef):
        if isinstance(statement, ast.If):
            yield statement.test
        statement = source.parent_of(statement)


def _frozen(node: ast.AST) -> set[str]:
    """Whose parameters a loop freezes: `self.model` of `for p in self.model.parameters(): p.requires_grad_(False)`."""
    if not isinstance(node, ast.For) or not any(_sets(one) for one in walked(node)):
        return set()
    read = (one.func for one in walked(node.iter) if isinstance(one, ast.Call))
    return {ast.unparse(one.value) for one in read if isinstance(one, ast.Attribute) and "parameters" in one.attr}


def _sets(node: ast.AST) -> bool:
    """Whether an attribute decides what is trained."""
    stored = isinstance(node, ast.Attribute) and node.attr == "requires_grad" and isinstance(node.ctx, ast.Store)
    return stored or (isinstance(node, ast.Attribute) and node.attr == "requires_grad_")


def _decides(function: ast.FunctionDef) -> bool:
    return any(map(_sets, walked(function)))


def _after(evidence: Evidence) -> Iterator[Spot]:
    """The calls right behind the failing ones, in the same block: they may be what should have been made first."""
    for distance, frame in enumerate(reversed(evidence.frames)):
        failing = statement_around(frame.place)
        block = frame.place.source.block_of(failing)
        below = [one for one in block if one.lineno > failing.lineno][:_AFTER]
        for at, one in enumerate(below, 1):
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
                yield Spot(frame.place.at(one.value), "after", distance + at, None, scope=frame.scope)


def statement_around(place: Place) -> Any:
    """The statement around a place; itself where it stands in none, as a decorator does."""
    try:
        return place.statement().node
    except EditError:
        return place.node


def _returned(evidence: Evidence) -> Iterator[Spot]:
    """What the functions hand back in which the failing value was made."""
    seen: set[int] = set()
    for distance, step in enumerate(evidence.steps[1:_STEPS], 1):
        for place in step.places[:2]:
            function = place.source.function_at(place.line)
            if function is None or id(function) in seen:
                continue
            seen.add(id(function))
            at = evidence.frame_of(place)  # on the failing stack, what it hands back comes later
            for node in within(function) if at is None else ():
                if isinstance(node, ast.Return) and node.value is not None:
                    yield Spot(place.at(node.value), "returned", distance, None, scope=scope_at(evidence, place))


def _attributes(evidence: Evidence, near: list[Spot]) -> Iterator[Spot]:
    """What the attributes of `self` that the failing functions read were given in the constructor of their class."""
    for spot in near:
        wanted = [one for one in walked(statement_around(spot.place)) if of_self(one)]
        names = {one.attr for one in wanted if isinstance(one, ast.Attribute)}
        owner = spot.place.source.class_at(spot.place.line)
        for node in walked(owner) if owner is not None and names else ():
            value = _given(node, names)
            if value is not None:
                scope = _of_builder(evidence, spot.place.at(value))
                yield Spot(spot.place.at(value), "bound", spot.distance + 2, None, scope=scope)


def _given(node: ast.AST, names: set[str]) -> ast.expr | None:
    """What a statement gives an attribute of `self`: the value assigned, the call that registers it or adds to it."""
    if isinstance(node, ast.Assign):
        given = {one.attr for one in node.targets if isinstance(one, ast.Attribute) and of_self(one)}
        return node.value if given & names else None
    if isinstance(node, ast.Call) and of_self(node.func) and called(node) in _REGISTERING and node.args:
        return node if getattr(node.args[0], "value", None) in names else None
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if isinstance(node, ast.Call) and of_self(owner) and owner.attr in names and called(node) in KEEPING:
        return node
    return None


def _decided(evidence: Evidence) -> Iterator[Spot]:
    """The calls that decide for the whole program where tensors are made, and those that name a device themselves."""
    yield from (Spot(place, "before", 1) for place in evidence.calls_of("set_default_device"))
    for source in evidence.sources_seen():
        for node in source.nodes():
            words = [one.value for one in node.keywords if one.arg == "device"] if isinstance(node, ast.Call) else []
            if words and isinstance(words[0], ast.Constant):
                yield Spot(Place(source, node), "before", 2)  # type: ignore[arg-type]


def _numbers(evidence: Evidence) -> Iterator[Spot]:
    """Where the numbers on the way were written or computed: of the failing call, of the steps, of the layers.

    Of steps farther off those alone that were computed.
    """
    rows = [(distance, list(step.numbers)) for distance, step in enumerate(evidence.steps[:_STEPS])]
    rows += [(_STEPS, [tree for tree in step.numbers if tree[0] == "op"]) for step in evidence.steps[_STEPS:]]
    rows += [(at, [tree for trees in layer.numbers.values() for tree in trees])
             for at, layer in enumerate(evidence.layers_around()[:_LAYERS])]  # fmt: skip
    for distance, trees in rows:
        for tree in trees:
            for part in (*parts(tree), *literals(tree)):
                place = evidence.place(part[-2])
                if place is not None:
                    yield Spot(place, "number", distance + 1, scope=scope_at(evidence, place))


def _loaders(evidence: Evidence) -> Iterator[Spot]:
    """The calls that made loaders and what draws samples for them."""
    for name in _LOADERS:
        for place in evidence.calls_of(name)[:_MADE]:
            yield Spot(place, "made", 1, None, scope=scope_at(evidence, place))


def _callers(evidence: Evidence, near: list[Spot]) -> Iterator[Spot]:
    """The calls that give the functions and classes on the way their parameters, where they are read."""
    seen: set[str] = set()
    for spot in near:
        source, line = spot.place.source, spot.place.line
        function, owner = source.function_at(line), source.class_at(line)
        if function is None or not loaded(statement_around(spot.place)) & {one.arg for one in function.args.args}:
            continue
        name = owner.name if owner is not None and function.name == "__init__" else function.name
        if name not in seen:
            seen.add(name)
            for place in evidence.calls_of(name)[:_MADE]:
                yield Spot(place, "given", spot.distance + 1, None, scope=scope_at(evidence, place))


def _handed(evidence: Evidence, near: list[Spot]) -> Iterator[Spot]:
    """What functions of the program hand back that bound names on the way were given: `net, opt = build(phase)`."""
    seen: set[str] = set()
    for spot in near:
        for call in (one for one in walked(spot.place.node) if isinstance(one, ast.Call)):
            found = evidence.defined(called(call)) if called(call) not in seen and len(seen) < _HANDED else []
            if len(found) == 1 and isinstance(found[0].node, ast.FunctionDef):
                seen.add(called(call))
                for node in within(found[0].node):
                    if isinstance(node, ast.Return) and node.value is not None:
                        place = found[0].at(node.value)
                        yield Spot(place, "returned", spot.distance + 1, None, scope=scope_at(evidence, place))


def _settings(evidence: Evidence, near: list[Spot]) -> Iterator[Spot]:
    """What the loops around the failing calls and the layers' making run over; where settings get their values."""
    for spot in near:
        for iterable in loops(spot.place):
            yield Spot(spot.place.at(iterable), "bound", spot.distance + 1, None, scope=spot.scope)
        for read in (spot.place.node, *loops(spot.place)):
            for place in settings(read, evidence):
                yield Spot(place, "setting", spot.distance + 2, scope=_of_object(evidence, place))


def _of_object(evidence: Evidence, place: Place) -> Mapping[str, Any]:
    """What an object holds at a place in a method of it that called nothing of torch, as its other methods tell."""
    owner = place.source.class_at(place.line)
    function = place.source.function_at(place.line)
    if owner is None or function is None or evidence.frame_of(place) is not None:
        return _NONE
    methods = [place.at(one.body[0]) for one in owner.body if isinstance(one, ast.FunctionDef) and one is not function]
    known = (scope_at(evidence, one) for one in methods)
    return {name: value for scope in known for name, value in scope.items() if name.startswith("self.")}


def _of_builder(evidence: Evidence, place: Place) -> Mapping[str, Any]:
    """What was in scope in the function in which a place stands, as a call in it that built a layer recorded it."""
    function = place.source.function_at(place.line)
    if function is None:
        return _NONE
    first, last, file = function.lineno, function.end_lineno or 0, place.source.file
    calls: list[Call] = [call for layer in evidence.layers for call in layer.calls]
    inside = (one for one in calls if one.place.source.file == file and first <= one.place.line <= last)
    return next((one.scope for one in inside), _NONE)
