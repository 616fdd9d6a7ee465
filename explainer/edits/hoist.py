"""The edit that gives a lambda a name which a module can find: a function at module level, its settings by partial."""

from __future__ import annotations

import ast
import builtins

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place
from explainer.edits.statements import insert_statement


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


def _outermost(at: Place, line: int) -> ast.stmt | None:
    """The statement of the module that holds a line, where it is a function or class."""
    tree = at.source.tree
    holding = [one for one in tree.body if one.lineno <= line <= (one.end_lineno or 0)] if tree is not None else []
    return holding[0] if holding and isinstance(holding[0], (ast.FunctionDef, ast.ClassDef)) else None


def _free(node: ast.Lambda, holder: ast.stmt) -> list[str]:
    """The names that the lambda takes from the functions around it."""
    own = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
    used = [one.id for one in ast.walk(node.body) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    bound = {one.arg for one in ast.walk(holder) if isinstance(one, ast.arg)}
    bound |= {one.id for one in ast.walk(holder) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return [name for name in dict.fromkeys(used) if name in bound - own and name not in vars(builtins)]


def _parameters(node: ast.Lambda, free: list[str]) -> str:
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
