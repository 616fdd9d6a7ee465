"""Where a layer was built: the constructor call in the owner's `__init__` or in the script, followed with certainty."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

from explainer.facts import ModuleFact, Settings, SpanFact
from explainer.probes import probe
from explainer.probes.files import sources
from explainer.probes.module import module_calls, path_of, root_module, root_name
from explainer.probes.scene import Scene
from explainer.probes.values import class_of
from explainer.source import Source, called, source_of


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
    return SpanFact(source.span(call, name), source.text(call), Settings((("arguments", arguments),)))


def construction(scene: Scene, module: Any) -> tuple[Source, ast.Call] | None:
    """The source and call that built a module, followed from its owner's class or the script that names the root."""
    root = root_module(scene)
    if root is None:
        return None
    path = path_of(module, root)
    if path is None:
        return in_owner_class(scene, module)
    return replaced(scene, path, module) or construction_below(root, path, module) or _in_script(scene, path, module)


def built_in(scene: Scene, root: Any, module: Any) -> tuple[Source, ast.Call] | None:
    """The source and call that built a module of a model that is on no stack."""
    path = path_of(module, root)
    if path is None:
        return None
    held = [item for frame in (scene.live.user if scene.live else []) for item in frame.locals.items()]
    name = next((name for name, value in held if value is root), None)
    return construction_below(root, path, module) or _in_script(scene, path, module, name)


def replaced(scene: Scene, path: str, module: Any) -> tuple[Source, ast.Call] | None:
    """The one call that puts another layer at a path of a model that is there: `model.head = nn.Linear(512, 10)`.

    Only outside of constructors: what those build is replaced by it.
    """
    found = []
    for source in sources(scene):
        for node in source.nodes():
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(target, (ast.Attribute, ast.Subscript)) and _ends(target, path.split(".")):
                found.append((source, node.value, source.function_at(node.lineno)))  # type: ignore[attr-defined]
    calls = [(source, node) for source, node, inside in found if getattr(inside, "name", "") != "__init__"]
    if len(calls) != 1 or not isinstance(calls[0][1], ast.Call) or not _builds(calls[0][1], module):
        return None
    return calls[0]  # type: ignore[return-value]


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
    parts, owner = path.split(".") if path else [], root
    for index, part in enumerate(parts):
        yield owner, parts[index:]
        owner = owner._modules[part]


def _in_class(owner: Any, rest: list[str], module: Any) -> tuple[Source, ast.Call] | None:
    """Where the class of `owner` assigns `self.<rest[0]>`, followed down the rest of the path."""
    for base in type(owner).__mro__:
        init = base.__dict__.get("__init__")
        code = getattr(init, "__code__", None)
        if code is None or base.__module__.startswith("torch."):
            continue
        source = source_of(code.co_filename)
        function = source.function_at(code.co_firstlineno) or _function(source, code.co_firstlineno)
        call = _followed(_assigned(function, f"self.{rest[0]}"), rest[1:], function) if function else None
        if call is not None and _builds(call, module):
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


def _in_script(scene: Scene, path: str, module: Any, name: str | None = None) -> tuple[Source, ast.Call] | None:
    """Where the user's frames assign the name of the root module: `model = nn.Sequential(...)`."""
    name = name or root_name(scene)
    for frame in scene.live.user if scene.live and name else ():
        source = source_of(frame.file, frame.frame.f_globals)
        call = (
            _followed(_assigned(source.tree, name), path.split(".") if path else [], source.tree)
            if source.tree
            else None
        )
        if call is not None and _builds(call, module):
            return source, call
    return None


def _function(source: Source, line: int) -> ast.AST | None:
    """The function whose first line (decorators counted, as in co_firstlineno) is this one."""
    near = [node for node in source.nodes() if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return next((node for node in near if min([node.lineno, *(d.lineno for d in node.decorator_list)]) == line), None)


def _assigned(scope: ast.AST, target: str) -> ast.AST | None:
    """The only value that a scope assigns to a target; None where there are several."""
    values = []
    for node in ast.walk(scope):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(ast.unparse(one) == target for one in targets) and node.value is not None:  # type: ignore[attr-defined]
            values.append(node.value)  # type: ignore[attr-defined]
    return values[0] if len(values) == 1 else None


def _followed(node: ast.AST | None, rest: list[str], scope: ast.AST | None) -> ast.Call | None:
    """Down the path through `Sequential(...)`, `ModuleList([...])`, lists, comprehensions and plain names."""
    while node is not None:
        if isinstance(node, ast.Name) and scope is not None:
            node = _assigned(scope, node.id)
        elif not rest:
            return node if isinstance(node, ast.Call) else None
        else:
            node, rest = _element(node, rest[0]), rest[1:]
    return None


def _element(node: ast.AST, key: str) -> ast.AST | None:
    """The element of a container's source that a path component names."""
    if isinstance(node, ast.Call):
        container = called(node)
        if container == "Sequential" and len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
            return _element(node.args[0].value, key)
        if container == "Sequential" and not any(isinstance(one, ast.Starred) for one in node.args):
            return node.args[int(key)] if key.isdigit() and int(key) < len(node.args) else None
        if container in ("ModuleList", "ModuleDict") and len(node.args) == 1:
            return _element(node.args[0], key)
        return None
    if (
        isinstance(node, (ast.List, ast.Tuple))
        and key.isdigit()
        and not any(isinstance(e, ast.Starred) for e in node.elts)
    ):
        return node.elts[int(key)] if int(key) < len(node.elts) else None
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return node.elt
    if isinstance(node, ast.Dict):
        return next(
            (v for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant) and k.value == key),
            None,
        )
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
