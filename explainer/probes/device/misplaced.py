"""Which tensor is out of place, and why it did not move with the model."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from explainer.facts import ModuleFact, SpanFact, TensorFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.factories import is_factory
from explainer.probes.files import calls_named
from explainer.probes.module import below_user, module_calls, named_module, path_of, root_module, root_name
from explainer.probes.origin import last_binding
from explainer.probes.owners import assignment, how_held, items, owners, parameters_of
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.tensor import fact_of, module_fact
from explainer.probes.values import MISSING, fields_of, is_module, is_tensor, read
from explainer.source import Source, called, source_of


def _within(scene: Scene) -> Iterator[tuple[str, ast.AST, Any]]:
    """Every name, attribute or item inside the failing expression that holds a tensor: its text, node and value."""
    frame, failing = scene.user_frame, scene.failing
    if frame is None or failing is None:
        return
    seen = set()
    for node in ast.walk(failing.node):
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            continue
        text, value = failing.source.text(node), read(node, frame.frame)
        if is_tensor(value) and text not in seen:
            seen.add(text)
            yield text, node, value


def home_of(scene: Scene) -> str | None:
    """The device that most of the model's parameters lie on; without a model, the first of the operands but the CPU."""
    root = root_module(scene)
    devices = Counter(str(p.device) for p in parameters_of(root)) if root is not None else Counter()
    if devices:
        return devices.most_common(1)[0][0]
    found = [str(value.device) for _, _, value in _within(scene)]
    return next((one for one in found if one != "cpu"), found[0] if found else None)


def first_within(scene: Scene, chosen: Callable[[str, Any], bool]) -> TensorFact | None:
    """The first tensor inside the failing expression that is chosen by its text and value."""
    for text, node, value in _within(scene):
        if chosen(text, value):
            scene.objects[text] = value
            return fact_of(text, value, scene.failing.source.span(node))  # type: ignore[union-attr]
    return None


@probe
def misplaced(scene: Scene) -> TensorFact | None:
    """The tensor of the failing expression that lies elsewhere than the model (or than the first operand)."""
    home = home_of(scene)
    return first_within(scene, lambda _, value: home is not None and str(value.device) != home and value.dim() > 0)


@probe
def in_place(scene: Scene, of: TensorFact | None = None) -> TensorFact | None:
    """Another tensor of the failing expression, or the root module's input, that lies where the model does."""
    home = home_of(scene)
    return first_within(scene, lambda text, value: of is not None and text != of.name and str(value.device) == home)


@probe
def misplaced_layer(scene: Scene) -> ModuleFact | None:
    """The torch layer that was called with an input on another device than its own parameters."""
    found = below_user(scene)
    if not found:
        return None
    called = found[-1]
    own = next((str(p.device) for p in parameters_of(called.module)), None)
    given = next((str(a.device) for a in called.args if is_tensor(a)), None)
    if own is None or given is None or own == given:
        return None
    fact = named_module(scene, called.module)
    scene.objects[fact.name] = called.module
    return fact


@probe
def unseen_layer(scene: Scene) -> ModuleFact | None:
    """A layer that lies elsewhere than the model, in a list, tuple or dict of one of its modules, whatever failed.

    That which failed itself goes before others.
    """
    called = misplaced_layer(scene)
    found = next(_unseen(scene), None) if called is None else None
    if found is None:
        return called
    name, layer = found[2], found[-1]
    fact = replace(module_fact(f"{type(layer).__name__} of {name}", layer), root=root_name(scene))
    scene.objects[fact.name] = layer
    return fact


@probe
def unseen_containers(scene: Scene) -> tuple[SpanFact, ...] | None:
    """The lines that make the lists, tuples and dicts in which such layers lie, where there are several."""
    lines = (assignment(owner, name, "container", path) for owner, path, name, _ in _unseen(scene))
    found = {(one.span.file, one.span.line): one for one in lines if one is not None}
    return tuple(found.values()) if len(found) > 1 else None


def _unseen(scene: Scene) -> Iterator[tuple[Any, str, str, Any]]:
    """The layers that lie elsewhere than the model and are not registered: the owner, its path, the name."""
    root, home = root_module(scene), home_of(scene)
    for owner, path in owners(root, scene) if root is not None else ():
        for name, value in fields_of(owner).items():
            for layer in filter(is_module, items(value)) if not name.startswith("_") else ():
                lies = next((str(one.device) for one in parameters_of(layer)), home)
                if lies != home and path_of(layer, root) is None:
                    yield owner, path, name, layer


@probe
def holder(scene: Scene, of: Any = None) -> SpanFact | None:
    """The line that put a tensor or layer where `.to()` does not reach: a plain attribute, or a list or dict.

    `detail.kind` is attribute or container, `detail.owner` the class, `detail.attribute` its name, `detail.path` the
    owner's path in the model.
    """
    thing = scene.objects.get(of.name) if of is not None else None
    root = root_module(scene)
    if thing is None or root is None:
        return None
    for owner, path in owners(root, scene):
        for name, value in fields_of(owner).items():
            kind = how_held(value, thing)
            if kind and not name.startswith("_"):
                return assignment(owner, name, kind, path)
    return None


@probe
def creation(scene: Scene, of: TensorFact | None = None) -> SpanFact | None:
    """The factory call without `device=` that made a tensor, in the crash's function or a helper that it called.

    `detail.function` is the factory's name, `detail.here` whether it stands in the crash's own function.
    """
    frame = scene.user_frame
    if frame is None or of is None:
        return None
    source = source_of(frame.file, frame.frame.f_globals)
    call = _traced(source, frame, of.name, 0)
    if call is None:
        return None
    where, node = call
    name = called(node)
    here = where.file == source.file and where.function_at(node.lineno) is source.function_at(frame.line)
    return span_fact(where, node, of.name, function=name, here=here)


def _traced(source: Source, frame: LiveFrame, name: str, depth: int) -> tuple[Source, ast.Call] | None:
    """Back along bindings of plain names to the factory call, at most four steps."""
    if depth > 4:
        return None
    statement = last_binding(source, frame, name)
    value = getattr(statement, "value", None)
    if value is None:
        return None
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    made = [node for node in calls if is_factory(node)]
    if len(made) == 1:
        return source, made[0]
    for node in calls:
        found = _in_helper(node, frame)
        if found is not None:
            return found
    names = [node.id for node in ast.walk(value) if isinstance(node, ast.Name) and node.id != name]
    steps = [_traced(source, frame, one, depth + 1) for one in names]
    found_in = [step for step in steps if step is not None]
    return found_in[0] if len(found_in) == 1 else None


def _in_helper(node: ast.Call, frame: LiveFrame) -> tuple[Source, ast.Call] | None:
    """The only factory call of a plain Python function of the user's that was called."""
    function = read(node.func, frame.frame)
    code = getattr(function, "__code__", None) if function is not MISSING else None
    if code is None or "torch" in (getattr(function, "__module__", "") or "").split(".")[:1]:
        return None
    source = source_of(code.co_filename)
    body = source.function_at(code.co_firstlineno)
    made = [one for one in ast.walk(body) if isinstance(one, ast.Call) and is_factory(one)] if body else []
    return (source, made[0]) if len(made) == 1 else None


@probe
def meta_load(scene: Scene) -> SpanFact | None:
    """The `load_state_dict(...)` without `assign=True` on the module that `.to()` moves, or on one that meta made."""
    for source, call in _moved_load(scene) or _made_on_meta(scene):
        owner = source.text(call.func.value)  # type: ignore[attr-defined]
        return span_fact(source, call, owner, model=owner)
    return None


def _copies(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and not any(word.arg == "assign" for word in call.keywords)


def _moved_load(scene: Scene) -> list[tuple[Source, ast.Call]]:
    """The loads above in the crash's function, where its call moves the same module."""
    frame, failing = scene.user_frame, scene.failing
    node = call_node(failing.node) if failing else None
    if frame is None or failing is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    wanted = f"{failing.source.text(node.func.value)}.load_state_dict"
    calls = [one for one in ast.walk(failing.source.scope_at(frame.line)) if isinstance(one, ast.Call)]
    above = [one for one in calls if one.lineno <= frame.line and failing.source.text(one.func) == wanted]
    return [(failing.source, one) for one in above if _copies(one)]


def _made_on_meta(scene: Scene) -> list[tuple[Source, ast.Call]]:
    """The loads into what their own function makes on meta: in a `with torch.device("meta")`, or by an argument."""
    if not re.search(r"\bmeta\b", scene.crash.message):
        return []
    calls = calls_named(scene, "load_state_dict")
    return [(source, call) for source, call in calls if _copies(call) and _is_of_meta(source, call)]


def _is_of_meta(source: Source, load: ast.Call) -> bool:
    owner = source.text(load.func.value)  # type: ignore[attr-defined]
    for one in ast.walk(source.scope_at(load.lineno)):
        if isinstance(one, ast.Assign) and source.text(one.targets[0]) == owner and one.lineno < load.lineno:
            block = source.parent_of(one)
            said = [source.text(item.context_expr) for item in block.items] if isinstance(block, ast.With) else []
            if any(re.search(r"[\"']meta[\"']", text) for text in (*said, source.text(one.value))):
                return True
    return False


@probe
def call_of_root(scene: Scene) -> SpanFact | None:
    """The user's call of the root module: `model(batch)`; `detail.model` and `detail.input` are its parts."""
    found = module_calls(scene)
    if not found or found[0].index == 0 or scene.live is None:
        return None
    failing = scene.live.frames[found[0].index - 1].failing()
    node = call_node(failing.node) if failing else None
    if failing is None or not isinstance(node, ast.Call) or not node.args:
        return None
    given = failing.source.text(node.args[0])
    return span_fact(failing.source, node.args[0], given, model=root_name(scene), input=given)
