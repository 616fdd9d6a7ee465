"""Models that nothing trains: the line that froze every parameter, and what an optimizer was given in their place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.bindings import arguments_of
from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.autograd.graph import empty_models, named_modules
from explainer.probes.files import calls_named, named, sources
from explainer.probes.origin import last_binding
from explainer.probes.owners import optimizers
from explainer.probes.places import enclosing, span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_module, is_tensor, read
from explainer.source import Source, called

_LOOPS = (ast.For, ast.AsyncFor)
_WALKS = ("parameters", "named_parameters", "modules", "named_modules", "children")


@frozen
class Freezing:
    """A statement that sets `requires_grad` to False, and the source of what it freezes."""

    source: Source
    node: ast.stmt
    target: str


@probe
def frozen_model(scene: Scene) -> SpanFact | None:
    """The line that froze a model none of whose parameters requires grad.

    `detail`: the `model` and its `head` (the last layer) as that line would name them, the `count` of parameters, and
    whether an optimizer in sight was given them (`trained`). Not a model that no optimizer has, where one has others
    that it can train: it may well stay frozen.
    """
    every = [(name, module, list(module.parameters())) for name, module in named_modules(scene)]
    for name, module, parameters in sorted(every, key=lambda one: -len(one[2])):  # a whole before its parts
        if parameters and not any(one.requires_grad for one in parameters):
            trained = _given_to_optimizer(scene, parameters)
            found = _of_model(scene, name, module) if trained or not _trains_something(scene) else None
            if found is not None and _shallow(found) is None:
                detail: dict[str, Any] = {"count": len(parameters), "head": _head(found.target, module)}
                return span_fact(found.source, found.node, model=name, trained=trained, **detail)
    return None


@probe
def prefix_test(scene: Scene) -> SpanFact | None:
    """The `name.startswith(prefix)` under which parameters are frozen: `head` is the start of `head_norm`, too.

    `detail`: `new`, the call that tells whole names of modules alone.
    """
    for source in sources(scene):
        for node in (one for one in source.nodes() if isinstance(one, ast.stmt) and _frozen(source, one)):
            tests = [one.test for one in enclosing(source, node.lineno, (ast.If,))]
            for call in (one for test in tests for one in ast.walk(test) if isinstance(one, ast.Call)):
                prefix = call.args[0] if called(call) == "startswith" and len(call.args) == 1 else None
                if isinstance(prefix, (ast.Name, ast.Attribute, ast.Subscript)):
                    return span_fact(source, call, new=f'{source.text(call.func)}({source.text(prefix)} + ".")')
    return None


@probe
def shallow_copy(scene: Scene) -> SpanFact | None:
    """The `copy.copy(model)` whose result is frozen where it was made: the model's own parameters are.

    `detail`: the `original`, the `deep` copy as it would be written, the `line` that freezes.
    """
    for one in freezings(scene):
        call = _shallow(one)
        if call is not None:
            original = one.source.text(call.args[0])
            deep = f"copy.deepcopy({original})"
            return span_fact(one.source, call, original=original, deep=deep, line=one.node.lineno)
    return None


def _shallow(one: Freezing) -> ast.Call | None:
    """The `copy.copy(model)` that made what a statement freezes, in its own function."""
    made = [node.value for node in ast.walk(one.source.scope_at(one.node.lineno)) if isinstance(node, ast.Assign)
            and node.lineno < one.node.lineno and one.source.text(node.targets[0]) == one.target]  # fmt: skip
    call = made[-1] if made else None
    copies = isinstance(call, ast.Call) and one.source.text(call.func) == "copy.copy" and len(call.args) == 1
    return call if copies else None  # type: ignore[return-value]


def _trains_something(scene: Scene) -> bool:
    return any(one.requires_grad for one in _optimized(scene))


def _optimized(scene: Scene) -> Iterator[Any]:
    """The parameters that the optimizers in sight were given."""
    groups = (group for one in optimizers(scene) for group in fields_of(one).get("param_groups", ()))
    return (one for group in groups for one in group["params"])


def _given_to_optimizer(scene: Scene, parameters: list[Any]) -> bool:
    own = {id(one) for one in parameters}
    return any(id(one) in own for one in _optimized(scene))


def _of_model(scene: Scene, name: str, module: Any) -> Freezing | None:
    """Of the freezing statements the one that names the model, else one inside of its class, else the last."""
    found = list(freezings(scene))
    own = [one for one in found if one.target == name]
    methods = [one for one in found if one.target == "self" and _inside(one, type(module).__name__)]
    named = own or methods or found
    return _from_outside(scene, named[-1]) if named else None


def _from_outside(scene: Scene, one: Freezing) -> Freezing:
    """The one call that gives a function what it freezes, where it freezes what it is given: it may freeze another."""
    function = one.source.function_at(one.node.lineno)
    parameters = [word.arg for word in function.args.args] if isinstance(function, ast.FunctionDef) else []
    if one.target not in parameters or parameters[0] == "self":
        return one
    found = [(source, call) for source, call in calls_named(scene, function.name) if isinstance(call.func, ast.Name)]  # type: ignore[union-attr]
    if len(found) != 1:
        return one
    source, call = found[0]
    given, statement = arguments_of(call, parameters).get(one.target), source.parent_of(call)
    if given is None or not isinstance(statement, ast.Expr):
        return one
    return Freezing(source, statement, source.text(given))


def _inside(one: Freezing, owner: str) -> bool:
    scope = one.source.class_at(one.node.lineno)
    return scope is not None and scope.name == owner


def _head(target: str, module: Any) -> str:
    """How the line that freezes would name the model's last layer; empty where it has but one."""
    children = list(fields_of(module)["_modules"])
    if len(children) < 2:
        return ""
    return f"{target}[{children[-1]}]" if children[-1].isdigit() else f"{target}.{children[-1]}"


def freezings(scene: Scene) -> Iterator[Freezing]:
    """The loops and statements of the user's that set `requires_grad` to False."""
    for source in sources(scene):
        inner: set[ast.stmt] = set()
        for node in source.nodes():
            if isinstance(node, _LOOPS):
                walked = _walked(source, node.iter)
                own = [one for one in _of_body(node) if _frozen(source, one)]
                if walked and own:
                    inner.update(own)
                    yield Freezing(source, node, walked)
            elif isinstance(node, ast.stmt) and node not in inner and _frozen(source, node):
                yield Freezing(source, node, _frozen(source, node))


def _of_body(loop: ast.For | ast.AsyncFor) -> Iterator[ast.stmt]:
    """The statements of a loop's own body, those under its conditions included."""
    waiting = list(loop.body)
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, ast.If):
            waiting += [*one.body, *one.orelse]


def _walked(source: Source, node: ast.AST) -> str:
    """`net` of `net.parameters()` or `enumerate(net.named_parameters())`."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in _WALKS:
            return source.text(one.func.value)
    return ""


def _frozen(source: Source, node: ast.stmt) -> str:
    """What a statement freezes: `p` of `p.requires_grad_(False)` and of `p.requires_grad = False`; empty else."""
    if isinstance(node, (ast.Expr, ast.Assign)) and isinstance(node.value, ast.Call):
        call = node.value
        off = called(call) == "requires_grad_" and call.args and source.text(call.args[0]) == "False"
        return source.text(call.func.value) if off and isinstance(call.func, ast.Attribute) else ""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
        target = node.targets[0]
        off = target.attr == "requires_grad" and source.text(node.value) == "False"
        return source.text(target.value) if off else ""
    return ""


@probe
def filtered_out(scene: Scene) -> SpanFact | None:
    """The comprehension whose condition left none of a model's parameters for the optimizer.

    `detail`: `walked` (`net.parameters()` as it should be given), `condition`.
    """
    frame, failing = scene.user_frame, scene.failing
    if frame is None or failing is None:
        return None
    source = failing.source
    bound = [last_binding(source, frame, one.id) for one in ast.walk(failing.node) if isinstance(one, ast.Name)]
    for node in (part for one in (failing.node, *filter(None, bound)) for part in ast.walk(one)):
        loop = node.generators[0] if isinstance(node, (ast.ListComp, ast.GeneratorExp)) else None
        walked = _walked(source, loop.iter) if loop is not None and loop.ifs else ""
        module: Any = read(ast.parse(walked, mode="eval").body, frame.frame) if walked else None
        if loop is not None and is_module(module) and next(module.parameters(), None) is not None:
            return span_fact(source, node, walked=f"{walked}.parameters()", condition=source.text(loop.ifs[0]))
    return None


@probe
def plain_tensors(scene: Scene) -> tuple[SpanFact, ...] | None:
    """Where a model without parameters assigns floating-point tensors to plain attributes in its `__init__`.

    The span of each is the assigned value; `detail`: `attribute`, `model`, `owner` (the class).
    """
    for name, module in empty_models(scene):
        found = [part for owner in module.modules() for part in _tensors_of(scene, owner, name)]
        if found:
            return tuple(found)
    return None


def _tensors_of(scene: Scene, owner: Any, model: str) -> Iterator[SpanFact]:
    held = {key for key, value in fields_of(owner).items() if is_tensor(value) and value.is_floating_point()}
    kind = type(owner).__name__
    for source, scope in named(scene, ast.ClassDef, kind):
        init = (one for one in scope.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
        for node in (one for method in init for one in ast.walk(method) if isinstance(one, ast.Assign)):
            target = source.text(node.targets[0]).removeprefix("self.")
            if target in held:
                yield span_fact(source, node.value, attribute=target, model=model, owner=kind)
