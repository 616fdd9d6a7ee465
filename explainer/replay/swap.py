"""Edited sources put into force in this (forked) process: functions get their new code, layers are built again."""

from __future__ import annotations

import ast
import gc
import linecache
import sys
import types
from collections.abc import Iterator
from typing import Any


def swap(file: str, old: str, new: str) -> bool:
    """Make the live functions of a file run the edited source; whether all that changed could be brought up to date.

    Statements that changed in the `__init__` of a layer run again on every instance; so do module-level assignments.
    """
    before, after = compile(old, file, "exec"), compile(new, file, "exec")
    linecache.cache[file] = (len(new), None, new.splitlines(keepends=True), file)
    pairs = list(_pairs(before, after))
    if len(list(_codes(before))) != len(list(_codes(after))):
        return False
    done = True
    for function in _functions(file):
        code = next((b for a, b in pairs if a.co_firstlineno == function.__code__.co_firstlineno
                     and a.co_name == function.__code__.co_name), None)  # fmt: skip
        if code is not None and len(code.co_freevars) == len(function.__code__.co_freevars):
            function.__code__ = code
    for owner, changed in _changed(ast.parse(old), ast.parse(new)):
        done = _run_again(file, owner, changed) and done
    return done


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield part
            yield from _codes(part)


def _pairs(before: types.CodeType, after: types.CodeType) -> Iterator[tuple[types.CodeType, types.CodeType]]:
    """The codes of functions of two versions of a file, in the same order."""
    return zip(_codes(before), _codes(after), strict=False)


def _functions(file: str) -> list[types.FunctionType]:
    return [one for one in gc.get_objects() if type(one) is types.FunctionType and one.__code__.co_filename == file]


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


def _run_again(file: str, owner: str, statement: ast.stmt) -> bool:
    """Run one statement again where it ran before: on each instance of a class, or in its module."""
    code = compile(ast.Module([statement], type_ignores=[]), file, "exec")
    module = next((m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == file), None)
    names = vars(module) if module is not None else _globals(file)
    if not owner:
        exec(code, names)
        return True
    made = [one for one in gc.get_objects() if type(one).__name__ == owner and _made_in(type(one)) == file]
    for instance in made:
        exec(code, {**names, **_parameters(instance), "self": instance})
    return bool(made)


def _made_in(owner: type) -> str:
    """The file of a class's own constructor."""
    return getattr(getattr(owner.__init__, "__code__", None), "co_filename", "")


def _globals(file: str) -> dict[str, Any]:
    """The globals of any function of a file that is no module of its own (a notebook's cell)."""
    return next((function.__globals__ for function in _functions(file)), {})


def _parameters(instance: Any) -> dict[str, Any]:
    """What the constructor's parameters may have been: attributes of the same name, else their defaults."""
    init: Any = type(instance).__init__
    names = init.__code__.co_varnames[1 : init.__code__.co_argcount]
    defaults = dict(zip(reversed(names), reversed(init.__defaults__ or ()), strict=False))
    own = {**vars(instance), **vars(instance).get("_modules", {})}
    return {**defaults, **{name: own[name] for name in names if name in own}}
