"""Where a name or attribute on the stack got its value: an assignment, a loop, the caller's argument."""

from __future__ import annotations

import ast
from dataclasses import replace

from explainer.edits.kinds.arguments import argument_node
from explainer.edits.lines import EditError
from explainer.edits.place import Place
from explainer.frozen import frozen
from explainer.probes.call import call_node
from explainer.probes.origin import last_binding
from explainer.probes.scene import Scene
from explainer.source import Source, source_of

#: How many callers a parameter is followed to.
_CALLERS = 6


@frozen
class Bound:
    """The expression that gave a value, with the statement that bound it. `part` is its number in a tuple's targets.

    `frame` is the number of the user's frame that it stands in; None where it is another function. `looped`: the value
    is an item of the expression's, not the expression's own.
    """

    source: Source
    node: ast.expr
    statement: ast.stmt
    frame: int | None
    part: int | None = None
    looped: bool = False


def binding(scene: Scene, node: ast.AST, number: int) -> Bound | None:
    """What gave a name, or an attribute of self, its value, seen from a frame of the user's (by its number).

    A parameter is followed to what the caller passed; None where several statements may have bound it.
    """
    frames = scene.live.user if scene.live is not None else []
    for at in range(number, max(number - _CALLERS, -1), -1):
        source = source_of(frames[at].file, frames[at].frame.f_globals)
        if isinstance(node, ast.Subscript):
            return _of_item(binding(scene, node.value, at), node.slice)
        if isinstance(node, ast.Attribute):
            return _of_attribute(source, node, frames[at].line)
        if not isinstance(node, ast.Name):
            return None
        statement = last_binding(source, frames[at], node.id)
        if statement is not None:
            return _bound(source, statement, node.id, at)
        passed = _passed(scene, at, node.id)
        if passed is None:
            return _global(source, node.id)
        above, node = passed
        if not isinstance(node, (ast.Name, ast.Attribute)):
            caller = scene.live.user[at - 1]  # type: ignore[union-attr]
            return Bound(above, node, _statement(above, node, caller.line), at - 1)  # type: ignore[arg-type]
    return None


def _passed(scene: Scene, at: int, name: str) -> tuple[Source, ast.expr] | None:
    """What the caller of a user's frame passed for a parameter."""
    frames = scene.live.user if scene.live is not None else []
    code = frames[at].frame.f_code
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    failing = frames[at - 1].failing() if at > 0 and name in parameters else None
    call = call_node(failing.node) if failing is not None else None
    if failing is None or not isinstance(call, ast.Call):
        return None
    names = [one for one in parameters if one not in ("self", "cls")]
    try:
        given = argument_node(Place(failing.source, call), name, names)
    except EditError:
        return None
    return (failing.source, given) if given is not None else None


def _of_item(held: Bound | None, key: ast.expr) -> Bound | None:
    """The entry of a list or dict that is written out, or the expression that makes each entry."""
    node = held.node if held is not None and held.part is None and not held.looped else None
    if isinstance(node, ast.DictComp):
        return replace(held, node=node.value)  # type: ignore[type-var]
    if isinstance(node, ast.ListComp):
        return replace(held, node=node.elt)  # type: ignore[type-var]
    wanted = key.value if isinstance(key, ast.Constant) else None
    entries = list(getattr(node, "elts", ()))
    if isinstance(node, ast.Dict):
        found = [
            one for name, one in zip(node.keys, node.values, strict=True) if getattr(name, "value", name) == wanted
        ]
    else:
        found = entries[wanted : wanted + 1] if isinstance(wanted, int) and wanted >= 0 else []
    return replace(held, node=found[0]) if found else None  # type: ignore[type-var]


def _of_attribute(source: Source, node: ast.Attribute, line: int) -> Bound | None:
    """The only statement of a class that assigns `self.name`."""
    owner, text = source.class_at(line), source.text(node)
    found = [one for one in ast.walk(owner) if _assigns(source, one, text)] if owner is not None else []
    return _bound(source, found[0], text, None) if len(found) == 1 else None  # type: ignore[arg-type]


def _assigns(source: Source, node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Assign) and any(text in _texts(source, target) for target in node.targets)


def _texts(source: Source, target: ast.AST) -> list[str]:
    return [source.text(one) for one in getattr(target, "elts", [target])]


def _global(source: Source, name: str) -> Bound | None:
    body = source.tree.body if source.tree is not None else []
    found = [one for one in body if _assigns(source, one, name)]
    return _bound(source, found[0], name, None) if len(found) == 1 else None


def _bound(source: Source, statement: ast.stmt, text: str, frame: int | None) -> Bound | None:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    value = statement.iter if isinstance(statement, ast.For) else getattr(statement, "value", None)
    if target is None or value is None:
        return None
    texts = _texts(source, target)
    part = texts.index(text) if isinstance(target, (ast.Tuple, ast.List)) and text in texts else None
    if part is not None and isinstance(value, ast.Tuple) and len(value.elts) == len(texts):
        value, part = value.elts[part], None
    return Bound(source, value, statement, frame, part, isinstance(statement, ast.For))


def _statement(source: Source, node: ast.expr, line: int) -> ast.stmt:
    found = source.statement_at(node.lineno) or source.statement_at(line)
    return found if found is not None else ast.Expr(node)
