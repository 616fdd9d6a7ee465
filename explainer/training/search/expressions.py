"""Edits of expressions: a call left out, another dimension, a condition or a sign turned, a sibling, another name."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Any

from explainer.dimensions import DIMENSIONS, MODULES
from explainer.source import Source, called, loaded, stored, with_arguments
from explainer.training.proposals.through import straight_through
from explainer.training.rewrite import operand
from explainer.training.search.offer import Offer, replacing, within
from explainer.training.search.places import DRAWS
from explainer.training.sites import key

#: Calls without which a value may be what is meant, and what speaks against leaving each out.
_UNDONE = {
    "detach": 0.2, "softmax": 0.4, "sigmoid": 0.4, "flip": 0.4, "round": 0.5, "sign": 0.5, "log_softmax": 0.6,
    "clamp": 0.6, "roll": 0.6, "relu": 0.7, "tanh": 0.7, "dropout": 0.8, "normalize": 0.8, "argmax": 0.8, "log": 0.9,
    "exp": 0.9, "abs": 0.9, "sqrt": 0.9, "long": 0.7, "int": 0.8, "sort": 0.7, "flatten": 1.2, "transpose": 1.0,
    "permute": 1.0, "numpy": 1.0, "item": 0.9, "relu_": 0.7, "clip": 0.6, "floor": 0.5, "heaviside": 0.5,
}  # fmt: skip
#: Functions that take one dimension; as a method it comes first, as a function second.
_REDUCE = ("softmax", "log_softmax", "sum", "mean", "argmax", "argmin", "max", "min", "amax", "amin", "norm", "std",
           "var", "cumsum", "cumprod", "logsumexp", "prod", "normalize", "sort", "flip", "unbind",
           "unsqueeze")  # fmt: skip
#: Those that take all entries where they are given none.
_OVER_ALL = ("sum", "mean", "norm", "std", "var", "logsumexp", "prod")
_SIBLINGS = (("sum", "mean", 0.8), ("triu", "tril", 0.4), ("sample", "rsample", 0.1), ("argmax", "argmin", 0.5),
             ("add_", "sub_", 1.0), ("zeros", "ones", 0.9),
             ("max", "min", 0.7), ("amax", "amin", 0.7), ("maximum", "minimum", 0.6), ("amax", "mean", 0.9),
             ("logical_and", "logical_or", 0.6), ("zeros_like", "ones_like", 0.7), ("sin", "cos", 1.2))  # fmt: skip
#: What is meant where a view of so many sizes puts the sizes in another order.
_ORDERS = {3: ("transpose(1, 2)", "transpose(0, 1)"), 4: ("permute(0, 2, 3, 1)", "permute(0, 3, 1, 2)")}
#: From which on a factor is a large one.
_LARGE = 10
_SORTS = ("sort", "argsort")
_TURNED = {ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">"}
_PICKS = ("gather", "take_along_dim", "scatter", "scatter_", "scatter_add", "scatter_add_", "index_select")
Sizes = dict[tuple[str, int, str], int] | None
_MOMENTS = ("where", "kl_div", "masked_fill", "lerp", "lerp_", "cross_entropy", "binary_cross_entropy")


def expressions(source: Source, statement: ast.AST, sizes: Sizes = None) -> Iterator[Offer]:
    """All edits of the expressions of a statement. `sizes` are the numbers of dimensions that calls were given."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            yield from _undone(source, node)
            yield from dimensions(source, node, sizes)
            yield from siblings(source, node)
            yield from _turned_order(source, node)
            yield from _turned_arguments(source, node)
            yield from _swapped(source, node)
            yield from _own(source, node)
            yield from _variance(source, node)
            yield from _other_size(source, node)
        elif isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
            yield replacing(source, node, source.text(node.operand), 0.4 if isinstance(node.op, ast.Invert) else 0.7)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
            left, right = source.text(node.left), source.text(node.comparators[0])
            yield replacing(source, node, f"{left} {_TURNED[type(node.ops[0])]} {right}", 0.8)
        elif isinstance(node, ast.BinOp) and not any(_drawn(one) for one in (node.left, node.right)):
            yield from _straight(source, node)
            yield from _scaled(source, node)
            yield from _alone(source, node)
            yield from _numbers(source, node)
        elif isinstance(node, ast.Subscript):
            yield from _ends(source, node)
            yield from _shifted(source, node)
            yield from _stretched(source, node)
        elif isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.ctx, ast.Load):
            yield replacing(source, node, source.text(node.value), 0.4)


def _drawn(node: ast.expr) -> bool:
    """Whether a value is a draw: a factor of it, or what it is added to, says what data there are."""
    return isinstance(node, ast.Call) and called(node) in DRAWS


def _straight(source: Source, node: ast.BinOp) -> Iterator[Offer]:
    """`z + (q - z).detach()` for `q + (z - q).detach()`: which of two values goes on, and which gets the gradient."""
    new = straight_through(source, node)
    if new:
        yield replacing(source, node, new, 0.3)


def _variance(source: Source, call: ast.Call) -> Iterator[Offer]:
    """A square where a loss takes a variance, and may be given the spread."""
    gaussian = called(call) == "gaussian_nll_loss" or called(call) in _gaussian(source)
    if gaussian and len(call.args) == 3:
        yield within(source, call, call.args[2], f"{operand(source, call.args[2])} ** 2", 0.3)


def _gaussian(source: Source) -> set[str]:
    """What a program calls a GaussianNLLLoss."""
    made = [one for one in source.nodes() if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)]
    targets = [one.targets[0] for one in made if "GaussianNLLLoss" in source.text(one.value)]
    return {source.text(one).rpartition(".")[2] for one in targets}


def _method(call: ast.Call) -> bool:
    """Whether a call is one of a value's methods, not of a module's functions."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    root = function.value
    while isinstance(root, ast.Attribute):
        root = root.value
    return not (isinstance(root, ast.Name) and root.id in MODULES)


def _undone(source: Source, call: ast.Call) -> Iterator[Offer]:
    cost = _UNDONE.get(called(call))
    if cost is None:
        return
    if _method(call) and isinstance(call.func, ast.Attribute):
        yield replacing(source, call, source.text(call.func.value), cost)
    elif call.args and not isinstance(call.args[0], ast.Starred):
        yield replacing(source, call, source.text(call.args[0]), cost)


def dimensions(source: Source, call: ast.Call, sizes: Sizes = None) -> Iterator[Offer]:
    """Another dimension in the place of one that is written as a number; only those that are there and another."""
    size = (sizes or {}).get((source.file, call.lineno, called(call))) if call.lineno == call.end_lineno else None
    if called(call) in _OVER_ALL and _method(call) and not call.args and not call.keywords and (size or 0) > 1:
        for other in (1, -1)[: (size or 0) - 1]:
            yield replacing(source, call, f"{source.text(call.func)}({other})", 0.7)
    written = [keyword.value for keyword in call.keywords if keyword.arg in DIMENSIONS]
    place = 0 if _method(call) else 1
    if called(call) in _REDUCE and len(call.args) > place:
        written.append(call.args[place])
    for node in written:
        try:
            value = ast.literal_eval(node)
        except (ValueError, SyntaxError):
            continue
        for other in (1, -1, 0, 2) if type(value) is int else ():
            known = not size or (-size <= other < size and other % size != value % size)
            if other != value and known:
                yield within(source, call, node, str(other), 0.3 if value == 0 else 0.6)


def _turned_order(source: Source, call: ast.Call) -> Iterator[Offer]:
    """What is sorted the other way round; sums and products that run on from the other end."""
    if called(call) in _SORTS and not any(one.arg == "descending" for one in call.keywords):
        given = ", ".join([*map(source.text, (*call.args, *call.keywords)), "descending=True"])
        yield replacing(source, call, f"{source.text(call.func)}({given})", 0.4)


def siblings(source: Source, call: ast.Call) -> Iterator[Offer]:
    """A call of the other kind in the place of one: `mean` and `sum`, a view and a transpose."""
    name, text = called(call), source.text(call.func)
    for one, other, cost in _SIBLINGS:
        for old, new in ((one, other), (other, one)):
            if name == old and (new != "amax" or call.args or call.keywords):  # the largest of all is no loss
                yield replacing(source, call.func, text[: len(text) - len(old)] + new, cost)
    if name in ("view", "reshape") and isinstance(call.func, ast.Attribute) and len(call.args) in _ORDERS:
        for turned in _ORDERS[len(call.args)]:
            yield replacing(source, call, f"{source.text(call.func.value)}.{turned}", 0.7)


def _turned_arguments(source: Source, call: ast.Call) -> Iterator[Offer]:
    """A switch, a reduction or a mask the other way round."""
    for keyword in call.keywords:
        value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if type(value) is bool:
            yield within(source, call, keyword.value, str(not value), 0.6)
        elif keyword.arg == "reduction" and value in ("sum", "mean"):
            yield within(source, call, keyword.value, '"mean"' if value == "sum" else '"sum"', 0.6)
    masks = [one.value for one in call.keywords if str(one.arg).endswith("mask")]
    masks += call.args[:1] if called(call) in ("masked_fill", "masked_fill_") else []
    for mask in masks:
        if not isinstance(mask, (ast.Constant, ast.UnaryOp)):
            yield within(source, call, mask, f"~({source.text(mask)})", 0.5)


def _swapped(source: Source, call: ast.Call) -> Iterator[Offer]:
    at = 1 if called(call) == "where" else 0
    if called(call) in _MOMENTS and len(call.args) > at + 1:
        turned = (*call.args[:at], call.args[at + 1], call.args[at], *call.args[at + 2 :], *call.keywords)
        yield replacing(source, call, with_arguments(source, call, turned), 0.7)


def _scaled(source: Source, node: ast.BinOp) -> Iterator[Offer]:
    """`x * t` and `x / t`, `a // b` and `a / b`, `1 - a` and `a`, `a - b` and `a + b`."""
    left, right = operand(source, node.left), operand(source, node.right)
    root = isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Pow)
    root = root or (isinstance(node.right, ast.Call) and called(node.right) in ("sqrt", "exp"))
    if isinstance(node.op, (ast.Mult, ast.Div)) and (root or isinstance(node.right, (ast.Name, ast.Attribute))):
        cost = 0.5 if root else 0.8
        yield replacing(source, node, f"{left} {'/' if isinstance(node.op, ast.Mult) else '*'} {right}", cost)
    if isinstance(node.op, ast.FloorDiv):
        yield replacing(source, node, f"{left} / {right}", 0.5)
    if isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Constant) and node.left.value == 1:
        yield replacing(source, node, right, 0.6)
    elif isinstance(node.op, (ast.Add, ast.Sub)):
        yield replacing(source, node, f"{left} {'-' if isinstance(node.op, ast.Add) else '+'} {right}", 1.1)


def _alone(source: Source, node: ast.BinOp) -> Iterator[Offer]:
    """A value without the factor or the divisor behind it; a sum without its last term."""
    if isinstance(node.op, (ast.Mult, ast.Div)) and not isinstance(node.left, ast.Constant):
        yield replacing(source, node, source.text(node.left), 1.0)
    elif isinstance(node.op, ast.Add) and isinstance(node.right, ast.BinOp):
        yield replacing(source, node, source.text(node.left), 1.05)


def flags(watcher: Any) -> Iterator[Offer]:
    """A factor that was 0 or 1 wherever it was looked at, the other way round: `x * done` and `x * (1 - done)`."""
    for seen, _ in watcher.notes.of("flag"):
        if watcher.notes.times["no flag", key(seen.site), seen.data["places"]]:
            continue
        found = seen.site[0].node() if seen.site else None
        node = found.node if found is not None else None
        if found is None or not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            continue
        for flag in [(node.left, node.right)[at] for at in seen.data["places"]]:
            if isinstance(flag, (ast.Name, ast.Attribute, ast.Subscript)):
                yield replacing(found.source, flag, f"(1 - {found.source.text(flag)})", 0.3)


def names(source: Source, ran: list[ast.stmt]) -> Iterator[Offer]:
    """Names in the place of others: a value that is made and never read, one made beside it, a neighbour's index."""
    yield from _unread(source, ran)
    yield from _beside(source, ran)
    for statement in ran:
        taken = [node for node in ast.walk(statement) if isinstance(node, ast.Subscript)]
        indices = {source.text(one.slice) for one in taken if isinstance(one.slice, (ast.Name, ast.Call))}
        for one in taken:
            for other in indices - {source.text(one.slice)} if isinstance(one.slice, (ast.Name, ast.Call)) else ():
                yield replacing(source, one.slice, other, 0.4)


def _unread(source: Source, ran: list[ast.stmt]) -> Iterator[Offer]:
    for statement in ran:
        if not isinstance(statement, ast.Assign):
            continue
        scope = source.scope_at(statement.lineno)
        for name in stored(statement) - {"_"}:
            reads = [one for one in ast.walk(scope) if isinstance(one, ast.Name) and one.id == name
                     and isinstance(one.ctx, ast.Load)]  # fmt: skip
            if reads:
                continue
            alike = loaded(statement.value) | _made_alike(source, statement, ran)
            for one in ast.walk(scope):
                later = isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.lineno > statement.lineno
                if later and one.id in alike:  # type: ignore[attr-defined]
                    yield replacing(source, one, name, 0.2)


def _made_alike(source: Source, statement: ast.Assign, ran: list[ast.stmt]) -> set[str]:
    """The names that other statements give what the same call makes."""
    if not isinstance(statement.value, ast.Call):
        return set()
    others = [one for one in ran if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
              and source.text(one.value.func) == source.text(statement.value.func)]  # fmt: skip
    return {name for one in others for name in stored(one)}


def _beside(source: Source, ran: list[ast.stmt]) -> Iterator[Offer]:
    """One of two names that are bound together to calls alike in the place of the other: `ones, zeros = ...`."""
    others: dict[str, str] = {}
    for node in source.nodes():
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple) or len(node.value.elts) != 2:
            continue
        names = [one.id for one in getattr(node.targets[0], "elts", ()) if isinstance(one, ast.Name)]
        calls = [one for one in node.value.elts if isinstance(one, ast.Call)]
        if len(names) == len(calls) == 2 and len({tuple(map(source.text, one.args)) for one in calls}) == 1:
            others |= {names[0]: names[1], names[1]: names[0]}
    for statement in ran:
        for one in ast.walk(statement):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id in others:
                yield replacing(source, one, others[one.id], 0.8)


def _own(source: Source, call: ast.Call) -> Iterator[Offer]:
    """A function of the program left out: what it is given in its place."""
    given = call.args[0] if call.args and isinstance(call.func, ast.Name) else None
    if isinstance(given, (ast.Name, ast.Subscript, ast.Call)) and defined(source, source.text(call.func)):
        yield replacing(source, call, source.text(given), 0.9)


def _other_size(source: Source, call: ast.Call) -> Iterator[Offer]:
    """The number of places where the number of samples is asked for, and the other way round."""
    given = call.args[0] if called(call) == "size" and len(call.args) == 1 else None
    if isinstance(given, ast.Constant) and given.value in (0, 1):
        yield replacing(source, given, str(1 - given.value), 0.8)


def defined(source: Source, name: str) -> bool:
    """Whether a file defines a function of some name."""
    return any(isinstance(one, ast.FunctionDef) and one.name == name for one in source.nodes())


def _numbers(source: Source, node: ast.BinOp) -> Iterator[Offer]:
    """A factor ten times as large, or a tenth or less, or of the other sign."""
    for one in (node.left, node.right) if isinstance(node.op, (ast.Mult, ast.Div)) else ():
        value = one.value if isinstance(one, ast.Constant) else None
        if type(value) is float or (type(value) is int and abs(value) >= _LARGE):
            yield replacing(source, one, f"-{source.text(one)}", 0.9)
            factors = (0.1, 0.01, 0.001) if abs(value) >= _LARGE else (10, 0.1)
            yield from (replacing(source, one, f"{value * factor:g}", 1.0) for factor in factors)


def _ends(source: Source, node: ast.Subscript) -> Iterator[Offer]:
    """The last of a row in the place of the first, and the other way round."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for one in parts:
        text = source.text(one)
        if text in ("0", "-1") and isinstance(node.ctx, ast.Load):
            yield replacing(source, one, "-1" if text == "0" else "0", 0.6)


def _shifted(source: Source, node: ast.Subscript) -> Iterator[Offer]:
    """All but the first in the place of all but the last, and the other way round."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for one in parts if isinstance(node.ctx, ast.Load) else ():
        other = {":-1": "1:", "1:": ":-1"}.get(source.text(one).replace(" ", ""))
        if other is not None:
            yield replacing(source, one, other, 0.6)


def _stretched(source: Source, node: ast.Subscript) -> Iterator[Offer]:
    """Another axis along which a value is the same: `valid[:, None, :]` for `valid[:, :, None]`."""
    parts = [source.text(one) for one in node.slice.elts] if isinstance(node.slice, ast.Tuple) else []
    around = source.parent_of(node)
    index = isinstance(around, ast.Call) and called(around) in _PICKS  # another shape picks other entries, or fewer
    if parts.count("None") != 1 or not isinstance(node.ctx, ast.Load) or index:
        return
    others = [one for one in parts if one != "None"]
    for at in range(len(parts)):
        if at != parts.index("None"):
            new = ", ".join([*others[:at], "None", *others[at:]])
            yield replacing(source, node, f"{source.text(node.value)}[{new}]", 0.35)


def turned_shares(source: Source, statement: ast.stmt) -> Iterator[Offer]:
    """`a` and `1 - a` in the place of each other, all over a statement: a moving average that is upside down."""
    for node in ast.walk(statement):
        one = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Constant)
        if not one or node.left.value not in (1, 1.0) or not isinstance(node.right, (ast.Name, ast.Attribute)):  # type: ignore[attr-defined]
            continue
        inner, name = source.text(node), source.text(node.right)  # type: ignore[attr-defined]
        parts = source.text(statement).split(inner)
        turned = [re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", inner, part) for part in parts]
        yield replacing(source, statement, name.join(turned), 0.4)
        return


def neighbours(source: Source) -> Iterator[Offer]:
    """The index by which a neighbour is taken, in statements next to each other anywhere in the program."""
    for body in (getattr(node, "body", ()) for node in source.nodes()):
        row = [one for one in body if isinstance(one, ast.Assign)] if isinstance(body, list) else []
        taken = [one.value for one in row if isinstance(one.value, ast.Subscript)]
        for one, other in itertools.pairwise(taken):
            names = [each.slice.id for each in (one, other) if isinstance(each.slice, ast.Name)]
            if len(set(names)) == 2 and other.lineno - one.lineno < 3:
                yield replacing(source, other.slice, names[0], 0.4)
