"""The guard of a raise: the condition that led to it, turned into what must hold, from the source alone."""

from __future__ import annotations

import ast
import importlib.util
import os

from explainer.frozen import frozen
from explainer.source import Source, holds, source_of

#: No condition is longer, and no more of those around it are told.
LONGEST, AROUND = 160, 3
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
#: What checks by a call: `torch._check(condition, message)`.
CHECKS = frozenset(["_check", "_check_value", "_check_type", "_check_index", "_check_not_implemented", "_check_with"])


@frozen
class Guard:
    """What must hold so that a statement does not raise. `where` is the function, of `__init__` its class.

    `check` is the innermost part of the requirement: those around it say when it is checked.
    """

    requirement: ast.expr
    check: ast.expr
    where: str
    parameters: tuple[str, ...]

    @property
    def text(self) -> str:
        """The requirement as Python."""
        return ast.unparse(self.requirement)


def guard_at(source: Source, line: int) -> Guard | None:
    """The guard of the `raise`, `assert` or check on a line; None where none stands there or nothing guards it."""
    raising = [node for node in source.nodes() if isinstance(node, (ast.Raise, ast.Assert)) and holds(node, line)]
    statement = raising[-1] if raising else source.statement_at(line)
    function = source.function_at(line)
    if statement is None:
        return None
    body = function.body if function is not None else source.tree.body if source.tree is not None else []
    parts = _required(statement, body)
    if not parts:
        return None
    requirement = _any(parts)
    if len(ast.unparse(requirement)) > LONGEST:
        return None
    check = next((one for one in reversed(parts) if not _is_flag(one)), requirement)
    if function is None:
        return Guard(requirement, check, os.path.basename(source.file), ())
    owner = source.class_at(function.lineno)
    where = owner.name if owner is not None and function.name == "__init__" else function.name
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return Guard(requirement, check, where, tuple(names))


def _required(statement: ast.stmt, body: list[ast.stmt]) -> list[ast.expr]:
    """What must hold, one part of it at least; the part that is checked last stands last."""
    if isinstance(statement, ast.Assert):
        return [statement.test]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        checked = _checked(statement.value)
        return [checked] if checked is not None else []
    conditions = _conditions(body, statement) if isinstance(statement, ast.Raise) else None
    return [negated(one) for one in (conditions or [])[-AROUND:]]


def _is_flag(part: ast.expr) -> bool:
    """Whether a part is a name alone: that it was set says when something is checked, and is no requirement."""
    bare = part.operand if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not) else part
    return isinstance(bare, (ast.Name, ast.Attribute))


def _checked(call: ast.Call) -> ast.expr | None:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    place = 1 if name == "_check_with" else 0
    return call.args[place] if name in CHECKS and len(call.args) > place else None


def _conditions(body: list[ast.stmt], statement: ast.stmt) -> list[ast.expr] | None:
    """The conditions under which a statement is reached, the outermost first; None where it is not in this body.

    What loops, handlers and matches ask for is none of it: a statement inside of one is guarded by what it holds.
    """
    for one in body:
        if one is statement:
            return []
        if isinstance(one, ast.If):
            inner = _of_branches(one, statement)
            if inner is not None:
                return inner
            continue
        for part in ("body", "orelse", "finalbody"):
            inner = _conditions(getattr(one, part, None) or [], statement)
            if inner is not None:
                return inner
    return None


def _of_branches(one: ast.If, statement: ast.stmt) -> list[ast.expr] | None:
    """The conditions below an `if`, an `elif` or their `else`.

    What stands behind `else` is reached where no case applies. That the cases before an `elif` are false says little
    about why it raised.
    """
    refused: list[ast.expr] = []
    while True:
        inner = _conditions(one.body, statement)
        if inner is not None:
            return [one.test, *inner]
        refused.append(negated(one.test))
        if not _goes_on(one):
            break
        one = one.orelse[0]  # type: ignore[assignment]
    inner = _conditions(one.orelse, statement)
    return None if inner is None else [refused[0] if len(refused) == 1 else ast.BoolOp(ast.And(), refused), *inner]


def _goes_on(one: ast.If) -> bool:
    """Whether an `elif` follows."""
    return len(one.orelse) == 1 and isinstance(one.orelse[0], ast.If) and one.orelse[0].col_offset == one.col_offset


def negated(test: ast.expr) -> ast.expr:
    """The opposite of a condition, as one would write it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.BoolOp):
        other: ast.boolop = ast.Or() if isinstance(test.op, ast.And) else ast.And()
        return ast.BoolOp(other, [negated(one) for one in test.values])
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return ast.Compare(test.left, [_OPPOSITE[type(test.ops[0])]()], test.comparators)
    return ast.UnaryOp(ast.Not(), test)


def _any(parts: list[ast.expr]) -> ast.expr:
    return parts[0] if len(parts) == 1 else ast.BoolOp(ast.Or(), parts)


def leaves(node: ast.expr) -> list[ast.expr]:
    """The expressions of a requirement that stand for values: names, attributes, items, and calls on them."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return [node]
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("isinstance", "issubclass", "hasattr", "callable"):
            return leaves(node.args[0]) if node.args else []
        return [node]
    return [leaf for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr) for leaf in leaves(one)]


def torchs_folder() -> str | None:
    """Where the torch that is installed lies, which is not imported for that."""
    spec = importlib.util.find_spec("torch")
    return next(iter(spec.submodule_search_locations or ()), None) if spec is not None else None


def installed(file: str, line: int, code: str) -> Source | None:
    """The source of torch's file that a traceback names, where the torch that is installed here has the same line."""
    path = file.replace("\\", "/")
    at = path.rfind("/torch/")
    folder = torchs_folder() if at >= 0 and code and ".." not in path else None
    if folder is None:
        return None
    there = os.path.join(folder, *path[at + len("/torch/") :].split("/"))
    if not there.endswith(".py") or not os.path.isfile(there):
        return None
    source = source_of(there)
    return source if source.line(line).strip() == code.split("\n")[0].strip() else None
