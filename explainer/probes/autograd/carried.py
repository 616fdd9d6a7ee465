"""Second backwards: what carried a freed graph over from an earlier backward, and where it was taken up again."""

from __future__ import annotations

import ast
import dis
import inspect
import re
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from explainer.bindings import assignments, sets
from explainer.facts import CarriedFact, SpanFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.autograd.cuts import receiver
from explainer.probes.autograd.gradients import in_caller
from explainer.probes.autograd.writes import plain_name
from explainer.probes.files import named
from explainer.probes.origin import last_binding
from explainer.probes.places import enclosing, place, span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import is_module, is_tensor
from explainer.source import Source, called, source_of

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_RESET = Pattern(r"reset|clear|detach|repackage|init_(hidden|state)", re.IGNORECASE)


@probe
def carried(scene: Scene) -> CarriedFact | None:
    """What joins the graph of this backward to one that is freed, from a replay."""
    found = scene.once("second backward", lambda: _recorded(scene))
    if not found or scene.failing is None or scene.user_frame is None:
        return None
    if found["kind"] == "joint":
        return _joint(scene, found)
    if found["kind"] == "shared":
        return _shared(scene, found)
    return _computed_once(scene, found)


carried.proves = True  # type: ignore[attr-defined]


def _recorded(scene: Scene) -> Any:
    if scene.live is None or not scene.options.replay:
        return None
    from explainer.replay.recorders.second import Second
    from explainer.replay.run import replay

    return replay(scene, Second)


def _joint(scene: Scene, found: Mapping[str, Any]) -> CarriedFact | None:
    at = place(found["frames"][0]) if found["frames"] else None
    if at is None:
        return None
    source, node = at
    held, frame = found["held"] or {}, _holder(scene, found["held"])
    name, reach = held.get("name", ""), held.get("reach", "")
    cached = bool(reach) and not held.get("owner") and not _bound_in_loop(frame, reach)
    statement = source_of(frame.file).statement_at(frame.line)
    return CarriedFact(
        source.span(node), source.text(node), "cached" if cached else "carried", name, reach, held.get("owner", ""),
        plain_name(found["node"]), source.qualified_at(node.lineno), held.get("container") or "",
        tuple(dict.fromkeys(one["reach"] for one in found["all"])), _reset(scene, frame, reach),
        tuple(_computed(frame, reach)) if cached else (), _binding(scene, frame, reach) if cached else None,
        _call(frame, found["frames"]), span_fact(source_of(frame.file), statement) if statement is not None else None,
        outdated=found["outdated"],
    )  # fmt: skip


def _holder(scene: Scene, held: Mapping[str, Any] | None) -> LiveFrame:
    """The live frame whose names reach what was carried; the failing one where nothing is known."""
    frames = scene.live.user if scene.live is not None else []
    wanted = (held["file"], held["line"]) if held else None
    return next((frame for frame in reversed(frames) if (frame.file, frame.line) == wanted), frames[-1])


def _bound_in_loop(frame: LiveFrame, name: str) -> bool:
    """Whether the loop around a line binds a name anew in each pass, or loops around that one carry it over."""
    loops = enclosing(source_of(frame.file), frame.line, _LOOPS)
    if not loops or any(_stores(one, name) for one in ast.walk(loops[0])):
        return True
    bound = [one for loop in loops[1:] for one in ast.walk(loop) if isinstance(one, ast.Assign) and _binds(one, name)]
    return any(isinstance(part, ast.Name) and part.id == name for one in bound for part in ast.walk(one.value))


def _stores(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(_stores(one, name) for target in statement.targets for one in ast.walk(target))


def _binding(scene: Scene, frame: LiveFrame, name: str) -> SpanFact | None:
    """The statement that bound a name; of a parameter that of the caller's variable, followed outward."""
    frames = scene.live.user if scene.live is not None else []
    at = next((at for at, one in enumerate(frames) if one is frame), 0)
    while at >= 0:
        source = source_of(frames[at].file)
        found = last_binding(source, frames[at], name)
        if found is not None:
            return span_fact(source, found)
        given = in_caller(frames[at - 1], frames[at], (name,)) if at else None
        if given is None or name not in inspect.getargs(frames[at].frame.f_code).args:
            return None
        name, at = given[0], at - 1
    return None


def _computed(frame: LiveFrame, name: str) -> Iterator[str]:
    """The names whose tensors have a history and lead to `name`: what must be computed anew for each backward."""
    source, waiting, seen = source_of(frame.file), [name], set()
    while waiting:
        one = waiting.pop()
        value = frame.locals.get(one)
        if one in seen or not is_tensor(value) or value.grad_fn is None:
            continue
        seen.add(one)
        yield one
        found = last_binding(source, frame, one)
        waiting += [part.id for part in ast.walk(found) if isinstance(part, ast.Name)] if found is not None else []


def _reset(scene: Scene, frame: LiveFrame, reach: str) -> str:
    """A method without arguments of the object that holds the state, or of one around it, which cuts or clears it.

    None that a function on the stack calls already: there the state is meant to last from one such call to the next.
    One that detaches the state comes before one whose name alone says that it clears it.
    """
    parts, calls = reach.split("."), set(_called_on_stack(scene))
    value: Any = frame.locals.get(parts[0])
    found = []
    for at, part in enumerate(parts[1:], 1):
        for name, method in _own_methods(value):
            given = method.__code__.co_argcount - len(method.__defaults__ or ())
            cuts = _cuts(method.__code__, part)
            if name not in calls and given == 1 and (cuts or _RESET.search(name)):
                found.append((not cuts, f"{'.'.join(parts[:at])}.{name}()"))
        value = vars(value).get("_modules", {}).get(part) if is_module(value) else None
    return min(found, key=lambda one: one[0])[1] if found else ""


def _cuts(code: CodeType, attribute: str) -> bool:
    """Whether a method puts an attribute back without its history: `self.state = self.state.detach()`."""
    inner = [code, *(one for one in code.co_consts if isinstance(one, CodeType))]
    stores = any(one.opname == "STORE_ATTR" and one.argval == attribute for one in dis.get_instructions(code))
    return stores and any("detach" in one.co_names for one in inner)


def _called_on_stack(scene: Scene) -> Iterator[str]:
    """What the functions of the user's on the stack call."""
    for frame in scene.live.frames if scene.live is not None else ():
        source = source_of(frame.file)
        function = source.function_at(frame.line) if frame.user else None
        for one in source.nodes() if frame.user else ():
            if isinstance(one, ast.Call) and source.function_at(one.lineno) is function:
                yield called(one)


def _own_methods(value: Any) -> Iterator[tuple[str, Any]]:
    """The methods of a module's class that are the user's own."""
    for base in type(value).__mro__ if is_module(value) else ():
        if not base.__module__.startswith("torch."):
            yield from ((name, one) for name, one in vars(base).items() if inspect.isfunction(one))


def _call(frame: LiveFrame, frames: list[Mapping[str, Any]]) -> SpanFact | None:
    """The statement of the failing function through which the carried value came back."""
    source = source_of(frame.file)
    function = source.function_at(frame.line)
    for position in frames:
        if position["file"] == frame.file and source.function_at(position["line"]) is function:
            statement = source.statement_at(position["line"])
            return span_fact(source, statement) if statement is not None else None
    return None


def _shared(scene: Scene, found: Mapping[str, Any]) -> CarriedFact | None:
    """Two backwards of one iteration through the same nodes."""
    failing, earlier = scene.failing, place(found["earlier"]["frames"][0]) if found["earlier"]["frames"] else None
    if failing is None or earlier is None:
        return None
    at = place(found["frames"][0]) if found["frames"] else None
    kind = "repeated" if found["whole"] else "shared"
    first = earlier[0].statement_at(earlier[1].lineno)
    name = _receiver(scene)
    return CarriedFact(
        failing.span, failing.source.text(failing.node), kind, name, name, "", plain_name(found["node"]),
        call=span_fact(*at) if at is not None else None, earlier=span_fact(earlier[0], first or earlier[1]),
        given=_given(found["given"]),
    )  # fmt: skip


def _given(found: Mapping[str, Any] | None) -> SpanFact | None:
    """The expression by which one of two losses takes the tensor that both share; `detail`: `name`, `loss`."""
    source = source_of(found["file"]) if found else None
    statement = source.statement_at(found["line"]) if found and source is not None else None
    if found is None or source is None or statement is None:
        return None
    reads = [one for one in ast.walk(statement) if isinstance(one, (ast.Name, ast.Attribute))]
    reads = [one for one in reads if isinstance(one.ctx, ast.Load) and source.text(one) == found["name"]]
    reads.sort(key=lambda one: one.lineno != found["line"])
    return span_fact(source, reads[0], name=found["name"], loss=found["loss"]) if reads else None


def _computed_once(scene: Scene, found: Mapping[str, Any]) -> CarriedFact | None:
    """The whole graph is older than the loop body: it was computed before the loop, and freed by the first backward."""
    frame, failing = scene.user_frame, scene.failing
    assert frame is not None
    assert failing is not None
    name = _receiver(scene)
    bound = _binding(scene, frame, name)
    statement: tuple[Source, ast.AST] = (failing.source, failing.source.statement_at(frame.line) or failing.node)
    return CarriedFact(
        bound.span if bound is not None else failing.span, bound.text if bound is not None else name, "cached",
        name, name, "", plain_name(found["node"]), failing.source.qualified_at(frame.line),
        computed=tuple(_computed(frame, name)), bound=bound, call=span_fact(*statement), outdated=found["outdated"],
    )  # fmt: skip


def _receiver(scene: Scene) -> str:
    found = receiver(scene)
    return found.text if found is not None else ""


@probe
def second_call(scene: Scene, of: CarriedFact | None = None) -> Any:
    """The call of backward to change: of two losses the first, of one loss taken twice the second."""
    if of is None:
        return None
    return of if of.kind == "repeated" else helper_calls(scene, of) or of.earlier


@probe
def helper_calls(scene: Scene, of: CarriedFact | None = None) -> SpanFact | None:
    """The first of two calls of a helper in which both backwards stand; `detail`: `second`, the other call."""
    found = scene.once("second backward", lambda: _recorded(scene)) or {}
    frames = scene.live.user if scene.live is not None else []
    before = (found.get("earlier") or {}).get("frames", [])
    if of is None or of.kind not in ("shared", "repeated") or len(before) < 2 or len(frames) < 2:
        return None
    inner, outer = frames[-1], frames[-2]
    same = (before[0]["file"], before[0]["line"]) == (inner.file, inner.line) and before[1]["file"] == outer.file
    source = source_of(outer.file, outer.frame.f_globals)
    first, second = source.statement_at(before[1]["line"]), source.statement_at(outer.line)
    if not same or first is None or second is None or first is second:
        return None
    return span_fact(source, first, second=span_fact(source, second))


@probe
def retaining_call(scene: Scene) -> SpanFact | None:
    """The failing call of backward where it asks to keep the graph."""
    failing = scene.failing
    for node in ast.walk(failing.node) if failing is not None else ():
        if isinstance(node, ast.Call) and any(word.arg == "retain_graph" for word in node.keywords):
            return span_fact(failing.source, node) if failing is not None else None
    return None


@probe
def freeing_grad(scene: Scene, of: CarriedFact | None = None) -> SpanFact | None:
    """The call of `autograd.grad` that freed the graph of a later backward: it asks for no graph of the gradients."""
    first = of.earlier if of is not None else None
    source = scene.source(first.span.file) if first is not None else None
    statement = source.statement_at(first.span.line) if first is not None and source is not None else None
    calls = [one for one in ast.walk(statement) if isinstance(one, ast.Call)] if statement is not None else []
    found = next((one for one in calls if called(one) == "grad"), None)
    kept = {word.arg for word in found.keywords} & {"create_graph", "retain_graph", None} if found is not None else ()
    return span_fact(source, found) if source is not None and found is not None and not kept else None


@probe
def carried_place(scene: Scene, of: CarriedFact | None = None, stored: SpanFact | None = None) -> Any:
    """The line to blame for a state carried over: where it is put into a list, the loop passes it on, else its use."""
    if of is None or stored is not None:
        return stored
    given = of.name not in of.text and of.call is not None and of.name in of.call.text
    outside = bool(of.reset) or not of.owner or given
    return of.call if outside and of.call is not None else of


@probe
def passed_on(scene: Scene, of: CarriedFact | None = None) -> SpanFact | None:
    """What a loop gives the carried name for its next pass, below the call that goes backward: `state = last`."""
    frame = _holder(scene, (scene.once("second backward", lambda: _recorded(scene)) or {}).get("held"))
    source = source_of(frame.file)
    loops = enclosing(source, frame.line, _LOOPS)
    if of is None or of.owner or not of.name.isidentifier() or not loops:
        return None
    bound = [one for one in assignments(loops[0], of.name) if isinstance(one.value, ast.Name)]
    return span_fact(source, bound[-1].value) if bound and bound[-1].lineno > frame.line else None


@probe
def filled_once(scene: Scene, of: CarriedFact | None = None) -> SpanFact | None:
    """The `if self.cache is None:` under which a carried attribute is computed, in the class that holds it.

    `detail`: `value`, the source of what is computed; `target`, the attribute.
    """
    if of is None or not of.owner or not of.name.startswith("self."):
        return None
    for source, owner in named(scene, ast.ClassDef, of.owner):
        for test in (one for one in ast.walk(owner) if isinstance(one, ast.If) and not one.orelse):
            inner = [one for one in test.body if isinstance(one, ast.Assign) and sets(one, of.name)]
            guarded = inner and of.name.removeprefix("self.") in source.text(test.test)
            if guarded and not _set_elsewhere(owner, inner, of.name):
                return span_fact(source, test, value=source.text(inner[0].value), line=inner[0].lineno)
    return None


def _set_elsewhere(owner: ast.ClassDef, inner: list[ast.Assign], name: str) -> bool:
    """Whether a class computes an attribute anew outside of the guard: a state, not a cache."""
    return any(one not in inner and not isinstance(one.value, ast.Constant) for one in assignments(owner, name))


@probe
def filled_line(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The statement that fills a cache."""
    source = scene.source(of.span.file) if of is not None else None
    statement = source.statement_at(of["line"]) if of is not None and source is not None else None
    return span_fact(source, statement) if source is not None and statement is not None else None
