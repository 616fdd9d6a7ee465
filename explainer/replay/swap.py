"""Edited sources put into force in this (forked) process: functions get their new code, layers are built again."""

from __future__ import annotations

import ast
import functools
import gc
import linecache
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from explainer.replay.given import constructor_arguments
from explainer.source import loaded, stored
from explainer.userframes import is_user_file

#: How deep functions are looked for in what holds them: a class's property, a decorator's closure.
_DEEP = 4


def swap(file: str, old: str, new: str, namespaces: Iterable[Mapping[str, Any]] = ()) -> bool:
    """Make the live functions of a file run the edited source; whether all that changed could be brought up to date.

    Functions and classes are looked for in `namespaces`: those of the live frames and of the user's modules.
    Statements that changed in the `__init__` of a layer run again on every instance; so do module-level assignments.
    """
    before, after = compile(old, file, "exec"), compile(new, file, "exec")
    linecache.cache[file] = (len(new), None, new.splitlines(keepends=True), file)
    pairs = list(_pairs(before, after))
    if len(list(_codes(before))) != len(list(_codes(after))):
        return False
    done = True
    functions = _functions(file, namespaces, {_key(a) for a, b in pairs if _function(a) and _differ(a, b)})
    to = {_key(a): b for a, b in reversed(pairs)}
    for function in functions:
        code = to.get(_key(function.__code__))
        if code is not None and len(code.co_freevars) == len(function.__code__.co_freevars):
            function.__code__ = code
    tree = ast.parse(old)
    for owner, changed in _changed(tree, ast.parse(new)):
        done = _run_again(file, owner, changed, functions, _constructor(tree, owner)) and done
    return done


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield part
            yield from _codes(part)


def _pairs(before: types.CodeType, after: types.CodeType) -> Iterator[tuple[types.CodeType, types.CodeType]]:
    """The codes of functions of two versions of a file, in the same order."""
    return zip(_codes(before), _codes(after), strict=False)


def _key(code: types.CodeType) -> tuple[int, str]:
    return code.co_firstlineno, code.co_name


def _function(code: types.CodeType) -> bool:
    return code.co_name == "<lambda>" or not code.co_name.startswith("<")  # <listcomp> and its like


def _differ(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether two versions of a function do different things, wherever they stand."""
    return (one.co_code, one.co_names, _plain(one)) != (other.co_code, other.co_names, _plain(other))


def _plain(code: types.CodeType) -> list[Any]:
    return [repr(one) for one in code.co_consts if not isinstance(one, types.CodeType)]


def _functions(
    file: str, namespaces: Iterable[Mapping[str, Any]], changed: set[tuple[int, str]]
) -> list[types.FunctionType]:
    """The functions of a file that some namespaces lead to, and the closures among those that changed.

    Only where that misses one that changed all objects are gone through: it copies the parent's memory into this child.
    """
    found = [one for one in _reachable(namespaces) if _made_by(one, file)]
    missing = changed - {_key(one.__code__) for one in found}
    inner = {code for one in found for code in _codes(one.__code__) if _key(code) in missing}
    if inner:
        found += [one for one in gc.get_referrers(*inner) if type(one) is types.FunctionType]
    if missing - {_key(code) for code in inner}:
        found = [one for one in gc.get_objects() if type(one) is types.FunctionType and _made_by(one, file)]
    return found


def _made_by(function: types.FunctionType, file: str) -> bool:
    return function.__code__.co_filename == file


def _reachable(namespaces: Iterable[Mapping[str, Any]]) -> Iterator[types.FunctionType]:
    """Every function in some namespaces and in those of their classes, decorators gone through."""
    seen: set[int] = set()
    waiting = [(value, _DEEP) for names in namespaces for value in list(names.values())]
    while waiting:
        value, deep = waiting.pop()
        if id(value) not in seen:
            seen.add(id(value))
            if type(value) is types.FunctionType:
                yield value
            waiting += [(one, deep - 1) for one in _inside(value)] if deep else []


def _inside(value: Any) -> Iterable[Any]:
    """What may hold functions in a class, a method, a property or a decorated function."""
    if isinstance(value, type):
        return list(vars(value).values()) if is_user_file(_home(value)) else []
    if type(value) is types.FunctionType:
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != _EMPTY]
        return [*cells, getattr(value, "__wrapped__", None)]
    if isinstance(value, (staticmethod, classmethod)):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget, value.fset]
    return [value.func] if type(value) in (functools.partial, functools.cached_property) else []


_EMPTY = types.CellType()


def _home(owner: type) -> str:
    """The file of the module that a class was made in."""
    return str(getattr(sys.modules.get(owner.__module__), "__file__", None) or "")


def _changed(old: ast.Module, new: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Changed statements that run but once: of a layer's `__init__` with its class's name, of the module with none."""
    for one, other in zip(old.body, new.body, strict=False):
        if isinstance(one, ast.ClassDef) and isinstance(other, ast.ClassDef):
            for method, edited in zip(one.body, other.body, strict=False):
                if getattr(method, "name", "") == "__init__" and isinstance(edited, ast.FunctionDef):
                    yield from ((one.name, part) for part in _differing(method.body, edited.body))  # type: ignore
        elif isinstance(other, (ast.Assign, ast.AnnAssign)) and ast.dump(one) != ast.dump(other):
            yield "", other


def _differing(old: list[ast.stmt], new: list[ast.stmt]) -> list[ast.stmt]:
    if len(old) != len(new):
        return list(new)
    return [b for a, b in zip(old, new, strict=True) if ast.dump(a) != ast.dump(b)]


def _constructor(tree: ast.Module, owner: str) -> ast.FunctionDef | None:
    """The `__init__` of a class at the top of a file."""
    classes = [one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == owner]
    methods = [one for one in (classes[0].body if classes else ()) if isinstance(one, ast.FunctionDef)]
    return next((one for one in methods if one.name == "__init__"), None)


def _run_again(
    file: str, owner: str, statement: ast.stmt, functions: list[types.FunctionType], init: ast.FunctionDef | None
) -> bool:
    """Run one statement again where it ran before: on each instance of a class (made by `init`), or in its module."""
    before = _bound_by(init, statement) if init is not None else []
    code = compile(ast.Module([*before, statement], type_ignores=[]), file, "exec")
    # A notebook's cell is no module of its own; in a spawned child `__main__` is a copy of what its functions see.
    names = next((one.__globals__ for one in functions), None)
    if names is None:
        names = next((vars(m) for m in list(sys.modules.values()) if getattr(m, "__file__", None) == file), {})
    if not owner:
        exec(code, names)
        return True
    kinds = [one for one in _classes() if one.__name__ == owner and _made_in(one) == file]
    made = [one for one in gc.get_referrers(*kinds) if type(one) in kinds] if kinds else []
    for instance in made:
        exec(code, {**names, **constructor_arguments(instance, init), "self": instance})
    return bool(made)


def _bound_by(init: ast.FunctionDef, changed: ast.stmt) -> list[ast.stmt]:
    """The statements of a constructor that give a changed one its local names, in their order."""
    wanted = loaded(changed) - {one.arg for one in init.args.args}
    found: list[ast.stmt] = []
    for one in reversed([one for one in init.body if one.lineno < changed.lineno]):
        targets = getattr(one, "targets", [getattr(one, "target", None)])
        written = {getattr(getattr(target, "value", None), "id", "") for target in targets}  # table[:, 0::2] = ...
        if wanted & (stored(one) | written - {"self"}):
            found.insert(0, one)
            wanted |= loaded(one)
    return found


def _classes() -> Iterator[type]:
    waiting, seen = [object], {object}
    while waiting:
        below = [one for one in type.__subclasses__(waiting.pop()) if one not in seen]
        seen.update(below)
        waiting += below
        yield from below


def _made_in(owner: type) -> str:
    """The file of a class's own constructor."""
    return getattr(getattr(vars(owner).get("__init__"), "__code__", None), "co_filename", "")
