"""Whole statements: one left out, two neighbours in the other order, one behind what adjusts a value that it reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from explainer.bindings import KEEPING
from explainer.edits.evidence import Evidence
from explainer.repair.atoms.arguments import replaced
from explainer.repair.atoms.calls import TURNS
from explainer.repair.atoms.common import row_of
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot, statement_around
from explainer.source import called, holds, loaded, names_in, of_self, stored, walked

#: What it is worth that two statements rewrite one name, step by step.
_CHAINED = 0.6
#: How many statements a statement is brought past.
_PAST = 3
_HOOKING = (
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_module_forward_hook",
    "register_hook",
    "register_post_accumulate_grad_hook",
)
_MOVABLE = (ast.Assign, ast.Expr, ast.AugAssign)
#: What leaves a block: a statement does not go past one that may.
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Yield)


def statement(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`x = x.mean(1)` left out, where `x` is there without it."""
    if spot.role not in ("crash", "slice", "bound", "caller"):
        return
    node = statement_around(spot.place)
    if not isinstance(node, ast.Assign) or not stored(node) or not stored(node) <= loaded(node):
        return
    if isinstance(node.value, ast.Call) and called(node.value) in TURNS:  # all else has an effect
        yield Offer("statement", spot, node, "pass", "left out", 1.3)


def unreturned(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`return self.maps[name]` of a hook left out: what a hook hands back takes the place of the layer's own output."""
    node = statement_around(spot.place)
    function = spot.place.source.function_at(spot.place.line)
    if spot.role == "returned" and isinstance(node, ast.Return) and isinstance(function, ast.FunctionDef):
        last = node is function.body[-1] and len(function.body) > 1
        if last and _is_hook(function, spot, evidence):  # torch calls it, not the program
            yield Offer("unreturned", spot, node, "pass", "left out")


def _is_hook(function: ast.FunctionDef, spot: Spot, evidence: Evidence) -> bool:
    """Whether a function, the one that makes it, or a lambda that calls it is registered as a hook."""
    names = {function.name}
    maker = spot.place.source.parent_of(function)
    names |= {maker.name} if isinstance(maker, ast.FunctionDef) else set()
    given = (call.node for name in _HOOKING for call in evidence.calls_of(name))
    read = (one for node in given for one in names_in(node))
    return bool(names & {getattr(one, "attr", None) or getattr(one, "id", None) for one in read})


def order(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`ema = Copy(net); net.head = new` -> `net.head = new; ema = Copy(net)`: a statement after those behind it.

    It calls something, and they touch an object that it names; neither reads what the other binds.
    """
    node = statement_around(spot.place)
    movable = isinstance(node, _MOVABLE) and spot.role != "built"
    block = spot.place.source.block_of(node) if movable else []
    counts = isinstance(node, ast.AugAssign)
    if not block or not (counts or any(isinstance(one, ast.Call) for one in walked(node))):  # type: ignore[arg-type]
        return
    at = next(k for k, one in enumerate(block) if one is node)
    failing = {frame.place.line for frame in evidence.frames
               if frame.place.source.file == spot.place.source.file}  # fmt: skip
    within = "inplace operation" in evidence.message  # elsewhere, what comes after the crash cannot have caused it
    for past in range(1, _PAST + 1):
        down, up = block[at : at + past + 1], block[max(0, at - past) : at + 1]
        if within or not any(holds(one, line) for one in down for line in failing):
            yield from _moved(spot, down, 0.2 * past, within=within)
        if past <= at:
            yield from _moved(spot, up, 0.2 * past, up=True)


def earlier(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`x = pool(conv(x)); kept.append(x)` -> `x = conv(x); kept.append(x); x = pool(x)`: kept before the outer call."""
    node, source = statement_around(spot.place), spot.place.source
    call = node.value if isinstance(node, ast.Assign) else None
    inner = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords else None
    if not isinstance(node, ast.Assign) or not isinstance(call, ast.Call) or not isinstance(inner, ast.Call):
        return
    block, name = source.block_of(node), source.text(node.targets[0])
    behind = [one for one in block if one.lineno > node.lineno][:1]
    if any(name in map(source.text, _put_away(one)) for one in behind):
        kept = source.text(behind[0])
        rows = (f"{name} = {source.text(inner)}", kept, f"{name} = {source.text(call.func)}({name})")
        whole = f"\n{' ' * node.col_offset}".join(rows)
        yield Offer("earlier", spot, row_of([node, *behind]), whole, "kept", 0.0, node)


def adjusted(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`self.a = A(n); if m < n: self.n = m` -> behind it, `self.a = A(self.n)`: a value is read before it is right.

    `mask = pad(n, x.size(1)); y, m = front(x, n)` -> behind it, `mask = pad(m, y.size(1))`; `widths.append(n); n = m`
    -> behind it.
    """
    node, source = statement_around(spot.place), spot.place.source
    block = source.block_of(node) if isinstance(node, (ast.Assign, ast.Expr)) else []
    at = next((k for k, one in enumerate(block) if one is node), 0)
    kept = dict(pair for one in block[:at] for pair in _kept(one))
    for last in range(at + 1, min(at + 1 + _PAST, len(block))):
        row = block[at : last + 1]
        given = _given(row[-1])
        anew = isinstance(row[-1], ast.If) or (last == at + 1 and bool(_put_away(node)))
        right = {**(dict.fromkeys(given, "") if anew else {}), **kept, **_renewed(row[-1])}
        changes = [(one, right[one.id] or one.id) for one in walked(node)
                   if isinstance(one, ast.Name) and one.id in right and (right[one.id] or one.id) in given]  # fmt: skip
        touched = {ast.unparse(one) for other in row[1:] for one in names_in(other)}
        if changes and isinstance(row[-1], (ast.If, ast.Assign)) and not _given(node) & touched:
            pieces = [*map(source.text, row[1:]), replaced(spot, node, changes)]
            head = " " * node.col_offset
            yield Offer("adjusted", spot, row_of(row), f"\n{head}".join(pieces), "behind", 0.2 * (last - at), node)


def _put_away(node: ast.AST) -> list[ast.expr]:
    """What a statement puts into a container: `n` of `widths.append(n)`."""
    call = node.value if isinstance(node, ast.Expr) else None
    return call.args if isinstance(call, ast.Call) and called(call) in KEEPING else []


def _kept(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """The names that a statement keeps in attributes of `self`, with these: `self.a, self.b = a, b`."""
    for target in statement.targets if isinstance(statement, ast.Assign) else ():
        value = statement.value  # type: ignore[attr-defined]
        both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        for one, other in zip(target.elts, value.elts) if both else [(target, value)]:  # type: ignore[attr-defined]  # noqa: B905
            if of_self(one) and isinstance(other, ast.Name):
                yield other.id, ast.unparse(one)


def _renewed(statement: ast.stmt) -> dict[str, str]:
    """What a call gives back for each name that it is given, where it gives back as many values: empty for the same."""
    value, targets = (statement.value, statement.targets) if isinstance(statement, ast.Assign) else (None, [])
    args = value.args if isinstance(value, ast.Call) else []
    made = targets[0].elts if targets and isinstance(targets[0], ast.Tuple) else targets
    pairs = list(zip(args, made)) if len(made) in (1, len(args)) else []  # noqa: B905
    return {one.id: "" if one.id == other.id else other.id for one, other in pairs
            if isinstance(one, ast.Name) and isinstance(other, ast.Name)}  # fmt: skip


def _given(statement: ast.stmt) -> set[str]:
    """The names and attributes to which a statement gives values."""
    return {ast.unparse(one) for one in names_in(statement) if isinstance(one.ctx, ast.Store)}  # type: ignore[attr-defined]


def _moved(
    spot: Spot, row: Sequence[ast.stmt], weight: float, up: bool = False, within: bool = False
) -> Iterator[Offer]:
    """The first of some statements brought behind the others, or the last before them, where both may stand so."""
    one, others = (row[-1], row[:-1]) if up else (row[0], row[1:])
    shared = within or (others and _shared(one, others[0 if up else -1]))
    if not shared or not all(_exchangeable(one, other) for other in others):
        return
    if _untrains([one, *others] if up else [*others, one], row):
        return
    source, head = spot.place.source, " " * row[0].col_offset
    pieces = [source.text(each) for each in ([one, *others] if up else [*others, one])]
    weight -= _CHAINED if any(_rewrites(one) & _rewrites(other) for other in others) else 0.0
    yield Offer("order", spot, row_of(row), f"\n{head}".join(pieces), "neighbour", weight, one)


def _untrains(new: Sequence[ast.stmt], old: Sequence[ast.stmt]) -> bool:
    """Whether a step would come before the backward whose gradients it takes."""
    calls = {id(one): {called(node) for node in walked(one) if isinstance(node, ast.Call)} for one in old}
    steps = [one for one in old if "step" in calls[id(one)]]
    backwards = [one for one in old if "backward" in calls[id(one)]]
    places = {id(one): at for at, one in enumerate(new)}, {id(one): at for at, one in enumerate(old)}
    pairs = [(places[0][id(b)] < places[0][id(s)], places[1][id(b)] < places[1][id(s)])
             for b in backwards for s in steps]  # fmt: skip
    return any(before and not after for after, before in pairs)


def _exchangeable(one: ast.stmt, other: ast.stmt) -> bool:
    """Whether two statements may stand in the other order: what one counts on is there before and after."""
    stays = isinstance(other, ast.If) and not any(isinstance(node, _LEAVING) for node in walked(other))
    if not isinstance(other, _MOVABLE) and not stays:
        return False
    rewritten = _rewrites(one) & _rewrites(other)
    first, second = _binds(one) - rewritten, _binds(other) - rewritten
    return not first & (loaded(other) | stored(other)) and not second & (loaded(one) | stored(one))


def _rewrites(node: ast.stmt) -> set[str]:
    """The names to which a statement gives values made of those that they had: `k = f(k)`."""
    return stored(node) & loaded(node) if isinstance(node, ast.Assign) else set()


def _binds(node: ast.stmt) -> set[str]:
    return set() if isinstance(node, ast.AugAssign) else stored(node)


def _shared(one: ast.stmt, other: ast.stmt) -> set[str]:
    """The objects that two statements name, one of which calls something with it."""
    calls = any(isinstance(node, (ast.Call, ast.AugAssign)) for node in walked(other))
    return _objects(one) & _objects(other) if calls else set()


def _objects(node: ast.stmt) -> set[str]:
    """The names and attributes that a statement reads, functions' own names left out."""
    called = {id(one.func) for one in walked(node) if isinstance(one, ast.Call)}
    names = {one.id for one in walked(node) if isinstance(one, ast.Name) and id(one) not in called}
    return names - {"torch", "nn", "F", "np"}
