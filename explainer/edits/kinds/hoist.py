"""The edit that gives a lambda a name which a module can find: a function at module level, its settings by partial."""

from __future__ import annotations

import ast
import builtins
import textwrap

from explainer.diagnosis import Edit
from explainer.edits.kinds.statements import delete_statement, insert_statement
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place
from explainer.source import holds, walked


def hoist_lambda(at: Place) -> tuple[Edit, ...]:
    """Move a lambda to a function above the function that holds it; what it closes over comes by functools.partial."""
    node = at.node
    holder = _outermost(at, node.lineno) if isinstance(node, ast.Lambda) else None
    if not isinstance(node, ast.Lambda) or holder is None:
        raise EditError("no lambda inside a function")
    free = _free(node, holder)
    name = _fresh(at, "transform")
    body = f"def {name}({_parameters(node, free)}):\n    return {at.source.text(node.body)}\n\n"
    given = ", ".join(f"{one}={one}" for one in free)
    value = f"functools.partial({name}, {given})" if free else name
    imports = "import functools\n\n\n" if free and not _imports(at) else ""
    above = Place(at.source, holder)
    return (*insert_statement(imports + body, before=above), *changed(at.source, [(at.span, value)]))


def hoist_function(at: Place) -> tuple[Edit, ...]:
    """Move a function out of the one that holds it; what it closes over comes by functools.partial where it is used."""
    node = at.node
    holder = _outermost(at, node.lineno) if isinstance(node, ast.FunctionDef) else None
    if not isinstance(node, ast.FunctionDef) or not isinstance(holder, ast.FunctionDef) or node.decorator_list:
        raise EditError("no function inside a function")
    outer = [one for one in holder.body if one is not node]
    free = _free(node, ast.Module([holder.args, *outer], []))  # type: ignore[list-item]
    lines = textwrap.dedent("\n".join(at.source.lines[node.lineno - 1 : node.end_lineno])).split("\n")
    head = ast.unparse(node.args)
    text = "\n".join(lines).replace(f"({head})", f"({_parameters(node, free)})", 1)
    if f"({_parameters(node, free)})" not in text:
        raise EditError("its parameters are not written plainly")
    uses = [one for one in walked(ast.Module(outer, [])) if isinstance(one, ast.Name) and one.id == node.name]
    given = ", ".join(f"{one}={one}" for one in free)
    spans = [(at.source.span(one), f"functools.partial({node.name}, {given})") for one in uses] if free else []
    imports = "import functools\n\n\n" if free and not _imports(at) else ""
    moved = insert_statement(f"{imports}{text}\n\n", before=Place(at.source, holder))
    return (*moved, *delete_statement(at), *(changed(at.source, spans) if spans else ()))


def _outermost(at: Place, line: int) -> ast.stmt | None:
    """The statement of the module that holds a line, where it is a function or class."""
    tree = at.source.tree
    holding = [one for one in tree.body if holds(one, line)] if tree is not None else []
    return holding[0] if holding and isinstance(holding[0], (ast.FunctionDef, ast.ClassDef)) else None


def _free(node: ast.Lambda | ast.FunctionDef, holder: ast.AST) -> list[str]:
    """The names that a lambda or inner function takes from the functions around it."""
    own = {argument.arg for argument in walked(node.args) if isinstance(argument, ast.arg)}
    own |= {one.id for one in walked(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    body = node.body if isinstance(node.body, list) else [node.body]
    named = [one for part in body for one in walked(part) if isinstance(one, ast.Name)]
    used = [one.id for one in named if isinstance(one.ctx, ast.Load)]
    bound = {one.arg for one in walked(holder) if isinstance(one, ast.arg)}
    bound |= {one.id for one in walked(holder) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return [name for name in dict.fromkeys(used) if name in bound - own and name not in vars(builtins)]


def _parameters(node: ast.Lambda | ast.FunctionDef, free: list[str]) -> str:
    given = ast.unparse(node.args)
    return ", ".join(part for part in (given, *free) if part)


def _fresh(at: Place, name: str) -> str:
    used = {one.id for one in at.source.nodes() if isinstance(one, ast.Name)}
    used |= {one.name for one in at.source.nodes() if isinstance(one, ast.FunctionDef)}
    return name if name not in used else _fresh(at, f"{name}_")


def _imports(at: Place) -> bool:
    return any(
        isinstance(one, ast.Import) and any(a.name == "functools" for a in one.names) for one in at.source.nodes()
    )
