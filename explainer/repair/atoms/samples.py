"""What samples of one size lack: a horizon that `__len__` leaves out, a cut beside a pad, a pair for one side."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import channels, ragged
from explainer.edits.place import as_primary
from explainer.repair.atoms.common import calls, expressions, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import Function, called

#: What makes something longer, and is given how much it is to be.
_FILLING = ("pad", "cat", "concat", "concatenate", "new_zeros", "zeros", "full", "new_full", "ones", "repeat")


def counted(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`len(self.rows) - self.past` -> `len(self.rows) - self.past - self.ahead`, where samples reach that far."""
    function = spot.place.source.function_at(spot.place.span.line)
    if not _returned(spot) or getattr(function, "name", "") != "__len__":
        return
    whole = spot.place.node
    length = next((one for one in calls(spot) if called(one) == "len"), None)
    if length is None or not isinstance(whole, ast.expr):
        return
    terms = _sum_around(spot, length)
    head, number, ends = text(spot, terms), _number_behind(terms), _number_behind(whole)
    for at, name in enumerate(_looked_ahead(spot)):
        if terms is whole and number is not None and isinstance(terms, ast.BinOp):
            sign = "+" if isinstance(terms.op, ast.Add) else "-"
            news = [f"{text(spot, terms.left)} - {name} {sign} {number}", f"{text(spot, terms.left)} - {name}"]
        elif terms is whole:
            news = [f"{head} - {name} + 1", f"{head} - {name}"]
        else:
            inner = _within(spot, whole, terms, f"{head} - {name}")
            news = [inner] if ends is not None else [f"{inner} + 1", inner]
        for further, new in enumerate(news):
            yield Offer("counted", spot, whole, new, "ahead", 0.3 * at + 1.0 * further)  # as many samples as there are


def _returned(spot: Spot) -> bool:
    return isinstance(spot.place.source.parent_of(spot.place.node), ast.Return)


def _sum_around(spot: Spot, node: ast.expr) -> ast.expr:
    """The widest sum or difference in which an expression stands first."""
    while True:
        parent = spot.place.source.parent_of(node)
        if (
            not isinstance(parent, ast.BinOp)
            or not isinstance(parent.op, (ast.Add, ast.Sub))
            or parent.left is not node
        ):
            return node
        node = parent


def _number_behind(node: ast.expr) -> int | None:
    """The number that ends a sum."""
    sums = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))
    value = getattr(node.right, "value", None) if sums and isinstance(node, ast.BinOp) else None
    return value if type(value) is int else None


def _within(spot: Spot, whole: ast.expr, inner: ast.expr, new: str) -> str:
    outer, old = text(spot, whole), text(spot, inner)
    return outer.replace(f"({old})", f"({new})", 1) if f"({old})" in outer else outer.replace(old, f"({new})", 1)


def _looked_ahead(spot: Spot) -> list[str]:
    """The fields that `__getitem__` adds to a place, and that `__len__` does not read."""
    source = spot.place.source
    owner = source.class_at(spot.place.span.line)
    getter = next((one for one in owner.body if getattr(one, "name", "") == "__getitem__"), None) if owner else None
    sums = [one for one in ast.walk(getter) if isinstance(one, ast.BinOp)] if getter is not None else []
    terms = [term for one in sums if isinstance(one.op, (ast.Add, ast.Sub)) for term in (one.left, one.right)]
    fields = [source.text(one) for one in terms if isinstance(one, ast.Attribute)]
    known = {source.text(one) for one in ast.walk(spot.place.node) if isinstance(one, ast.Attribute)}
    return [name for name in dict.fromkeys(fields) if name.startswith("self.") and name not in known]


def trimmed(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`return x` -> `return x[:self.n]` in a function that fills `x` up to `self.n`, and leaves a longer one."""
    function = spot.place.source.function_at(spot.place.span.line)
    if not _returned(spot) or function is None or not ragged(evidence):
        return
    for filled, wanted, dimension in _missing(spot, function):
        before = {0: "", 1: ":, ", 2: ":, :, ", -1: "..., "}.get(dimension)
        reads = [one for one in expressions(spot) if text(spot, one) == filled]
        if before is not None and len(reads) == 1:
            yield Offer("trimmed", spot, reads[0], f"{filled}[{before}:{wanted}]", "wanted", 0.0)


def _missing(spot: Spot, function: Function) -> Iterator[tuple[str, str, int]]:
    """What a function fills up, to which length, in which dimension: `n - len(x)` is missing."""
    nodes = list(ast.walk(function))
    if not any((isinstance(one, ast.Call) and called(one) in _FILLING) or _repeated(one) for one in nodes):
        return
    for one in nodes:
        if (
            isinstance(one, ast.BinOp)
            and isinstance(one.op, ast.Sub)
            and isinstance(one.left, (ast.Name, ast.Attribute))
        ):
            measured = _measured(one.right)
            if measured is not None:
                yield text(spot, measured[0]), text(spot, one.left), measured[1]


def _repeated(node: ast.AST) -> bool:
    """Whether a list is repeated: `[0] * missing`."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List)


def _measured(node: ast.expr) -> tuple[ast.expr, int] | None:
    """What an expression measures, and in which dimension: `len(x)`, `x.size(1)`, `x.shape[-1]`."""
    if isinstance(node, ast.Call) and called(node) == "len" and len(node.args) == 1:
        return node.args[0], 0
    shape = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if shape and isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        owner, dimension = node.value.value, _whole(node.slice)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("size", "numel"):
        owner, dimension = node.func.value, 0 if node.func.attr == "numel" else _whole(node.args[0])
    else:
        return None
    return (owner, dimension) if dimension is not None else None


def _whole(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None


def widened(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`return image, label` -> `return image.expand(3, -1, -1), label`: one channel among samples of three."""
    function = spot.place.source.function_at(spot.place.span.line)
    crash, count = evidence.crash, channels(evidence)
    if not _returned(spot) or getattr(function, "name", "") != "__getitem__" or crash is None or count is None:
        return
    kept = ", -1" * (len(crash.before[0][0]) - 1)
    for part in _parts(spot.place.node):
        place = spot.place.at(part)
        if not isinstance(part, ast.Constant):
            yield Offer("widened", spot, part, f"{as_primary(place)}.expand({count}{kept})", "channels", 0.0)


def _parts(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.Tuple, ast.List)):
        return node.elts
    return node.values if isinstance(node, ast.Dict) else [node] if isinstance(node, ast.expr) else []
