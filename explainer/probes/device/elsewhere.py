"""Tensors left on another device that no name holds: what a call gave, and all that one model left behind."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import ModuleFact, SpanFact, TensorFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.device.misplaced import home_of
from explainer.probes.factories import is_factory
from explainer.probes.module import below_user, named_module, root_module
from explainer.probes.owners import MOVES, moves_itself, owners, parameters_of, plain_tensors, sets_attribute
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import MISSING, fields_of, is_module, is_tensor, read

_DEVICE = Pattern(r"\b(cpu|meta|(?:cuda|xpu|mps|hpu)(?::\d+)?)\b")


@probe
def left_behind(scene: Scene, of: TensorFact | None = None) -> tuple[SpanFact, ...] | None:
    """Every `self.name = tensor` of the model's modules whose tensor stayed where `of` is; None for fewer than two."""
    root = root_module(scene)
    if root is None or of is None:
        return None
    return plain_tensors(root, scene, lambda value: str(value.device) == of.device)


@probe
def own_move(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The `def to` of a class that would move an attribute (a fact of `holder`), had it been called.

    `detail.function` is the method's name.
    """
    source = scene.source(of.span.file) if of is not None else None
    owner = source.class_at(of.span.line) if source is not None and of is not None else None
    methods = [one for one in owner.body if isinstance(one, ast.FunctionDef)] if owner is not None else []
    for method in methods:
        moving = method.name in MOVES and any(moves_itself(one, of["attribute"]) for one in ast.walk(method))  # type: ignore[index]
        if source is not None and moving and method.args.args:
            return span_fact(source, method.args.args[0], function=method.name)
    return None


@probe
def foreign_result(scene: Scene) -> SpanFact | None:
    """The call among the failing expression's operands that must have given the tensor on the other device.

    All other operands are tensors at hand and lie where the model does. `detail.device` is the other device, as the
    message has it, `other` the name of an operand at hand, `home` its device, `function` what was called.
    """
    frame, failing, home = scene.user_frame, scene.failing, home_of(scene)
    if frame is None or failing is None or home is None:
        return None
    parts = _operands(failing.node)
    values = [(part, read(part, frame.frame)) for part in parts]
    near = [part for part, value in values if is_tensor(value) and str(value.device) == home]
    follows = [part for part, value in values if value is MISSING and _follows(part, frame, home)]
    near = near or [name for part in follows for name in _named_at(part, frame, home)]
    unknown = [
        part
        for part, value in values
        if value is MISSING and isinstance(part, (ast.Call, ast.Subscript)) and part not in follows
    ]
    device = next((one for one in _DEVICE.findall(scene.crash.message) if one != home), None)
    named = any(is_tensor(value) and str(value.device) != home for _, value in values)
    if len(unknown) != 1 or not near or device is None or named or below_user(scene):
        return None
    text, source = failing.source.text, failing.source
    called = unknown[0].func if isinstance(unknown[0], ast.Call) else unknown[0].value
    return span_fact(source, unknown[0], device=device, other=text(near[0]), home=home, function=text(called))


def _follows(node: ast.AST, frame: LiveFrame, home: str) -> bool:
    """Whether what an expression gives lies where its operands do: arithmetic, and methods of tensors at home."""
    value = read(node, frame.frame)
    if value is not MISSING:
        return not is_tensor(value) or str(value.device) == home
    if isinstance(node, ast.BinOp):
        return _follows(node.left, frame, home) and _follows(node.right, frame, home)
    if isinstance(node, ast.UnaryOp):
        return _follows(node.operand, frame, home)
    if isinstance(node, ast.Subscript):
        return _follows(node.value, frame, home)
    if isinstance(node, ast.Call):
        called = read(node.func, frame.frame)
        if is_module(called):
            return {str(p.device) for p in parameters_of(called)} == {home}
        method = isinstance(node.func, ast.Attribute) and node.func.attr not in ("to", "cpu", "cuda")
        return method and _gives_tensor(node.func.value, frame, home)  # type: ignore[attr-defined]
    return False


def _gives_tensor(node: ast.AST, frame: LiveFrame, home: str) -> bool:
    value = read(node, frame.frame)
    return is_tensor(value) and str(value.device) == home if value is not MISSING else _follows(node, frame, home)


def _named_at(node: ast.AST, frame: LiveFrame, home: str) -> list[ast.expr]:
    """The names and attributes inside an expression that hold tensors at home."""
    parts = [one for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute))]
    found = [(one, read(one, frame.frame)) for one in parts]
    return [one for one, value in found if is_tensor(value) and str(value.device) == home]


@probe
def unmoved_layer(scene: Scene) -> ModuleFact | None:
    """The torch layer called whose own tensors are all on the CPU, while the tensors given to it lie elsewhere."""
    found = below_user(scene)
    if not found:
        return None
    called = found[-1]
    fields = fields_of(called.module)
    own = [*(fields.get("_parameters") or {}).values(), *(fields.get("_buffers") or {}).values()]
    devices = {str(value.device) for value in own if value is not None}
    given = {str(value.device) for value in (*called.args, *called.kwargs.values()) if is_tensor(value)}
    if devices != {"cpu"} or not given or "cpu" in given:
        return None
    fact = named_module(scene, called.module)
    scene.objects[fact.name] = called.module
    return fact


@probe
def layer_call(scene: Scene) -> SpanFact | None:
    """What the failing call calls: the layer as the user's code names it; `detail.given` is its first argument."""
    failing = scene.failing
    node = call_node(failing.node) if failing is not None else None
    if failing is None or not isinstance(node, ast.Call) or not node.args:
        return None
    given = failing.source.text(node.args[0])
    return span_fact(failing.source, node.func, given=given)


@probe
def late_parameter(scene: Scene, of: TensorFact | None = None) -> SpanFact | None:
    """Where a parameter left on the CPU was given to its module after `.to()`: in a method other than `__init__`.

    `text` is the factory call inside, `detail.method` the method, `detail.owner` the class.
    """
    odd, root = scene.objects.get(of.name) if of is not None else None, root_module(scene)
    if odd is None or root is None or not odd.requires_grad:
        return None
    for owner, _ in owners(root, scene):
        for name, value in (fields_of(owner).get("_parameters") or {}).items():
            if value is odd:
                return _set_late(scene, owner, name)
    return None


def _set_late(scene: Scene, owner: Any, name: str) -> SpanFact | None:
    code = getattr(type(owner).__dict__.get("__init__"), "__code__", None)
    source = scene.source(code.co_filename) if code is not None else None
    home = source.class_at(code.co_firstlineno) if source is not None and code is not None else None
    for function in home.body if home is not None else ():
        if not isinstance(function, ast.FunctionDef) or function.name == "__init__":
            continue
        for node in (one for one in ast.walk(function) if sets_attribute(one, name)):
            made = [one for one in ast.walk(node) if isinstance(one, ast.Call) and is_factory(one)]
            if len(made) == 1 and source is not None:
                kind = type(owner).__name__
                return span_fact(source, made[0], method=function.name, owner=kind, attribute=name)
    return None


@probe
def device_near(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The expression for the model's device that can be written where a fact stands: see `edits.kinds.devices`."""
    from explainer.edits.kinds.devices import devices_at
    from explainer.edits.lines import EditError
    from explainer.edits.place import place_of

    if of is None:
        return None
    try:
        place = place_of(scene.source, of)
    except EditError:
        return None
    found = next((one for one in devices_at(place) if one[:1] not in "\"'"), None)
    return SpanFact(of.span, found) if found is not None else None


def _operands(node: ast.AST) -> list[ast.expr]:
    """An operator's operands, or a call's receiver and arguments."""
    if isinstance(node, ast.Assign):
        node = node.value
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Call):
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return [*owner, *node.args, *(word.value for word in node.keywords)]
    return []
