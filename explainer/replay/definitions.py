"""The functions of a file that is loaded: found by their definitions, and given the code of an edited text."""

from __future__ import annotations

import ast
import textwrap
import types
from collections.abc import Sequence
from typing import Any


def function_of(tree: ast.Module, start: int, end: int) -> tuple[Any, ...] | None:
    """The function of a file, or the class and its method, in whose body some lines stand."""
    for outer in tree.body:
        holders = [(outer, one) for one in outer.body] if isinstance(outer, ast.ClassDef) else [(outer,)]
        for row in holders:
            node = row[-1]
            if isinstance(node, ast.FunctionDef) and node.lineno <= start and end <= (node.end_lineno or 0):
                return row
    return None


def live_function(modules: Sequence[Any], path: str, node: tuple[Any, ...]) -> Any:
    """The function object of a definition, its decorators looked through; None where it cannot be found."""
    for module in modules:
        found: Any = module
        for part in node:
            found = vars(found).get(part.name) if hasattr(found, "__dict__") else None
        found = getattr(found, "__func__", found)
        while found is not None and hasattr(found, "__wrapped__"):
            found = found.__wrapped__
        if isinstance(found, types.FunctionType) and found.__code__.co_filename == path:
            return found
    return None


def compiled(path: str, lines: Sequence[str], node: tuple[Any, ...], free: tuple[str, ...]) -> types.CodeType:
    """The code of a function's new text, with the free names of the old one."""
    above = "\n" * (node[-1].lineno - 1)  # so that lines are those of the file
    tree = ast.parse(above + textwrap.dedent("\n".join(lines)))
    function: Any = tree.body[0]
    function.decorator_list = []
    owner = node[0].name if len(node) > 1 else "C"  # which is global, as in `super(Net, self).__init__()`
    holder = "\n".join([f"def outer({', '.join(one for one in free if one != '__class__')}):",
                        f" global {owner}", f" class {owner}:", "  pass"])  # fmt: skip
    outer = ast.parse(holder)
    definition: Any = outer.body[0]
    if len(node) > 1:
        definition.body[1].body = [function]
    else:
        definition.body = [function]
    return _code_named(compile(outer, path, "exec"), function.name)


def _code_named(code: types.CodeType, name: str) -> types.CodeType:
    """The code of a function inside of another code."""
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    for one in inner:
        if one.co_name == name and name != "outer":
            return one
    return next(found for found in (_code_named(one, name) for one in inner) if found)


def defaults(lines: Sequence[str], live: Any) -> tuple[Any, Any]:
    """The default values that a function's new text gives its parameters."""
    tree = ast.parse(textwrap.dedent("\n".join(lines)))
    function: Any = tree.body[0]
    function.decorator_list, function.body = [], [ast.Pass(lineno=1, col_offset=0)]
    space: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(tree), "<defaults>", "exec"), live.__globals__, space)
    made = space[function.name]
    return made.__defaults__, made.__kwdefaults__
