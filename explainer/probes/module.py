"""Layers on the stack: the one that failed, its path from the root module, what it was called with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from explainer.facts import ModuleFact, TensorFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.call import call_node, operands
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.tensor import fact_of, module_fact
from explainer.probes.values import MISSING, is_module, is_tensor
from explainer.source import as_attributes
from explainer.wrappers import named_modules

_CALLS = ("_wrapped_call_impl", "_call_impl", "__call__")


@frozen
class Called:
    """A module call on the stack: the module and what its `forward` was given, behind hooks that change it."""

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    index: int


def module_calls(scene: Scene) -> list[Called]:
    """The module calls on the stack, outermost first; each module once a call. Live, so only for probes."""
    live = scene.live
    return scene.once("module_calls", lambda: _module_calls(live.frames)) if live is not None else []


def _module_calls(frames: list[LiveFrame]) -> list[Called]:
    found: list[Called] = []
    for index, frame in enumerate(frames):
        values = frame.locals
        module = values.get("self")
        if frame.frame.f_code.co_name not in _CALLS or not is_module(module):
            continue
        if found and found[-1].module is module:
            index = found.pop().index
        found.append(Called(module, tuple(values.get("args", ())), dict(values.get("kwargs") or {}), index))
    return found


def root_module(scene: Scene) -> Any:
    """The outermost module that was being called; None where there is none."""
    found = module_calls(scene)
    return found[0].module if found else None


def below_user(scene: Scene) -> list[Called]:
    """The calls of torch's own modules that the user's innermost frame led into, outermost first."""
    if scene.live is None or scene.user_frame is None:
        return []
    at = scene.live.frames.index(scene.user_frame)
    return [one for one in module_calls(scene) if one.index > at]


def path_of(module: Any, root: Any) -> str | None:
    """The dotted path of a module below a root, by identity; None where it is not registered there."""
    return next((path for path, one in named_modules(root) if one is module), None)


def root_name(scene: Scene) -> str:
    """What the user's code calls the root module: the text before the parenthesis of the outermost call."""
    found = module_calls(scene)
    frames = scene.live.frames if scene.live else []
    if not found or found[0].index == 0:
        return ""
    failing = scene.once("root call", frames[found[0].index - 1].failing)
    function = getattr(call_node(failing.node), "func", None) if failing else None
    return failing.source.text(function) if function is not None else ""


@probe
def called_module(scene: Scene, type: str | tuple[str, ...] | list[str] | None = None) -> ModuleFact | None:
    """The innermost torch layer that the failing call entered (through containers too), if it is of a `type`."""
    found = below_user(scene)
    if not found:
        return None
    module = found[-1].module
    names = (type,) if isinstance(type, str) else tuple(type or ())
    if names and not any(base.__name__ in names for base in module.__class__.__mro__):
        return None
    fact = named_module(scene, module)
    scene.objects[fact.name] = module
    return fact


def named_module(scene: Scene, module: Any) -> ModuleFact:
    """A module's fact with the name that the user's code has for it and its path from the root."""
    root = root_module(scene)
    path = path_of(module, root) if root is not None else None
    text = _source_name(scene, module)
    name = text or (path or "").rsplit(".", 1)[-1] or type(module).__name__
    return replace(module_fact(name, module), path=path or "", root=root_name(scene))


def _source_name(scene: Scene, module: Any) -> str:
    """`self.fc1` -> fc1; `self.net` whose third layer failed -> net[2]; below a trainer's call its path."""
    found = below_user(scene)
    failing = scene.failing
    function = getattr(call_node(failing.node), "func", None) if failing else None
    if function is None or not found:
        return ""
    text = failing.source.text(function).removeprefix("self.")  # type: ignore[union-attr]
    inner = path_of(module, found[0].module)
    if not _calls(scene, found[0]):
        return inner or ""
    if not inner:
        return text
    return text + as_attributes(inner)


def _calls(scene: Scene, called: Called) -> bool:
    """Whether it is the user's line that calls a module, and no library between them (a trainer, a decorator)."""
    frames = scene.live.frames if scene.live is not None else []
    return 0 < called.index <= len(frames) and frames[called.index - 1] is scene.user_frame


@probe
def module_input(scene: Scene, index: int = 0) -> Any:
    """What the innermost torch layer was called with, by position: under the user's name where it was passed on."""
    found = below_user(scene)
    if not found:
        return None
    given = [*found[-1].args, *found[-1].kwargs.values()]
    if index >= len(given):
        return None
    value = given[index]
    same = next((one for one in operands(scene) if one.value is value and one.value is not MISSING), None)
    direct = found[-1] is found[0]
    typed = same or (operands(scene)[index] if direct and index < len(operands(scene)) else None)
    if typed is not same and typed is not None and is_tensor(typed.value):
        typed = None  # a hook put another in its place
    name = typed.name if typed is not None else f"the input of {named_module(scene, found[-1].module).name}"
    scene.objects[name] = value
    source = scene.failing.source if scene.failing else None
    span = source.span(typed.node) if typed is not None and typed.node is not None and source else None
    return fact_of(name, value, span)


@probe
def root_input(scene: Scene, index: int = 0) -> TensorFact | None:
    """The original input of the root module, also where `forward` has since re-bound the name."""
    found = module_calls(scene)
    if not found or index >= len(found[0].args):
        return None
    fact = fact_of("the input", found[0].args[index])
    return fact if isinstance(fact, TensorFact) else None
