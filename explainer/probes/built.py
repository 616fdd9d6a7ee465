"""Where a layer was built: the constructor call in the owner's `__init__` or in the script, followed with certainty."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

from explainer.bindings import before_calls, only_value
from explainer.facts import ModuleFact, Settings, SpanFact
from explainer.probes import probe
from explainer.probes.files import nodes_of
from explainer.probes.module import module_calls, path_of, root_module, root_name
from explainer.probes.places import element_at, span_fact, starting_at
from explainer.probes.scene import Scene
from explainer.source import Source, called, source_of
from explainer.wrappers import bare, class_of, levels


@probe
def built_at(scene: Scene, of: ModuleFact | None = None) -> SpanFact | None:
    """The call that built a layer: `nn.Linear(16 * 5 * 5, 120)`.

    `detail.arguments` has the source text of each argument by parameter name. None where several calls could be meant.
    """
    module = scene.objects.get(of.name) if of is not None else None
    if module is None:
        return None
    found = construction(scene, module)
    if found is None:
        return None
    source, call = found
    name = of.name if of is not None else None
    arguments = Settings(tuple((key, source.text(node)) for key, node in bound(call, type(module)).items()))
    return span_fact(source, call, name, arguments=arguments)


def construction(scene: Scene, module: Any) -> tuple[Source, ast.Call] | None:
    """The source and call that built a module, followed from its owner's class or the script that names the root."""
    root = root_module(scene)
    if root is None:
        return None
    path = path_of(module, root)
    if path is None:
        return in_owner_class(scene, module)
    return (
        replaced(scene, path, module)
        or construction_below(root, path, module)
        or _in_script(scene, root, path, module, root_name(scene))
    )


def built_in(scene: Scene, root: Any, module: Any) -> tuple[Source, ast.Call] | None:
    """The source and call that built a module of a model that is on no stack."""
    path = path_of(module, root)
    if path is None:
        return None
    held = [item for frame in (scene.live.user if scene.live else []) for item in frame.locals.items()]
    name = next((name for name, value in held if value is root), None)
    return construction_below(root, path, module) or _in_script(scene, root, path, module, name)


def replaced(scene: Scene, path: str, module: Any) -> tuple[Source, ast.Call] | None:
    """The one call that puts another layer at a path of a model that is there: `model.head = nn.Linear(512, 10)`.

    Only outside of constructors: what those build is replaced by it.
    """
    named = [(source, one) for source, one in nodes_of(scene, ast.Assign) if _ends(one.targets[0], path.split("."))]
    found = [(source, one.value) for source, one in named if _method(source, one) != "__init__"]
    if len(found) != 1 or not isinstance(found[0][1], ast.Call) or not _builds(found[0][1], module):
        return None
    return found[0]  # type: ignore[return-value]


def _method(source: Source, node: ast.stmt) -> str:
    return getattr(source.function_at(node.lineno), "name", "")


def _ends(target: ast.AST, path: list[str]) -> bool:
    """Whether a target is written as the end of a path: `net.classifier[6]` of classifier.6, `model.fc` of fc."""
    if isinstance(target, ast.Subscript):
        index = target.slice
        last = isinstance(index, ast.Constant) and str(index.value) == path[-1]
        return last and len(path) > 1 and isinstance(target.value, ast.Attribute) and target.value.attr == path[-2]
    return isinstance(target, ast.Attribute) and target.attr == path[-1]


def construction_below(root: Any, path: str, module: Any) -> tuple[Source, ast.Call] | None:
    """The source and call that built the module at a path below a root, from the classes of its owners alone."""
    for owner, rest in reversed(list(_owners(root, path))):
        found = _in_class(owner, rest, module)
        if found is not None:
            return found
    return None


def _owners(root: Any, path: str) -> Iterator[tuple[Any, list[str]]]:
    """Each module on the way to a path, with what remains of the path below it."""
    parts, owner = path.split(".") if path else [], bare(root)
    for index, part in enumerate(parts):
        yield owner, parts[index:]
        owner = bare(owner._modules[part])


def _in_class(owner: Any, rest: list[str], module: Any) -> tuple[Source, ast.Call] | None:
    """Where the class of `owner` assigns `self.<rest[0]>`, followed down the rest of the path."""
    for base in type(owner).__mro__:
        init = base.__dict__.get("__init__")
        code = getattr(init, "__code__", None)
        if code is None or base.__module__.startswith("torch."):
            continue
        source = source_of(code.co_filename)
        function = starting_at(source, code.co_firstlineno)
        call = element_at(only_value(function, f"self.{rest[0]}"), rest[1:], function)
        if isinstance(call, ast.Call) and _builds(call, module):
            return source, call
    return None


def in_owner_class(scene: Scene, module: Any) -> tuple[Source, ast.Call] | None:
    """A layer that no module has registered (in a plain list): found by the only constructor call of its type."""
    for entered in module_calls(scene):
        code = getattr(type(entered.module).__dict__.get("__init__"), "__code__", None)
        source = source_of(code.co_filename) if code is not None else None
        owner = source.class_at(code.co_firstlineno) if source and code else None
        calls = (
            [node for node in ast.walk(owner) if isinstance(node, ast.Call) and _builds(node, module)] if owner else []
        )
        if len(calls) == 1:
            return source, calls[0]  # type: ignore[return-value]
    return None


def _in_script(scene: Scene, root: Any, path: str, module: Any, name: str | None) -> tuple[Source, ast.Call] | None:
    """Where the user's frames assign the name of the root, as it was before wrappers: `model = nn.Sequential(...)`."""
    wrappers = levels(root) if module is not root else 0
    for frame in scene.live.user if scene.live and name else ():
        source = source_of(frame.file, frame.frame.f_globals)
        value = before_calls(source.tree, name, wrappers) if name else None
        call = element_at(value, path.split(".") if path else [], source.tree)
        if isinstance(call, ast.Call) and _builds(call, module):
            return source, call
    return None


def _builds(call: ast.Call, module: Any) -> bool:
    """Whether a call is written as the constructor of a module's class."""
    name = called(call)
    kind = class_of(module).__name__
    return name in (kind, "Lazy" + kind)


def bound(call: ast.Call, cls: type) -> dict[str, ast.expr]:
    """A constructor call's arguments by parameter name; positional ones by the signature of `__init__`."""
    code = getattr(inspect.getattr_static(cls, "__init__", None), "__code__", None)
    names = inspect.getargs(code).args[1:] if code is not None else []
    given = dict(zip(names, (one for one in call.args if not isinstance(one, ast.Starred)), strict=False))
    return {**given, **{word.arg: word.value for word in call.keywords if word.arg}}
