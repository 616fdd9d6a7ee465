"""A condition of source in the reader's language: what must hold, in words where Python's own are many."""

from __future__ import annotations

import ast

from explainer.locale import word

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq,
}  # fmt: skip
#: Calls that ask for the kind of a value, with the words for it and for its opposite.
_KINDS = {
    "isinstance": ("q_type", "q_no_type"), "issubclass": ("q_type", "q_no_type"), "hasattr": ("q_has", "q_has_no"),
    "callable": ("q_callable", "q_no_callable"),
}  # fmt: skip


def worded(condition: ast.expr, language: str) -> str:
    """A condition, as what stands behind `needs`."""
    if isinstance(condition, ast.BoolOp):
        among = _among(condition)
        if among is not None:
            return worded(among, language)
        link = word("p_or" if isinstance(condition.op, ast.Or) else "p_and", language)
        return link.join(worded(one, language) for one in condition.values)
    no = isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not)
    asked = condition.operand if isinstance(condition, ast.UnaryOp) and no else condition
    if isinstance(asked, ast.Call) and isinstance(asked.func, ast.Name) and asked.func.id in _KINDS and asked.args:
        return _of_kind(asked, no, language)
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1:
        return _compared(condition, language)
    return _code(condition)


def is_plain(condition: ast.expr) -> bool:
    """Whether a condition says what must be, and not only what must not."""
    if isinstance(condition, ast.BoolOp):
        return all(map(is_plain, condition.values))
    of_kind = isinstance(condition, ast.Call) and isinstance(condition.func, ast.Name) and condition.func.id in _KINDS
    return of_kind or isinstance(condition, ast.Compare)


def _of_kind(call: ast.Call, no: bool, language: str) -> str:
    kind = call.args[1] if len(call.args) > 1 else None
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind] if kind is not None else []
    names = [str(one.value) if isinstance(one, ast.Constant) else _name(one) for one in kinds]
    key = _KINDS[call.func.id][no]  # type: ignore[attr-defined]
    named = word("p_or", language).join(f"`{name}`" for name in names)
    return word(key, language, x=_code(call.args[0]), kind=named)


def _code(node: ast.expr) -> str:
    return f"`{ast.unparse(node)}`"


def _name(kind: ast.expr) -> str:
    return ast.unparse(kind).rpartition(".")[2]


def _compared(condition: ast.Compare, language: str) -> str:
    sign, left, right = condition.ops[0], condition.left, condition.comparators[0]
    if isinstance(sign, (ast.In, ast.NotIn)):
        key = "q_in" if isinstance(sign, ast.In) else "q_not_in"
        choices = right.elts if isinstance(right, (ast.Tuple, ast.List, ast.Set)) else None
        of = ", ".join(map(ast.unparse, choices)) if choices else ast.unparse(right)
        return word(key, language, x=_code(left), of=f"`{of}`")
    if isinstance(left, ast.Constant) and not isinstance(right, ast.Constant) and type(sign) in _TURNED:
        condition = ast.Compare(right, [_TURNED[type(sign)]()], [left])
    return _code(condition)


def _among(condition: ast.BoolOp) -> ast.Compare | None:
    """`a == 1 or a == 2` as `a in (1, 2)`; None for any other."""
    wanted = ast.Eq if isinstance(condition.op, ast.Or) else ast.NotEq
    found: list[ast.Compare] = [one for one in condition.values if isinstance(one, ast.Compare)]
    plain = [one for one in found if len(one.ops) == 1 and isinstance(one.ops[0], wanted)]
    if len(plain) != len(condition.values) or len({ast.dump(one.left) for one in plain}) != 1:
        return None
    values = ast.Tuple([one.comparators[0] for one in plain], ast.Load())
    return ast.Compare(plain[0].left, [ast.In() if wanted is ast.Eq else ast.NotIn()], [values])
