"""The function that is called, or the sign between two operands: a sibling in its place, or none."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from explainer.bindings import only_value
from explainer.dimensions import MODULES
from explainer.edits.evidence import Evidence
from explainer.edits.expressions import evaluated
from explainer.edits.place import as_primary, enclosed
from explainer.repair.atoms.common import calls, expressions, integer, integers, number, shape_of, text, wanted
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.repair.uses import OF_LAYERS, uses
from explainer.source import called, of_self, walked

#: Functions that are mistaken for each other.
SIBLINGS = (
    ("cat", "stack"),
    ("view", "reshape"),
    ("squeeze", "unsqueeze"),
    ("matmul", "bmm", "mul"),
    ("repeat", "expand", "repeat_interleave"),
    ("mm", "mul", "matmul"),
    ("argmax", "amax", "max"),
    ("argmin", "amin", "min"),
    ("chunk", "split"),
    ("sum", "mean"),
    ("prod", "sum"),
    ("gather", "index_select"),
    ("transpose", "permute"),
    ("hstack", "vstack"),
    ("append", "extend"),
    ("Conv1d", "ConvTranspose1d"),
    ("Conv2d", "ConvTranspose2d"),
    ("Conv3d", "ConvTranspose3d"),
    ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"),
    ("Conv1d", "Conv2d"),
    ("MaxPool1d", "MaxPool2d"),
    ("Dropout", "Dropout2d"),
    ("ModuleList", "Sequential"),
    ("cross_entropy", "binary_cross_entropy_with_logits"),
    ("CrossEntropyLoss", "BCEWithLogitsLoss"),
    ("zeros", "zeros_like"),
    ("ones", "ones_like"),
    ("outer", "dot"),
    ("index_add", "index_copy"),
    ("scatter", "scatter_add"),
    ("add_module", "register_buffer"),
    ("keys", "values", "items"),
)
_SIGNS = {ast.MatMult: ("*",), ast.Mult: ("@",), ast.FloorDiv: ("*", "/"), ast.Div: ("//",), ast.Add: ("-", "*"),
          ast.Sub: ("+",)}  # fmt: skip
#: Methods and functions without which a value may be what is wanted.
TURNS = (
    "transpose", "permute", "t", "squeeze", "unsqueeze", "flatten", "view", "reshape", "mean", "sum", "contiguous",
    "float", "long", "int", "half", "double", "bool", "to", "detach", "item", "numpy", "cpu", "cuda", "argmax",
    "tolist", "expand", "repeat", "chunk", "max", "min", "abs", "clone", "type", "byte", "bfloat16", "swapaxes",
    "movedim", "rearrange", "one_hot", "pad", "softmax", "data", "unbind", "real", "round", "unique", "nonzero",
)  # fmt: skip
#: What it costs more to leave out a view, whose sizes say what is meant.
_VIEW, _VIEWS = 2.2, ("view", "reshape", "expand", "repeat", "one_hot")

#: What of an object, or which entry of a row, a number is.
_OF_OBJECT = re.compile(r"(?:^|\.)\w+$|\[\d+\]$")


def call(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`torch.stack(parts, 1)` -> `torch.cat(parts, 1)`: another function of the same kind."""
    for node in calls(spot):
        name = called(node)
        others = dict.fromkeys(other for row in SIBLINGS if name in row for other in row if other != name)
        function = node.func
        for other in others:
            head = text(spot, function)
            yield Offer("call", spot, function, head[: len(head) - len(name)] + other, "sibling", 0.8)
        yield from _modules(spot, node)


def _modules(spot: Spot, node: ast.Call) -> Iterator[Offer]:
    """`self.norm1(x)` -> `self.norm2(x)`: another layer of the same object, one that nothing calls first."""
    function, source = node.func, spot.place.source
    if not (of_self(function)):
        return
    owner = source.class_at(node.lineno)
    if owner is None:
        return
    assigned = [one for one in walked(owner) if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)]
    targets = [(target.attr, called(one.value)) for one in assigned for target in one.targets  # type: ignore[arg-type]
               if isinstance(target, ast.Attribute)]  # fmt: skip
    kind = dict(targets).get(function.attr)
    read = {one.attr for one in walked(owner) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)}
    for other, made in targets:
        if other != function.attr and (made == kind or other not in read) and kind is not None:
            weight = 0.5 if other not in read else 1.4
            yield Offer("call", spot, function, f"self.{other}", "unread" if other not in read else "sibling", weight)


def sides(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`(height // patch) ** 2` -> `(height // patch) * (width // patch)`: the other side, of the same object."""
    for node in expressions(spot):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and number(node.right) == 2:
            for other, made in _other_sides(spot, node.left):
                if made > 1 and {made, made + 1} & wanted(evidence):
                    yield Offer("sides", spot, node, f"{_side(spot, node.left)} * {other}", "side")


def _other_sides(spot: Spot, node: ast.expr) -> Iterator[tuple[str, int]]:
    """A side with another number of the same object in the place of its own, and what the two make together.

    Of a name what it was bound to: `side * (size[1] // patch)` where `side` is `size[0] // patch`.
    """
    scope = spot.place.source.function_at(spot.place.line) or spot.place.source.tree
    node = only_value(scope, node.id) or node if isinstance(node, ast.Name) else node
    side, known = text(spot, node), integers(spot)
    side = f"({side})" if isinstance(node, ast.BinOp) else side
    for one in walked(node):
        own = text(spot, one) if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)) else ""
        for other, value in known.items() if own in known else ():
            if _OF_OBJECT.sub("", other) == _OF_OBJECT.sub("", own) and value != known[own]:
                beside = re.sub(rf"(?<![\w.]){re.escape(own)}(?![\w.])", other, side)
                yield beside, evaluated(ast.parse(f"{side} * {beside}", mode="eval").body, spot.scope) or 0


def operator(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`a * b` -> `a @ b`, `(a - 1) // 2` -> `(a - 1) // 2 + 1`, `2 * n` -> `n`: another sign, or one operand alone.

    `n.cumsum(0)` -> `n.cumsum(0) - n`: the sum of those before each.
    """
    for node in expressions(spot):
        if isinstance(node, ast.Call) and called(node) == "cumsum":
            summed = _summed(node)
            if summed is not None:
                yield Offer("operator", spot, node, f"{text(spot, node)} - {text(spot, summed)}", "before", -1.3)
        if not isinstance(node, ast.BinOp):
            continue
        left, right = text(spot, node.left), text(spot, node.right)
        for sign in _SIGNS.get(type(node.op), ()):
            if right == "1" and sign in ("*", "/", "//", "**"):  # which is the operand alone
                continue
            yield Offer(
                "operator", spot, node, f"{_side(spot, node.left)} {sign} {_side(spot, node.right)}", "sign", 1.1
            )
        if integer(spot, node) is not None or isinstance(node.op, ast.FloorDiv):
            for sign, undoes in (("+", ast.Sub), ("-", ast.Add)):
                yield Offer("operator", spot, node, _one_more(spot, node, sign, undoes), "one", 0.9)
        for one in (left, right) if _may_go(spot, node, evidence) else ():
            yield Offer("operator", spot, node, one, "operand", 1.5)
        if isinstance(node.op, ast.FloorDiv):
            less = str(number(node.right) - 1) if number(node.right) else f"{right} - 1"  # type: ignore[operator]
            yield Offer("operator", spot, node, f"({left} + {less}) // {right}", "up", 0.6)


def _one_more(spot: Spot, node: ast.BinOp, sign: str, undoes: type[ast.operator]) -> str:
    """An expression with one added or taken away: `n - 1` and one is `n`, `n - 2` and one is `n - 1`."""
    last, left = number(node.right), text(spot, node.left)
    if type(last) is not int or last < 1 or not isinstance(node.op, (ast.Add, ast.Sub)):
        return f"{text(spot, node)} {sign} 1"
    if isinstance(node.op, undoes):
        return left if last == 1 else f"{left} {'-' if sign == '+' else '+'} {last - 1}"
    return f"{left} {sign} {last + 1}"


def _side(spot: Spot, node: ast.expr) -> str:
    """The source of an operand, with the parentheses around it."""
    whole = text(spot, node)
    return f"({whole})" if enclosed(spot.place.at(node)) else whole


def _summed(node: ast.Call) -> ast.expr | None:
    """What `x.cumsum(0)` and `torch.cumsum(x, 0)` sum up, where it has a name."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    module = isinstance(owner, ast.Name) and owner.id in MODULES
    summed = (node.args[0] if node.args else None) if module or owner is None else owner
    return summed if isinstance(summed, (ast.Name, ast.Attribute, ast.Subscript)) else None


def _may_go(spot: Spot, node: ast.BinOp, evidence: Evidence) -> bool:
    """Whether one operand may be left out: a tensor that is added is meant, but for a shift; so is a list of data."""
    if isinstance(node.op, ast.Add) and any(_is_list(spot, one) for one in (node.left, node.right)):
        return False
    tensor = any(shape_of(spot, one, evidence) is not None for one in (node.left, node.right))
    return not isinstance(node.op, ast.Div) and (not tensor or "out of bounds" in evidence.message)


def _is_list(spot: Spot, node: ast.expr) -> bool:
    listed = isinstance(node, (ast.List, ast.ListComp)) or (isinstance(node, ast.Call) and called(node) == "list")
    return listed or (isinstance(node, ast.Name) and spot.scope.get(f"type({node.id})") == "sequence")


def division(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`n / 4` -> `n // 4`: a whole number where a quotient is none; `n // hop` -> `(n - size) // hop + 1`: windows.

    `i // beams` beside `i % vocab` -> `i // vocab`: quotient and rest are those of one division.
    """
    for node in expressions(spot):
        yield from _of_one_division(spot, node)
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Div, ast.FloorDiv)):
            continue
        left, right = text(spot, node.left), text(spot, node.right)
        if any(shape_of(spot, one, evidence) is not None for one in (node.left, node.right)):
            continue
        if isinstance(node.op, ast.Div):
            yield Offer("division", spot, node, f"{left} // {right}", "whole", 0.0)
        else:
            yield from _windows(spot, evidence, node, left, right)


def _of_one_division(spot: Spot, node: ast.expr) -> Iterator[Offer]:
    """The divisor of a quotient, or of a rest, that of the other one, where a function has both of one number."""
    own = _quotient_or_rest(node)
    if own is None:
        return
    function = spot.place.source.scope_at(spot.place.line)
    others = (_quotient_or_rest(one) for one in walked(function) if isinstance(one, ast.expr))
    for is_rest, number_, divisor in filter(None, others):
        alike = text(spot, number_) == text(spot, own[1]) and text(spot, divisor) != text(spot, own[2])
        if is_rest != own[0] and alike:
            yield Offer("division", spot, own[2], text(spot, divisor), "rest", -0.5)


def _quotient_or_rest(node: ast.expr) -> tuple[bool, ast.expr, ast.expr] | None:
    """Whether an expression is a rest or a quotient in whole numbers, with its two sides; None of any other."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
        return isinstance(node.op, ast.Mod), node.left, node.right
    names = ("div", "floor_divide", "remainder", "fmod")
    if isinstance(node, ast.Call) and called(node) in names and len(node.args) == 2:
        return called(node) in names[2:], node.args[0], node.args[1]
    return None


def _windows(spot: Spot, evidence: Evidence, node: ast.BinOp, left: str, right: str) -> Iterator[Offer]:
    """How many windows of some size fit into a length, in the place of how many steps do; the last part counted too.

    What is a kernel is known to `strides.overlapping`.
    """
    kinds = uses(evidence)
    for name in _window_sizes(spot, node):
        last = name.rpartition(".")[2]
        if name not in (left, right) and not kinds.get(last) and last not in OF_LAYERS:
            counted = _one_beside(spot, node)
            yield Offer(
                "division", spot, node, f"({left} - {name}) // {right}{'' if counted else ' + 1'}", "windows", 0.3
            )
    up = f"-(-{as_primary(spot.place.at(node.left))} // {right})"
    yield Offer("division", spot, node, up, "ceiling", 0.8 if number(node.right) else 0.2)  # as batches are counted


def _one_beside(spot: Spot, node: ast.expr) -> bool:
    """Whether one is added to a quotient already, on either side."""
    above = spot.place.source.parent_of(node)
    added = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add)
    return added and 1 in (number(above.left), number(above.right))  # type: ignore[union-attr]


def _window_sizes(spot: Spot, node: ast.BinOp) -> Iterator[str]:
    """Names of what may be the size of a window: between hop and length; where nothing is known, what is given."""
    length, hop = integer(spot, node.left), integer(spot, node.right)
    if hop is not None and (length is not None or of_self(node.left)):  # a property, which is not known
        yield from (name for name, size in integers(spot).items() if hop <= size < (length or math.inf))
    elif isinstance(function := spot.place.source.function_at(node.lineno), ast.FunctionDef):
        objects = {
            ast.unparse(one.value) for one in walked(function) if isinstance(one, (ast.Attribute, ast.Subscript))
        }
        yield from (one.arg for one in function.args.args if one.arg not in ("self", *objects, *_measured(node)))


def _measured(node: ast.BinOp) -> set[str]:
    """What the parts of a quotient are the lengths of: no number itself."""
    return {ast.unparse(one.args[0]) for one in walked(node) if isinstance(one, ast.Call) and called(one) == "len"}


def unwrap(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`self.proj(y.transpose(1, 2))` -> `self.proj(y)`: a change of layout, dtype or graph taken away."""
    for node in calls(spot):
        name = called(node)
        if name not in TURNS or (name == "to" and "dtype" in ast.unparse(node)):  # which a setting asks for
            continue
        function = node.func
        if isinstance(function, ast.Attribute) and not (
            isinstance(function.value, ast.Name) and function.value.id in ("torch", "F", "np")
        ):
            yield Offer("unwrap", spot, node, text(spot, function.value), name, 0.7 + _VIEW * (name in _VIEWS))
        elif node.args:
            yield Offer("unwrap", spot, node, text(spot, node.args[0]), name, 0.9 + _VIEW * (name in _VIEWS))
