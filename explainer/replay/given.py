"""What a constructor was given, told by the object it made: its attributes, its layers, the only call there is."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.source import Source, source_of, stored
from explainer.userframes import is_user_file

_LISTS = ("Sequential", "ModuleList")


def constructor_arguments(instance: Any, init: ast.FunctionDef | None) -> dict[str, Any]:
    """What the parameters of the `__init__` that made an instance of a module were, as far as they can be told.

    Only for a sandboxed child: arguments of the call that made it are evaluated again.
    """
    known = {**_defaults(instance), **_attributes(instance), **_given_to_layers(instance, init)}
    wanted = _names(init) - {"self"}
    return {**_given_by_call(type(instance).__name__, init), **known} if wanted - set(known) else known


def module_namespaces() -> list[dict[str, Any]]:
    """The namespaces of the user's modules; a notebook's has no file."""
    modules = [
        (name, vars(module)) for name, module in list(sys.modules.items()) if isinstance(module, types.ModuleType)
    ]
    return [held for name, held in modules if name == "__main__" or _users(held.get("__file__"))]


def _users(file: Any) -> bool:
    return isinstance(file, str) and is_user_file(file)


def _names(init: ast.FunctionDef | None) -> set[str]:
    return {one.arg for one in (*init.args.args, *init.args.kwonlyargs)} if init is not None else set()


def _attributes(instance: Any) -> dict[str, Any]:
    """The attributes that are called as the constructor's parameters are."""
    code = type(instance).__init__.__code__
    own = {**vars(instance), **vars(instance).get("_modules", {})}
    return {name: own[name] for name in code.co_varnames[1 : code.co_argcount] if name in own}


def _defaults(instance: Any) -> dict[str, Any]:
    init: Any = type(instance).__init__
    names = init.__code__.co_varnames[1 : init.__code__.co_argcount]
    return dict(zip(reversed(names), reversed(init.__defaults__ or ()), strict=False))


def _given_to_layers(instance: Any, init: ast.FunctionDef | None) -> dict[str, Any]:
    """What the layers kept of the parameters: `self.fc = nn.Linear(width, 4)` has `in_features`."""
    wanted, found = _names(init), dict[str, Any]()
    for statement in init.body if init is not None else ():
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        layer = vars(instance).get("_modules", {}).get(getattr(target, "attr", None))
        for one, call in _layers(layer, getattr(statement, "value", None)) if layer is not None else ():
            for name, argument in _arguments(one, call):
                held = getattr(one, name, None)
                if isinstance(argument, ast.Name) and argument.id in wanted and isinstance(held, int):
                    found.setdefault(argument.id, held)
    return found


def _layers(layer: Any, node: ast.AST | None) -> Iterator[tuple[Any, ast.Call]]:
    """A layer with the call that built it, and those in a list of layers that is written out, methods looked past."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        node = node.func.value  # nn.Linear(8, 4).double()
    if not isinstance(node, ast.Call):
        return
    yield layer, node
    if type(layer).__name__ in _LISTS:
        parts = node.args[0].elts if node.args and isinstance(node.args[0], (ast.List, ast.Tuple)) else node.args
        children = list(layer.children())
        for child, part in zip(children, parts, strict=False) if len(children) == len(parts) else ():
            yield from _layers(child, part)


def _arguments(made: Any, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a constructor's call, each with its parameter's name."""
    code = getattr(type(made).__init__, "__code__", None)
    yield from zip(code.co_varnames[1 : code.co_argcount] if code is not None else (), call.args, strict=False)
    yield from ((word.arg, word.value) for word in call.keywords if word.arg is not None)


def _given_by_call(owner: str, init: ast.FunctionDef | None) -> dict[str, Any]:
    """What the only call of a class in the user's modules gives, where names of its module say it."""
    calls = [(names, source, call) for names, source in _modules() for call in _calls(source, owner)]
    if len(calls) != 1 or init is None:
        return {}
    names, source, call = calls[0]
    parameters = [one.arg for one in init.args.args][1:]
    given = [*zip(parameters, call.args, strict=False), *((word.arg or "", word.value) for word in call.keywords)]
    local = _local_names(source, call)
    found = {}
    for name, node in given:
        read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        if name and not isinstance(node, ast.Starred) and not local & read:
            try:
                found[name] = eval(compile(ast.Expression(node), "<argument>", "eval"), dict(names))
            except Exception:
                continue
    return found


def _modules() -> Iterator[tuple[Mapping[str, Any], Source]]:
    for names in module_namespaces():
        if isinstance(names.get("__file__"), str):
            yield names, source_of(names["__file__"])


def _calls(source: Source, owner: str) -> list[ast.Call]:
    called = (one for one in source.nodes() if isinstance(one, ast.Call))
    return [one for one in called if owner in (getattr(one.func, "id", ""), getattr(one.func, "attr", ""))]


def _local_names(source: Source, node: ast.AST) -> set[str]:
    """The names that the function around a node binds: the module's of the same name are others."""
    function = source.function_at(node.lineno)  # type: ignore[attr-defined]
    if function is None:
        return set()
    return stored(function) | {one.arg for one in ast.walk(function) if isinstance(one, ast.arg)}
