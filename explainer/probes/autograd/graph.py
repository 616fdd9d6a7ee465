"""The graph as live objects show it: frozen models, unreduced losses, models without parameters."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any

from explainer.bindings import assignments
from explainer.facts import SpanFact, TensorFact
from explainer.probes import probe
from explainer.probes.autograd.cuts import receiver
from explainer.probes.call import call_node
from explainer.probes.files import nodes_of
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.tensor import tensor_fact
from explainer.probes.values import MISSING, fields_of, is_module, is_tensor, read
from explainer.source import Source, called, source_of
from explainer.wrappers import named_parameters


@probe
def backward_of(scene: Scene) -> TensorFact | None:
    """The tensor that backward was called on."""
    found, frame = receiver(scene), scene.user_frame
    node = _node(scene, found) if found is not None else None
    value = read(node, frame.frame) if node is not None and frame is not None else MISSING
    value = value if is_tensor(value) else backward_argument(scene)
    name = found.text if found is not None else "the loss"
    return tensor_fact(name, value, found.span if found is not None else None) if is_tensor(value) else None


def backward_argument(scene: Scene) -> Any:
    """What torch's own frame of `Tensor.backward` or `autograd.backward` was given."""
    for frame in scene.live.frames if scene.live is not None else ():
        if frame.frame.f_code.co_name in ("backward", "grad") and not frame.user:
            value = frame.locals.get("self", frame.locals.get("tensors", frame.locals.get("outputs")))
            value = value[0] if isinstance(value, (list, tuple)) and value else value
            if is_tensor(value):
                return value
    return MISSING


def _node(scene: Scene, fact: SpanFact) -> ast.AST | None:
    from explainer.edits.place import place_of

    return place_of(scene.source, fact).node


@probe
def unreduced(scene: Scene) -> SpanFact | None:
    """The loss that is told `reduction="none"`, where there is just one such call.

    `detail`: `plain`, whether its values go to backward as they are, not weighted, masked or chosen from.
    """
    calls = ((source, one, one.keywords) for source, one in nodes_of(scene, ast.Call))
    words = ((source, one, word) for source, one, given in calls for word in given if word.arg == "reduction")
    found = [(source, one) for source, one, word in words if getattr(word.value, "value", "") == "none"]
    return span_fact(*found[0], plain=_unweighted(*found[0])) if len(found) == 1 else None


def _unweighted(source: Source, made: ast.AST) -> bool:
    """Whether nothing made with a loss function is multiplied, divided or indexed in its file."""
    bound = [
        node for node in source.nodes() if isinstance(node, ast.Assign) and any(one is made for one in ast.walk(node))
    ]
    names = {source.text(target) for node in bound for target in node.targets}
    for node in source.nodes():
        if isinstance(node, ast.Assign) and any(_uses(source, one, names) for one in ast.walk(node.value)):
            names |= {source.text(target) for target in node.targets if isinstance(target, ast.Name)}
    touched = (node for node in source.nodes() if isinstance(node, (ast.BinOp, ast.Subscript)))
    for node in touched:
        weighed = isinstance(node, ast.Subscript) or isinstance(node.op, (ast.Mult, ast.Div))
        if weighed and any(_uses(source, one, names) for one in ast.walk(node)):
            return False
    return bool(names)


def _uses(source: Source, node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and source.text(node) in names


@probe
def graph_operand(scene: Scene) -> SpanFact | None:
    """The expression that still needs its graph where numpy wanted a plain array."""
    failing, frame = scene.failing, scene.user_frame
    node = call_node(failing.node) if failing is not None else None
    if failing is None or frame is None or not isinstance(node, ast.Call):
        return None
    if called(node) in ("numpy", "__array__", "tolist") and isinstance(node.func, ast.Attribute):
        return span_fact(failing.source, node.func.value)
    for argument in (*node.args, *(word.value for word in node.keywords)):
        value = read(argument, frame.frame)
        if is_tensor(value) and value.requires_grad:
            return span_fact(failing.source, argument)
    return None


def named_modules(scene: Scene) -> Iterator[tuple[str, Any]]:
    """The modules that the user's frames name, innermost frame first: variables, and attributes of plain objects."""
    for frame in reversed(scene.live.user) if scene.live is not None else ():
        held: list[tuple[str, Any]] = []
        for name, value in frame.locals.items():
            if is_module(value) and not name.startswith("_"):
                yield name, value
            elif not is_module(value) and not isinstance(value, (type, types.ModuleType)):
                held += [(f"{name}.{key}", one) for key, one in list(fields_of(value).items())[:50] if is_module(one)]
        yield from held


def parameter_names(scene: Scene, wanted: set[int]) -> list[str]:
    """The longest names that the modules in sight give parameters of these identities."""
    found: dict[int, str] = {}
    for _, module in named_modules(scene):
        for name, one in named_parameters(module):
            if id(one) in wanted and len(name) > len(found.get(id(one), "")):
                found[id(one)] = str(name)
    return list(found.values())


@probe
def hidden_layers(scene: Scene) -> SpanFact | None:
    """The assignment that puts a model's layers into a plain list, tuple or dict; `detail` has attribute and model."""
    for name, module in empty_models(scene):
        for owner in module.modules():
            for attribute, value in fields_of(owner).items():
                if not attribute.startswith("_") and _holds_layers(value):
                    found = _assignment(owner, attribute)
                    if found is not None:
                        return span_fact(*found, attribute=attribute, model=name, owner=type(owner).__name__,
                                         container=type(value).__name__, registered=_registered(value))  # fmt: skip
    return None


def empty_models(scene: Scene) -> list[tuple[str, Any]]:
    """Modules without parameters that the user's frames name: the one in the failing expression first."""
    text = scene.failing.source.text(scene.failing.node) if scene.failing is not None else ""
    empty = [(name, module) for name, module in named_modules(scene) if next(module.parameters(), None) is None]
    return sorted(empty, key=lambda one: one[0] not in text)


def _holds_layers(value: Any) -> bool:
    """Whether a plain container holds modules or parameters, which no module would find there."""
    import torch

    items = list(value.values()) if type(value) is dict else list(value) if type(value) in (list, tuple) else []
    return any(is_module(one) or isinstance(one, torch.nn.Parameter) for one in items[:50])


def _registered(value: Any) -> str:
    """The container of torch's that finds what a plain one hides."""
    what = (
        "Module" if any(is_module(one) for one in (value.values() if type(value) is dict else value)) else "Parameter"
    )
    return f"{what}Dict" if type(value) is dict else f"{what}List"


def _assignment(owner: Any, attribute: str) -> tuple[Source, ast.AST] | None:
    """Where the class of an object assigns `self.<attribute>`."""
    for base in type(owner).__mro__:
        if base.__module__.startswith("torch.") or base is object:
            continue
        for method in vars(base).values():
            code = getattr(method, "__code__", None)
            source = source_of(code.co_filename) if code is not None else None
            scope = source.class_at(code.co_firstlineno) if source is not None and code is not None else None
            found = assignments(scope, f"self.{attribute}")
            if source is not None and found:
                return source, found[0]
    return None


@probe
def misspelt_init(scene: Scene) -> SpanFact | None:
    """A method of an empty model's class whose name is nearly `__init__`."""
    for _, module in empty_models(scene):
        for base in type(module).__mro__:
            for name, method in vars(base).items():
                code = getattr(method, "__code__", None)
                nearly = name != "__init__" and "_" in name and name.strip("_") in ("init", "int", "inti")
                if code is not None and nearly:
                    source = source_of(code.co_filename)
                    named = (one for one in source.nodes() if getattr(one, "name", "") == name)
                    node = next((one for one in named if one.lineno >= code.co_firstlineno), None)  # type: ignore[attr-defined]
                    return span_fact(source, node, name=name, owner=base.__name__) if node is not None else None
    return None


@probe
def empty_grad(scene: Scene) -> TensorFact | None:
    """The tensor that is no leaf, and whose `.grad` the failing expression took for a tensor."""
    failing, frame = scene.failing, scene.user_frame
    if failing is None or frame is None:
        return None
    for node in ast.walk(failing.node):
        if isinstance(node, ast.Attribute) and node.attr == "grad":
            value = read(node.value, frame.frame)
            if is_tensor(value) and value.grad is None:
                return tensor_fact(failing.source.text(node.value), value, failing.source.span(node.value))
    return None


@probe
def held_by(scene: Scene, of: TensorFact | None = None) -> SpanFact | None:
    """The statement that bound the name or attribute of a tensor: `self.activations = h`."""
    frame = scene.user_frame
    if of is None or frame is None or of.span is None:
        return None
    source, name = source_of(of.span.file), of.name
    scope = _scope(source, frame, name)
    if "." in name and not name.startswith("self."):
        source, scope, name = _class_of(frame, name)
    found = [node for node in ast.walk(scope) if _stores(source, node, name)] if scope is not None else []
    kept = [node for node in found if not isinstance(getattr(node, "value", None), ast.Constant)]
    if len(kept) != 1:
        return None
    line = kept[0].lineno  # type: ignore[attr-defined]
    return span_fact(source, kept[0], function=source.qualified_at(line), target=name)


def _class_of(frame: LiveFrame, name: str) -> tuple[Source, ast.AST | None, str]:
    """The class of `net` in `net.kept`, where the attribute is set as `self.kept`."""
    owner, _, attribute = name.rpartition(".")
    value = read(ast.parse(owner, mode="eval").body, frame.frame)
    code = getattr(vars(type(value)).get("__init__"), "__code__", None) if is_module(value) else None
    source = source_of(code.co_filename if code is not None else frame.file)
    return source, source.class_at(code.co_firstlineno) if code is not None else None, f"self.{attribute}"


def _scope(source: Source, frame: LiveFrame, name: str) -> ast.AST | None:
    if name.startswith("self."):
        return source.class_at(frame.line)
    return source.scope_at(frame.line)


def _stores(source: Source, node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Assign) and any(source.text(target) == name for target in node.targets)


@probe
def loss_place(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """Where a loss can be reduced: the statement that computed it, or the expression that backward is called on."""
    from explainer.probes.autograd.cuts import bound_in

    found = bound_in(scene, of)
    value = found is not None and isinstance(_node(scene, found), ast.Assign)
    return found if value else of


@probe
def asked_gradient(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The failing call of `autograd.grad`: gradients of outputs that need not be one loss."""
    node = scene.failing.node if scene.failing is not None else None
    if of is None or scene.failing is None or not isinstance(node, ast.Call) or called(node) != "grad":
        return None
    return span_fact(scene.failing.source, node)


@probe
def reduction_place(scene: Scene, of: SpanFact | None = None, otherwise: Any = None) -> Any:
    """The loss that must be told to reduce where its values go to backward as they are, else another place."""
    return of if of is not None and of["plain"] else otherwise
