"""What samples of one size lack: a horizon that `__len__` leaves out, room behind a draw, a pair for one side."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import channels, ragged
from explainer.edits.place import as_primary
from explainer.repair.atoms.arguments import replaced
from explainer.repair.atoms.common import (
    bound_below,
    calls,
    expressions,
    parts,
    returned,
    tensors,
    text,
    wanted,
    whole_number,
)
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import Function, called, walked

_Comprehension = ast.ListComp | ast.GeneratorExp | ast.SetComp
#: What draws a whole number at random.
_DRAWS = ("randint", "randrange")


def counted(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`len(self.rows) - self.past` -> `len(self.rows) - self.past - self.ahead`, where samples reach that far.

    As what `__len__` returns, or as the end of a range of starts.
    """
    whole = spot.place.node
    if not isinstance(whole, ast.expr) or not (_length(spot) or _end(spot)):
        return
    length = next((one for one in calls(spot) if called(one) == "len" and _sliced(spot, one)), None)
    if length is None:
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
        news = news[:1] if _sliced_to(spot, name) else news
        for further, new in enumerate(news):  # as many samples as there are
            yield Offer("counted", spot, whole, new, "ahead", 0.3 * at + 1.0 * further)


def subset(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`weights_of(labels)` -> `weights_of(labels[indices])`: those that were chosen, where all are given."""
    wide, sizes = tensors(spot), wanted(evidence)
    rows = {name[4:-1]: size for name, size in spot.scope.items() if name.startswith("len(") and type(size) is int}
    rows |= {name: shape[0] for name, shape in wide.items() if len(shape) == 1}
    below = bound_below(spot.place.source, spot.place.line)
    for call in calls(spot):
        given = {text(spot, one) for one in call.args}  # none of which says what is taken of another
        for node in call.args:
            whole = (wide.get(node.id) or [0])[0] if isinstance(node, ast.Name) else 0
            chosen = (name for name, size in rows.items() if 0 < size < whole and (evidence.loading or size in sizes))
            for at, name in enumerate(one for one in chosen if one.isidentifier() and one not in below | given):
                yield Offer("subset", spot, node, f"{text(spot, node)}[{name}]", "chosen", 0.1 * at)


def filtered(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`sum(one.width for one in parts if one.plain)` -> `sum(one.width for one in parts)`: all of them."""
    for node, row in _comprehensions(spot):
        if len(row.ifs) == 1:
            whole, behind = text(spot, node), text(spot, row.iter)
            end = whole.rfind(text(spot, row.ifs[0])) + len(text(spot, row.ifs[0]))
            head = whole[: whole.index(behind, whole.index(" in ")) + len(behind)]
            yield Offer("filtered", spot, node, head + whole[end:], "all")


def nonempty(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`[(s[:-1], s[-1]) for s in rows]` -> `... if len(s) > 1]`, where one was empty as others were not."""
    for node, row in _comprehensions(spot) if _empty_here(spot, evidence) else ():
        least = _cut_from(node, row) if not row.ifs else None
        if least is not None:
            whole, name = text(spot, node), text(spot, row.target)
            yield Offer("nonempty", spot, node, f"{whole[:-1]} if len({name}) > {least}{whole[-1]}", "long enough")


def _comprehensions(spot: Spot) -> Iterator[tuple[_Comprehension, ast.comprehension]]:
    for node in expressions(spot):
        if isinstance(node, _Comprehension) and len(node.generators) == 1:
            yield node, node.generators[0]


def _empty_here(spot: Spot, evidence: Evidence) -> bool:
    """Whether a call at a place's line made something empty, and mostly something that is not."""
    line = spot.place.source.file, spot.place.line
    odd = [one for one in evidence.steps if one.unlike is not None and 0 in one.shape and one.place is not None]
    return any(0 not in one.unlike.shape and line == (one.place.source.file, one.place.line) for one in odd)  # type: ignore[union-attr]


def _cut_from(node: _Comprehension, row: ast.comprehension) -> int | None:
    """How many entries are cut off what a comprehension goes through: of no more than those nothing is left."""
    cuts = [one for one in walked(node.elt) if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Slice)
            and isinstance(row.target, ast.Name) and ast.unparse(one.value) == row.target.id]  # fmt: skip
    ends = [(one.slice.lower, one.slice.upper) for one in cuts]  # type: ignore[attr-defined]
    numbers = [
        whole_number(lower) if upper is None else -(whole_number(upper) or 0)
        for lower, upper in ends
        if not lower or not upper
    ]
    return max((one for one in numbers if one is not None and one > 0), default=None)


def _sliced_to(spot: Spot, name: str) -> bool:
    """Whether a slice ends at a sum with a field: what it ends at is not read, and one sample more is whole."""
    source, getter = spot.place.source, _getter(spot)
    nodes = list(walked(getter)) if getter is not None else []
    ends = [one.upper for one in nodes if isinstance(one, ast.Slice) and one.upper is not None]
    bound = {end.id for end in ends if isinstance(end, ast.Name)}
    ends += [
        one.value for one in nodes if isinstance(one, ast.Assign) and bound & {source.text(t) for t in one.targets}
    ]
    fields = [one for end in ends for one in walked(end) if isinstance(one, ast.Attribute)]
    return any(_last(spot, one) == name.rpartition(".")[2] for one in fields)


def _length(spot: Spot) -> bool:
    function = spot.place.source.function_at(spot.place.line)
    return returned(spot) and getattr(function, "name", "") == "__len__"


def _end(spot: Spot) -> bool:
    """Whether an expression is where a range ends."""
    parent = spot.place.source.parent_of(spot.place.node)
    given = parent.args if isinstance(parent, ast.Call) and called(parent) == "range" else []
    return spot.place.node in given[:2] and spot.place.node is given[min(1, len(given) - 1)]


def _sliced(spot: Spot, length: ast.Call) -> bool:
    """Whether it is the length of what `__getitem__` cuts its samples out of."""
    nodes = walked(_getter(spot) or ast.Module([], []))
    cut = {_last(spot, one.value) for one in nodes if isinstance(one, ast.Subscript) and _holds_slice(one)}
    return len(length.args) == 1 and _last(spot, length.args[0]) in cut


def _holds_slice(node: ast.Subscript) -> bool:
    return any(isinstance(one, ast.Slice) for one in walked(node.slice))


def _last(spot: Spot, node: ast.AST) -> str:
    """`rows` of `self.rows` and of `rows`, which a constructor is given for it."""
    return text(spot, node).rpartition(".")[2]


def _getter(spot: Spot) -> ast.AST | None:
    owner = spot.place.source.class_at(spot.place.line)
    return next((one for one in owner.body if getattr(one, "name", "") == "__getitem__"), None) if owner else None


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
    """The fields that `__getitem__` adds to a place or counts to and an expression lacks, as they are named there."""
    source, getter = spot.place.source, _getter(spot)
    function = source.function_at(spot.place.line)
    given = {one.arg for one in walked(function.args) if isinstance(one, ast.arg)} if function is not None else set()
    sums = [one for one in walked(getter) if isinstance(one, ast.BinOp)] if getter is not None else []
    terms = [term for one in sums if isinstance(one.op, (ast.Add, ast.Sub)) for term in (one.left, one.right)]
    ranges = [one for one in walked(getter) if isinstance(one, ast.Call)] if getter is not None else []
    terms += [end for one in ranges if called(one) == "range" for end in one.args]
    fields = [*(source.text(one) for one in terms if isinstance(one, ast.Attribute)), *_unread(spot)]
    known = {_last(spot, one) for one in walked(spot.place.node) if isinstance(one, (ast.Attribute, ast.Name))}
    lacking = [
        name for name in dict.fromkeys(fields) if name.startswith("self.") and name.rpartition(".")[2] not in known
    ]
    return [name[5:] if name[5:] in given else name for name in lacking]


def _unread(spot: Spot) -> Iterator[str]:
    """The fields that a class fills and its file reads nowhere: `self.horizon`, which was computed for something."""
    source = spot.place.source
    owner = source.class_at(spot.place.line)
    fields = [one for one in source.nodes() if isinstance(one, ast.Attribute)]
    read = {one.attr for one in fields if isinstance(one.ctx, ast.Load)}
    for one in walked(owner) if owner is not None else ():
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and one.attr not in read:
            yield source.text(one)


def started(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`at = randint(0, n)` -> `at = randint(0, n - self.size + 1)`, where `x[at:at + self.size]` is cut out.

    All such draws of a function at once: those of the rows and of the columns.
    """
    function = spot.place.source.function_at(spot.place.line)
    drawn = isinstance(spot.place.node, ast.Call) and called(spot.place.node) in _DRAWS
    if not ragged(evidence) or function is None or not drawn:
        return
    found = [(one, *room) for one in function.body for room in _room(spot, function, one)]
    if found and all(isinstance(one, ast.Assign) for one in function.body[: function.body.index(found[-1][0])]):
        first, last = found[0][0], found[-1][0]
        row = ast.Module([one for one in function.body if first.lineno <= one.lineno <= last.lineno], [])
        row.lineno, row.col_offset = first.lineno, first.col_offset  # type: ignore[attr-defined]
        row.end_lineno, row.end_col_offset = last.end_lineno, last.end_col_offset  # type: ignore[attr-defined]
        yield Offer("started", spot, row, replaced(spot, row, [(limit, new) for _, limit, new in found]), "room")


def _room(spot: Spot, function: Function, statement: ast.stmt) -> Iterator[tuple[ast.expr, str]]:
    """The end of a draw by which a statement binds where something is cut out, and what leaves room for all of it."""
    names = {text(spot, one) for one in statement.targets} if isinstance(statement, ast.Assign) else set()
    draws = [one for one in walked(statement) if isinstance(one, ast.Call) and called(one) in _DRAWS and one.args]
    ends = [one.upper for one in walked(function) if isinstance(one, ast.Slice) and isinstance(one.upper, ast.BinOp)]
    for draw in draws[:1] if names else ():
        limit = draw.args[1] if len(draw.args) > 1 and not isinstance(draw.args[1], ast.Tuple) else draw.args[0]
        further = "" if ast.unparse(draw.func) in ("random.randint", "randint") else " + 1"
        for end in ends:
            if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Add) and text(spot, end.left) in names:
                yield limit, f"{text(spot, limit)} - {text(spot, end.right)}{further}"
                return


def widened(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`return image, label` -> `return image.expand(3, -1, -1), label`: one channel among samples of three."""
    function = spot.place.source.function_at(spot.place.line)
    crash, count = evidence.crash, channels(evidence)
    if not returned(spot) or getattr(function, "name", "") != "__getitem__" or crash is None or count is None:
        return
    kept = ", -1" * (len(crash.before[0][0]) - 1)
    for part in parts(spot.place.node):
        place = spot.place.at(part)
        if not isinstance(part, ast.Constant):
            yield Offer("widened", spot, part, f"{as_primary(place)}.expand({count}{kept})", "channels", 0.0)
