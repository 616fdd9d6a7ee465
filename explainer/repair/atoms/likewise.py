"""What is done with an object elsewhere, and is not done here: before a function gets it, and how it is made."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping

from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.repair.atoms.arguments import parameters_at
from explainer.repair.atoms.common import bound_below, calls, integers, row_of, tensors
from explainer.repair.offer import Offer
from explainer.repair.siblings import alike, renamed
from explainer.repair.spots import Spot, statement_around
from explainer.source import Source, called, loaded, of_self, stored, walked

#: How many statements above a call are looked at, and how many calls of one function.
_ABOVE, _CALLS = 6, 4
_BUILTIN = frozenset(dir(builtins))
_WORD = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*")


def likewise(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`opt = build(net)` -> `freeze(net); opt = build(net)`, as it stands where another `build` works.

    So with what is called itself, too: `net.reset()` before a loop of `net(x)`; and what is done with the value of a
    statement beside, `self.ids = tensor(ids)` -> `tensor(ids) - 1` beside `self.users = tensor(users) - 1`.
    """
    yield from _as_beside(spot)
    statement = statement_around(spot.place)
    for call in calls(spot) if isinstance(statement, ast.stmt) else ():
        own = isinstance(call.func, ast.Name) and not evidence.defined(called(call))
        others = evidence.calls_of(called(call)) if own or evidence.defined(called(call)) else []
        for other in others[:_CALLS]:
            if other.node is not call and isinstance(other.node, ast.Call) and other.source is spot.place.source:
                names = {called(call): called(call)} if own else _given_for(call, other.node)
                yield from _done(spot, _outermost(spot.place.source, statement), names, other)


def _as_beside(spot: Spot) -> Iterator[Offer]:
    """What a statement binds, with what the statement before or behind it does with the like on top of that."""
    source = spot.place.source
    own = statement_around(spot.place)
    if not isinstance(own, ast.Assign) or not isinstance(own.value, (ast.Call, ast.BinOp)) or spot.role == "given":
        return
    body: list[ast.stmt] = source.block_of(own)
    at = body.index(own) if own in body else 0
    for other in [one for one in body[max(at - 1, 0) : at + 2] if isinstance(one, ast.Assign) and one is not own]:
        found = _more(own.value, other.value)
        if found is not None:
            node, whole, inner = found
            new = source.text(whole).replace(source.text(inner), source.text(node), 1)
            yield Offer("likewise", spot, node, new, "beside")


def _more(own: ast.AST, other: ast.AST) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """The part of an expression with whose like another one, else the same but for names, does something: `+ 1`."""
    inner = _inside(other) if isinstance(other, ast.expr) else None
    if inner is not None and isinstance(own, ast.expr) and alike(inner, own):
        return own, other, inner  # type: ignore[return-value]
    parts, others = list(ast.iter_child_nodes(own)), list(ast.iter_child_nodes(other))
    if type(own) is not type(other) or len(parts) != len(others):
        return None
    apart = [pair for pair in zip(parts, others, strict=True) if not alike(*pair)]
    return _more(*apart[0]) if len(apart) == 1 else None


def _inside(node: ast.expr) -> ast.expr | None:
    """What is done something with: `tensor(a)` of `tensor(a) - 1` and of `tensor(a).float()`; of no other values."""
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
        return node.left
    call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call)
    if call and all(isinstance(one, ast.Constant) for one in node.args):  # type: ignore[attr-defined]
        return node.func.value  # type: ignore[attr-defined,no-any-return]
    return None


def alongside(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`x = x[keep]` -> `x = x[keep]; z = z[keep]`, where `z` has the rows that `x` had: they are of the same things.

    So where rows come twice, or `n` are added: `edges = both_ways(edges)` -> and then `w = torch.cat([w, w])`.
    """
    source, statement = spot.place.source, statement_around(spot.place)
    known = tensors(spot)
    if not isinstance(statement, ast.Assign) or not stored(statement) & loaded(statement):
        return
    below = {name for one in source.block_of(statement) if one.lineno > statement.lineno for name in loaded(one)}
    for name in sorted(below & known.keys() - loaded(statement) - bound_below(source, statement.lineno)):
        rows = known[name][0] if known[name] else 0
        for text in _in_step(spot, statement, name, rows) if rows in evidence.said else ():
            lines = f"{source.text(statement)}\n{' ' * statement.col_offset}{text}"
            yield Offer("alongside", spot, row_of([statement]), lines, "rows", 0.0, statement)


def _in_step(spot: Spot, statement: ast.Assign, name: str, rows: int) -> Iterator[str]:
    """What makes rows as many as those that a statement has given other names, in the same way."""
    known = tensors(spot)
    values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
    kept = {ast.unparse(one.slice) for one in values if isinstance(one, ast.Subscript)}
    yield from (f"{name} = {name}[{mask}]" for mask in sorted(kept) if known.get(mask) == [rows])
    grown = {size for one in stored(statement) for size in known.get(one, ())}
    if not isinstance(statement.value, ast.Call) or "torch" not in spot.place.source.imported:
        return
    if 2 * rows in grown:
        yield f"{name} = torch.cat([{name}, {name}])"
    more = {size - rows for size in grown} & set(integers(spot).values())
    for text in [text for text, value in integers(spot).items() if value in more and value != rows]:
        yield f"{name} = torch.cat([{name}, {name}.new_ones({', '.join([text, *map(str, known[name][1:])])})])"


def rebound(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`opt = AdamW(net.parameters())` -> `opt = build(net)`, as another function of the program makes `opt`.

    Or as a function makes it that the program calls elsewhere, with what is called as its parameters are.
    """
    source, made = spot.place.source, spot.place.node
    own = source.parent_of(made)
    if not isinstance(made, ast.Call) or not isinstance(own, ast.Assign) or own.value is not made:
        return
    if spot.role == "caller":  # then what failed would not be called
        return
    offered, owner = {source.text(made)}, source.class_at(made.lineno) if of_self(own.targets[0]) else None
    for other, node in _makings(evidence, source.text(own.targets[0])):
        text = other.text(node)
        if owner is not None and other.class_at(node.lineno) is not owner:  # two classes may well have parts called so
            continue
        named = loaded(node) - {word for told in spot.scope for word in _WORD.findall(told)} - _BUILTIN
        if text not in offered and _there(source, named):
            offered.add(text)
            yield Offer("rebound", spot, made, text, "elsewhere")
    for maker in _makers(spot, evidence, called(made)):
        call, imports = _call_here(spot, evidence, maker)
        if call and call not in offered:
            yield Offer("rebound", spot, made, call, "maker", imports=imports)


def _makers(spot: Spot, evidence: Evidence, name: str) -> list[Place]:
    """The functions of the program, called elsewhere, that hand back what a class (or function) makes."""
    own = spot.place.source.function_at(spot.place.line)
    functions = ((source, one) for source in evidence.sources_seen() if source.tree for one in source.tree.body)
    return [Place(source, one) for source, one in functions
            if isinstance(one, ast.FunctionDef) and one is not own and evidence.calls_of(one.name)
            and any(called(each) == name for each in _handed_back(one))]  # fmt: skip


def _handed_back(function: ast.FunctionDef) -> list[ast.Call]:
    """The calls whose results a function hands back, by a name or without."""
    values = [one.value for one in walked(function) if isinstance(one, ast.Return)]
    names = {one.id for one in values if isinstance(one, ast.Name)}
    bound = [one.value for one in walked(function) if isinstance(one, ast.Assign) and stored(one) & names]
    return [one for one in [*values, *bound] if isinstance(one, ast.Call)]


def _call_here(spot: Spot, evidence: Evidence, maker: Place) -> tuple[str, tuple[str, ...]]:
    """The call of a function with what has its parameters' names at a place, and the import it needs; else nothing."""
    source, function = spot.place.source, maker.node
    args = function.args  # type: ignore[union-attr]
    known = {*parameters_at(spot)} | {word for told in spot.scope for word in _WORD.findall(told)}
    needed = args.args[: len(args.args) - len(args.defaults)]
    words = [one.arg for one in args.args if one in needed or one.arg in known]
    if not set(words) <= known or args.vararg or args.kwonlyargs:
        return "", ()
    name = function.name  # type: ignore[union-attr]
    here = maker.source is source or _there(source, {name})
    line = "" if here else evidence.import_of(maker)
    return (f"{name}({', '.join(words)})", () if here else (line,)) if here or line else ("", ())


def _makings(evidence: Evidence, name: str) -> Iterator[tuple[Source, ast.Call]]:
    """The calls of the program whose result is given a name."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            made = node.value if isinstance(node, ast.Assign) else None
            if isinstance(made, ast.Call) and source.text(node.targets[0]) == name:  # type: ignore[attr-defined]
                yield source, made


def _done(spot: Spot, statement: ast.stmt, names: Mapping[str, str], other: Place) -> Iterator[Offer]:
    """The statements above another call that do something with its objects, where nothing of the kind is done above."""
    source = spot.place.source
    with_it = [one for above in _above(source, statement) for one in walked(above) if isinstance(one, ast.Call)]
    done = {called(one) for one in with_it if loaded(one) & set(names.values())}
    for above in _above(other.source, statement_around(other)):
        if not isinstance(above, ast.Expr) or not isinstance(above.value, ast.Call) or called(above.value) in done:
            continue
        if loaded(above) & names.keys() and _there(source, loaded(above) - names.keys()):
            text = renamed(other.source.text(above), names)
            lines = f"{text}\n{' ' * statement.col_offset}{source.text(statement)}"
            yield Offer("likewise", spot, row_of([statement]), lines, "elsewhere", 0.0)


def _given_for(call: ast.Call, other: ast.Call) -> Mapping[str, str]:
    """By the names that another call of a function is given, those that a call is given in their places."""
    pairs = zip(other.args, call.args, strict=False)
    return {one.id: mine.id for one, mine in pairs if isinstance(one, ast.Name) and isinstance(mine, ast.Name)}


def _around(source: Source, statement: ast.AST) -> list[ast.stmt]:
    """A statement and those that hold it in its function, the innermost first."""
    found: list[ast.stmt] = []
    node: ast.AST | None = statement
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        found += [node] if isinstance(node, ast.stmt) else []
        node = source.parent_of(node)
    return found


def _outermost(source: Source, statement: ast.stmt) -> ast.stmt:
    """The outermost loop around a statement; itself where there is none."""
    loops = [one for one in _around(source, statement) if isinstance(one, (ast.For, ast.While))]
    return loops[-1] if loops else statement


def _above(source: Source, statement: ast.AST) -> list[ast.stmt]:
    """The statements right above one in its block and those around it, the nearest first."""
    found: list[ast.stmt] = []
    for one in _around(source, statement):
        block = source.block_of(one)
        at = next((at for at, each in enumerate(block) if each is one), 0)
        found += block[:at][::-1]
    return found[:_ABOVE]


def _there(source: Source, names: set[str]) -> bool:
    """Whether names are a file's own functions and classes, or what it imports."""
    top = source.tree.body if source.tree is not None else []
    known = {one.name for one in top if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
    imports = (one for one in top if isinstance(one, (ast.Import, ast.ImportFrom)))
    known |= {alias.asname or alias.name for one in imports for alias in one.names}
    return names <= known
