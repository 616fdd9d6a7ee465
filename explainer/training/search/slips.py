"""Edits of slips: operands and arguments the wrong way round, one too many, what is kept without a copy."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

from explainer.edits.imports import with_imports
from explainer.repair.atoms.common import number
from explainer.source import Source, called, loaded, of_self, stored, with_arguments
from explainer.training import hoisting, rewrite
from explainer.training.search.offer import Offer, leaving_out, replacing, within
from explainer.training.search.places import DRAWS, draws

#: Calls whose integer argument is a border or a distance: one more or less is another one.
_BORDERS = {"tril": "diagonal", "triu": "diagonal", "roll": "shifts"}
#: What weighs classes or samples, and may have to weigh them the other way round.
_WEIGHTS = ("weight", "weights", "pos_weight")
_WEIGHING = ("WeightedRandomSampler", "multinomial")
#: Statements that keep a value for later.
_KEEPING = ("append", "appendleft", "extend", "put", "push", "add")
#: What gives the names of files.
_LISTED = ("glob", "iglob", "rglob", "listdir", "iterdir", "scandir")
#: Functions of the program's own that others than it call.
_CALLED = ("forward", "__call__", "__init__", "__getitem__")


def slips(source: Source, statement: ast.AST) -> Iterator[Offer]:
    """All such edits of the expressions of a statement that ran."""
    for node in ast.walk(statement):
        if isinstance(node, ast.BinOp):
            yield from _operands(source, node)
            yield from _one_off(source, node)
        elif isinstance(node, ast.Call):
            yield from _borders(source, node)
            yield from _arguments(source, node)
            yield from _limits(source, node)
            yield from _plain_difference(source, node)
            yield from _passed_on(source, node)


def _passed_on(source: Source, call: ast.Call) -> Iterator[Offer]:
    """`z + (q - z).detach()` for `(z + (q - z)).detach()`: what is added goes without a gradient, no more."""
    whole = call.func.value if called(call) == "detach" and isinstance(call.func, ast.Attribute) else None
    if isinstance(whole, ast.BinOp) and isinstance(whole.op, (ast.Add, ast.Sub)):
        left, right = source.text(whole.left), rewrite.operand(source, whole.right)
        sign = "+" if isinstance(whole.op, ast.Add) else "-"
        yield replacing(source, call, f"{left} {sign} {right}.detach()", 0.3)


def conditions(source: Source, test: ast.expr) -> Iterator[Offer]:
    """A condition that is a plain value the other way round; a loop of one turn less or more, or from the start."""
    around = source.parent_of(test)
    if around is not None and hoisting.trains(source, around):
        return  # how long a training is
    if isinstance(test, (ast.Name, ast.Attribute)) and not isinstance(around, ast.For):
        yield replacing(source, test, f"not {source.text(test)}", 0.8)
    if not isinstance(test, ast.Call) or called(test) != "range":
        return
    for at, given in enumerate(test.args[:2]):
        value = number(given)
        if value is not None and (at or len(test.args) == 1):
            yield from (within(source, test, given, str(other), 0.9) for other in (value - 1, value + 1))
        elif value in (0, 1):
            yield within(source, test, given, str(1 - value), 0.8)


def prepared(source: Source, ran: set[int]) -> Iterator[Offer]:
    """Edits of what changes data before the training, `x = (x - mean) / std`: the names, the order, all of it."""
    for node in source.nodes():
        changes = isinstance(node, ast.Assign) and node.lineno not in ran and stored(node)
        if changes and not draws(source.function_at(node.lineno) or node) and stored(node) <= loaded(node.value):  # type: ignore[attr-defined]
            yield leaving_out(source, node, 0.9)  # type: ignore[arg-type]
            yield from slips(source, node)
            yield from together(source, [node])  # type: ignore[list-item]


def _operands(source: Source, node: ast.BinOp) -> Iterator[Offer]:
    """`b - a` for `a - b`, `b / a` for `a / b`."""
    sides = (node.left, node.right)
    if not isinstance(node.op, (ast.Sub, ast.Div)) or any(isinstance(one, ast.Constant) for one in sides):
        return
    sign, cost = ("-", 0.65) if isinstance(node.op, ast.Sub) else ("/", 0.95)
    one, other = (rewrite.operand(source, side) for side in sides)
    yield replacing(source, node, f"{other} {sign} {one}", cost)


def _one_off(source: Source, node: ast.BinOp) -> Iterator[Offer]:
    """`a` for `a + 1` and `a - 1` of whole numbers, and the other way round."""
    if isinstance(node.op, (ast.Add, ast.Sub)) and number(node.right) == 1:
        yield replacing(source, node, source.text(node.left), 0.7)


def _borders(source: Source, call: ast.Call) -> Iterator[Offer]:
    """A border one further, one nearer, or on the other side."""
    name = _BORDERS.get(called(call))
    place = 1 if not _of_value(call) else 0
    given = rewrite.argument(call, name, place) if name else None
    value = number(given) if given is not None else None
    if given is not None and value is not None:
        others = (value - 1, value + 1, -value) if name == "diagonal" else (-value,)
        for other in dict.fromkeys(one for one in others if one != value):
            yield within(source, call, given, str(other), 0.45)
    elif name == "diagonal" and given is None:
        for other in (1, -1):
            edits = rewrite.with_keyword(source, call, "diagonal", str(other))
            told = f"{source.text(call.func)}(..., diagonal={other})"
            yield Offer("replace", source, call, edits, told, 0.6)


def _of_value(call: ast.Call) -> bool:
    """Whether a call is a value's method: of a module's function the value is the first argument."""
    function = call.func
    return isinstance(function, ast.Attribute) and not (
        isinstance(function.value, ast.Name) and function.value.id in ("torch", "np", "F")
    )


def _limits(source: Source, call: ast.Call) -> Iterator[Offer]:
    """The other limit: `clamp(min=0)` for `clamp(max=0)`."""
    others = {"min": "max", "max": "min"}
    given = [one for one in call.keywords if one.arg in others]
    if called(call) in ("clamp", "clip", "clamp_") and len(given) == 1:
        rest = [source.text(one) for one in (*call.args, *call.keywords) if one is not given[0]]
        turned = f"{others[str(given[0].arg)]}={source.text(given[0].value)}"
        yield replacing(source, call, f"{source.text(call.func)}({', '.join([*rest, turned])})", 0.5)


def _plain_difference(source: Source, call: ast.Call) -> Iterator[Offer]:
    """The mean of a plain difference, in which those above and below make up for each other, as one of squares."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if called(call) in ("mean", "sum") and isinstance(owner, ast.BinOp) and isinstance(owner.op, ast.Sub):
        name = str(call.func.attr)  # type: ignore[attr-defined]
        rest = source.text(call)[len(source.text(call.func)) :]
        for size, cost in (("square", 0.5), ("abs", 0.6)):
            yield replacing(source, call, f"({source.text(owner)}).{size}().{name}{rest}", cost)


def _arguments(source: Source, call: ast.Call) -> Iterator[Offer]:
    """Two arguments next to each other that are plain values, in the place of each other."""
    given = call.args
    if len(given) < 2 or called(call) in DRAWS or any(isinstance(one, ast.Starred) for one in given):
        return
    for at, (one, other) in enumerate(itertools.pairwise(given)):
        if all(isinstance(each, (ast.Name, ast.Attribute, ast.Subscript)) for each in (one, other)):
            turned = (*given[:at], other, one, *given[at + 2 :], *call.keywords)
            yield replacing(source, call, with_arguments(source, call, turned), 0.75)


def weighing(source: Source, call: ast.Call) -> Iterator[Offer]:
    """Weights the other way round: what comes often weighs little."""
    for keyword in call.keywords:
        if keyword.arg in _WEIGHTS and isinstance(keyword.value, (ast.Name, ast.Attribute)):
            yield within(source, call, keyword.value, f"1 / {source.text(keyword.value)}", 0.6)
    if called(call) in _WEIGHING and call.args and isinstance(call.args[0], (ast.Name, ast.Attribute)):
        yield within(source, call, call.args[0], f"1 / {source.text(call.args[0])}", 0.6)


def kept(source: Source) -> Iterator[Offer]:
    """What is kept for later, or handed out, as a copy: its owner may go on changing it."""
    for node in source.nodes():
        if isinstance(node, ast.Call) and called(node) in _KEEPING and isinstance(node.func, ast.Attribute):
            values = [each for one in node.args for each in (one.elts if isinstance(one, ast.Tuple) else [one])]
            for value in values:
                if isinstance(value, (ast.Name, ast.Attribute)):
                    yield from _copied(source, value, 0.75)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Attribute):
            yield from _copied(source, node.value, 0.9)


def handed_out(source: Source) -> Iterator[Offer]:
    """What an object returns of its own and changes in place, `self.state += move`, returned as a copy everywhere."""
    for owner in source.nodes():
        nodes = list(ast.walk(owner)) if isinstance(owner, ast.ClassDef) else []
        given = [value for one in nodes if isinstance(one, ast.Return) for value in _parts(one.value) if of_self(value)]
        for text in dict.fromkeys(source.text(one) for one in given if source.text(one) in _in_place(source, nodes)):
            own = [one for one in given if source.text(one) == text]
            for copy in _copies(source, text):
                edits = rewrite.both(source, [(one, copy) for one in own])
                yield Offer("replace", source, own[0], edits, copy, 0.3, reason="shared")


def _parts(value: ast.expr | None) -> list[ast.expr]:
    return value.elts if isinstance(value, ast.Tuple) else [] if value is None else [value]


def _in_place(source: Source, nodes: Iterable[ast.AST]) -> list[str]:
    """What statements and calls write to in place: `x += 1`, `x[i] = 1`, `x.add_(1)`, `f(y, out=x)`."""
    found: list[ast.AST] = []
    for one in nodes:
        if isinstance(one, ast.AugAssign):
            found.append(one.target.value if isinstance(one.target, ast.Subscript) else one.target)
        elif isinstance(one, ast.Assign):
            found += [each.value for each in one.targets if isinstance(each, ast.Subscript)]
        elif isinstance(one, ast.Call):
            found += [word.value for word in one.keywords if word.arg == "out"]
            method = called(one)
            if method.endswith("_") and not method.startswith("_") and isinstance(one.func, ast.Attribute):
                found.append(one.func.value)
    return [source.text(one) for one in found]


def written_over(source: Source) -> Iterator[Offer]:
    """A copy of what a function is given, or takes a part of, before it writes to it: `x *= gain` changes its owner."""
    for function in source.nodes():
        if not isinstance(function, ast.FunctionDef):
            continue
        given = {one.arg for one in function.args.args} - {"self"}
        parts: dict[str, ast.expr] = {}
        for one in function.body:
            alone = one.value if isinstance(one, ast.Expr) else one
            name = next(iter(_in_place(source, [alone])), "")
            for copy in _copies(source, name) if name in given else ():
                edits, both = rewrite.before(source, one, f"{name} = {copy}"), f"{name} = {copy}; {source.text(one)}"
                yield Offer("replace", source, one, edits, both, 0.4, reason="shared")
            if name in parts:
                part = parts[name]
                yield from _copied(source, part, 0.35)
            given -= stored(one) | {name}
            parts = {key: value for key, value in parts.items() if key not in stored(one) and key != name}
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Subscript):
                parts |= {target.id: one.value for target in one.targets if isinstance(target, ast.Name)}


def another_name(source: Source) -> Iterator[Offer]:
    """`stage = base`, whose attributes are set then: a copy, since `base` is the same object under another name."""
    for function in source.nodes():
        if not isinstance(function, ast.FunctionDef):
            continue
        for one in ast.walk(function):
            named = isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
            if named and isinstance(one.value, (ast.Name, ast.Attribute)) and _changes(function, one.targets[0].id):  # type: ignore[union-attr, attr-defined]
                offer = replacing(source, one.value, f"copy.copy({source.text(one.value)})", 0.35)  # type: ignore[attr-defined]
                yield replace(offer, edits=with_imports(source, offer.edits), reason="shared")


def _changes(function: ast.FunctionDef, name: str) -> bool:
    """Whether a function sets attributes of what it knows by a name."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is(node.value, name):
            return True
        if isinstance(node, ast.Call) and called(node) == "setattr" and node.args and _is(node.args[0], name):
            return True
    return False


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def by_number(source: Source) -> Iterator[Offer]:
    """Names of files in the order of their numbers: as texts, `tile_10` comes before `tile_2`."""
    for node in source.nodes():
        names = isinstance(node, ast.Call) and called(node) == "sorted" and len(node.args) == 1 and not node.keywords
        read = [called(one) for one in ast.walk(node) if isinstance(one, ast.Call)] if names else []
        if names and set(read) & set(_LISTED):
            new = f"sorted({source.text(node.args[0])}, key=lambda one: (len(str(one)), str(one)))"  # type: ignore[attr-defined]
            yield replace(replacing(source, node, new, 0.3), reason="as-text")


def fitted(source: Source) -> Iterator[Offer]:
    """What a first call has fitted, handed to a later one that fits its own and drops it: `test, _ = encode(rows)`.

    `scaler.transform(test)` for a second `scaler.fit_transform(test)`: what was fitted before is used.
    """
    yield from _refitted(source)
    found: dict[str, tuple[ast.Assign, list[str]]] = {}
    for node in source.nodes():
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        call = getattr(node, "value", None)
        if not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call) or not isinstance(node, ast.Assign):
            continue
        names = [source.text(one) for one in target.elts]
        first = found.setdefault(called(call), (node, names))
        if first[0] is node or len(names) != len(first[1]):
            continue
        for dropped, kept in zip(names, first[1], strict=True):
            if dropped.startswith("_") and not kept.startswith("_"):
                new = source.text(call)[:-1].rstrip(", ")
                yield replace(replacing(source, call, f"{new}, {kept})", 0.3), reason="fitted")


def _refitted(source: Source) -> Iterator[Offer]:
    known: set[tuple[ast.AST, str]] = set()
    calls = [one for one in source.nodes() if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)]
    for call in sorted(calls, key=lambda one: (one.lineno, one.col_offset)):
        owner = source.scope_at(call.lineno), source.text(call.func.value)  # type: ignore[attr-defined]
        if called(call) == "fit_transform" and owner in known:
            new = f"{owner[1]}.transform"
            yield replace(replacing(source, call.func, new, 0.3), reason="refitted", about=owner[1])
        if called(call) in ("fit", "fit_transform"):
            known.add(owner)


def _copied(source: Source, value: ast.expr, cost: float) -> Iterator[Offer]:
    for new in _copies(source, source.text(value)):
        yield replace(replacing(source, value, new, cost), reason="shared")


def _copies(source: Source, text: str) -> Iterator[str]:
    arrays = any(isinstance(one, ast.alias) and one.name == "numpy" for one in source.nodes())
    yield from (f"{text}.{method}()" for method in (("copy",) if arrays else ()) + ("clone",))


def in_order(source: Source, ran: list[ast.stmt]) -> Iterator[Offer]:
    """Two statements next to each other the other way round, where the second reads what the first has changed."""
    lines = {one.lineno for one in ran}
    for body in (getattr(node, "body", ()) for node in source.nodes()):
        for one, other in itertools.pairwise(body if isinstance(body, list) else ()):
            simple = all(isinstance(each, (ast.Assign, ast.AugAssign, ast.Expr)) for each in (one, other))
            if not simple or not (_rewrites(one) == _rewrites(other) != "" or lines & {one.lineno, other.lineno}):
                continue
            changed = stored(one) & loaded(other)
            known = loaded(one) | _bound_before(source, one)
            if changed and changed <= known:
                yield Offer("move", source, other, rewrite.moved(source, other, one, False), source.text(other), 0.95)


def _rewrites(statement: ast.stmt) -> str:
    """The name that a statement gives a new value made from its old one: `ids = [i for i in ids if i]`."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) and target.id in loaded(statement) else ""


def _bound_before(source: Source, statement: ast.stmt) -> set[str]:
    """The names that a loop around a statement finds bound: it carries their values on."""
    loop = rewrite.loop_around(source, statement)
    body = getattr(source.scope_at(statement.lineno), "body", ()) if loop is not None else ()
    return {name for one in body if isinstance(one, ast.Assign) and one.lineno < loop.lineno for name in stored(one)}


def shifted(source: Source, statement: ast.stmt) -> Iterator[Offer]:
    """`[:, :-1]` and `[:, 1:]` in the place of each other, all over a statement: a shift the other way."""
    found = [(one, source.text(one).replace(" ", "")) for one in ast.walk(statement) if isinstance(one, ast.Slice)]
    pairs = [(one, "1:" if text == ":-1" else ":-1") for one, text in found if text in (":-1", "1:")]
    if len({new for _, new in pairs}) == 2:
        text = source.text(statement)
        told = text.replace(":-1", "\0").replace("1:", ":-1").replace("\0", "1:")
        yield Offer("replace", source, statement, rewrite.both(source, pairs), told, 0.5)


def exchanged(source: Source, ran: list[ast.stmt]) -> Iterator[Offer]:
    """Two names that are bound together, the first as the second: `for average, weight in zip(...)`."""
    lines = {one.lineno for one in ran}
    for node in source.nodes():
        target = node.target if isinstance(node, ast.For) else node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            continue
        inside: list[ast.stmt] = node.body if isinstance(node, ast.For) else [node]  # type: ignore[list-item]
        if lines & {one.lineno for one in inside} and all(isinstance(one, ast.Name) for one in target.elts):
            first, second = map(source.text, target.elts)
            yield replacing(source, target, f"{second}, {first}", 0.7)


def together(source: Source, ran: list[ast.stmt]) -> Iterator[Offer]:
    """One of the names that are bound together in the place of another of them: `logits, values = ...`."""
    for statement in ran:
        rows = _rows(source, statement)
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                for row in rows:
                    if node.id in row:
                        yield from (replacing(source, node, one, 1.05) for one in row if one != node.id)


def _rows(source: Source, statement: ast.stmt) -> list[list[str]]:
    """The names of each assignment of several at once before a statement, in its scope."""
    found = []
    for node in ast.walk(source.scope_at(statement.lineno)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.For) else []
        for target in targets:
            if isinstance(target, ast.Tuple) and target.lineno < statement.lineno:
                names = [one.id for one in target.elts if isinstance(one, ast.Name) and one.id != "_"]
                found += [names] if 1 < len(names) < 5 else []
    return found
