"""What decides between two values: a comparison, or a test, turned around or made wider."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import expressions, integers, statement_of, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.repair.uses import uses
from explainer.source import called, loaded, walked

_OTHER = {ast.Eq: ("!=",), ast.NotEq: ("==",), ast.Is: ("is not",), ast.IsNot: ("is",), ast.In: ("not in",),
          ast.NotIn: ("in",), ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="),
          ast.GtE: (">", "<")}  # fmt: skip
_SAME = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_FILLS = ("masked_fill", "masked_fill_", "index_fill_")
_DECIDED = (ast.IfExp, ast.If, ast.While)


def condition(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`Conv2d(a, b, 1) if a == b else Identity()` -> `if a != b`: the other way round, or with the bound itself.

    `name.startswith(part)` -> `part in name`: a part of a name wherever it stands.
    """
    for node in expressions(spot):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = text(spot, node.left), text(spot, node.comparators[0])
            if isinstance(spot.place.source.parent_of(node), ast.BoolOp) and type(node.ops[0]) in _SAME:
                continue  # one of several reasons: that it holds in nearly every case but this is no repair
            for at, sign in enumerate(_OTHER[type(node.ops[0])]):
                yield Offer("condition", spot, node, f"{left} {sign} {right}", "sign", 0.3 * at)
        elif isinstance(node, ast.Call) and called(node) in ("startswith", "endswith") and len(node.args) == 1:
            if isinstance(node.func, ast.Attribute) and not isinstance(node.args[0], ast.Tuple):
                anywhere = f"{text(spot, node.args[0])} in {text(spot, node.func.value)}"
                yield Offer("condition", spot, node, anywhere, "anywhere", 0.1)
        elif _decides(spot, node) and not isinstance(node, (ast.Compare, ast.BoolOp, ast.Constant)):
            yield Offer("condition", spot, node, _denied(spot, node), "sense", 0.0)


def _denied(spot: Spot, node: ast.expr) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return text(spot, node.operand)
    return f"not {as_primary(spot.place.at(node))}"


def _decides(spot: Spot, node: ast.expr) -> bool:
    """Whether an expression is what a condition tests."""
    parent = spot.place.source.parent_of(node)
    tests = parent.ifs if isinstance(parent, ast.comprehension) else [getattr(parent, "test", None)]
    return node in tests and isinstance(parent, (*_DECIDED, ast.comprehension))


def filled(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`far = ids == count` -> `far = ids == size`, where `ids[beyond] = size`: what is looked for was put in there."""
    for node in expressions(spot):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.NotEq)) and len(node.ops) == 1:
            scope, side = spot.place.source.scope_at(node.lineno), node.comparators[0]
            for value in _put_in(scope, ast.unparse(node.left), node):
                if ast.unparse(value) != ast.unparse(side):
                    yield Offer("filled", spot, side, text(spot, value), "filler")


def _put_in(scope: ast.AST, name: str, asked: ast.expr) -> list[ast.expr]:
    """What a function puts into chosen entries of what has a name there: `x[at] = value`, `x.masked_fill_(at, value)`.

    But for those that `asked` chooses: what is looked for there is what gives way.
    """
    found = []
    for one in walked(scope):
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        if isinstance(one, (ast.Assign, ast.Call)) and any(each is asked for each in walked(one)):
            continue
        if isinstance(one, ast.Assign) and isinstance(target, ast.Subscript) and ast.unparse(target.value) == name:
            found.append(one.value)
        owner = one.func.value if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) else None
        if isinstance(one, ast.Call) and called(one) in _FILLS and owner is not None and one.args:
            found += [one.args[-1]] if ast.unparse(owner) == name else []
    return [one for one in found if isinstance(one, (ast.Name, ast.Attribute))]


def guard(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`if a != b: self.skip = Conv2d(a, b, 1, stride=s)` -> `if s != 1 or a != b`: what else the layer changes.

    So `Identity() if a == b else Conv2d(...)` -> `if s == 1 and a == b`, and sides that are read and not compared.
    """
    statement = statement_of(spot, spot.place.node) if spot.role in ("bound", "built", "given", "slice") else None
    if statement is None:
        return
    for choice in (spot.place.source.parent_of(statement), *walked(statement)):
        if not isinstance(choice, (ast.If, ast.IfExp)):
            continue
        tests = choice.test.values if isinstance(choice.test, ast.BoolOp) else [choice.test]
        if not all(isinstance(one, ast.Compare) and len(one.ops) == 1 for one in tests):
            continue
        equal = isinstance(tests[0].ops[0], ast.Eq)  # type: ignore[attr-defined]
        made = choice.orelse if equal else choice.body
        layers = [one for part in (made if isinstance(made, list) else [made]) for one in walked(part)
                  if isinstance(one, ast.Call)]  # fmt: skip
        for other in _unasked(spot, evidence, layers, loaded(choice.test)):
            added = f"{other[0]} {'==' if equal else '!='} {other[1]}"
            new = f"{added} {'and' if equal else 'or'} {text(spot, choice.test)}"
            yield Offer("guard", spot, choice.test, new, "unasked")


def _unasked(spot: Spot, evidence: Evidence, layers: list[ast.Call], asked: set[str]) -> Iterator[tuple[str, str]]:
    """What a test does not ask of the layers that it decides on: whether they stride, whether their sides differ."""
    known, kinds = integers(spot), uses(evidence)
    of_kind = lambda node, kind: isinstance(node, ast.Name) and kind in kinds.get(node.id, ()) and node.id in known  # noqa: E731
    for call in layers:
        given = [*call.args, *(word.value for word in call.keywords)]
        strides = {one.id for one in given if of_kind(one, "stride")} - asked  # type: ignore[attr-defined]
        yield from ((name, "1") for name in sorted(strides))
        sides = [one.id for one in call.args[:2] if of_kind(one, "width")]  # type: ignore[attr-defined]
        if len(set(sides)) == 2 and not set(sides) & asked:
            yield sides[0], sides[1]
