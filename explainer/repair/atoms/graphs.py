"""The graph behind a value: cut where the value is kept, a copy where it is changed in place."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.arguments import replaced
from explainer.repair.atoms.common import expressions, row_of, statement_of
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called, holds, stored, walked

_KEEPING = ("append", "add", "extend", "put", "update", "setdefault", "appendleft")
#: What makes several views of one tensor at once.
_PARTING = ("chunk", "split", "unbind", "tensor_split", "hsplit", "vsplit")
_UNRECORDED = re.compile(r"\b(?:no_grad|inference_mode)\b")
_PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp)


def detach(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`self.target = gram(x)` -> `gram(x).detach()`: a value that outlives its step, without its graph."""
    yield from _behind(spot, "detach")


def clone(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`rows.append(h)` -> `rows.append(h.clone())`: a copy of what is changed in place later, of several parts each."""
    yield from _behind(spot, "clone")
    for node in expressions(spot) if "view" in evidence.message else ():
        apart = isinstance(node, ast.Call) and called(node) in _PARTING
        if apart and isinstance(spot.place.source.parent_of(node), (ast.Call, ast.Assign, ast.For)):
            yield Offer("clone", spot, node, f"[one.clone() for one in {spot.place.source.text(node)}]", "clone", 0.1)


def severed(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`y, self.state = net(x, self.state)`, then `self.state = self.state.detach()`: what a row hands to the next step.

    Of a tuple every tensor is.
    """
    statement = statement_of(spot, spot.place.node)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Tuple):
        return
    for one in statement.targets[0].elts:
        if isinstance(one, (ast.Attribute, ast.Subscript)) or (
            isinstance(one, ast.Name) and _carried(spot, statement, {one.id})
        ):
            own = spot.place.source.text(one)
            for at, cut in enumerate((f"{own}.detach()", f"tuple(one.detach() for one in {own})")):
                head = " " * statement.col_offset
                whole = f"{spot.place.source.text(statement)}\n{head}{own} = {cut}"
                yield Offer("severed", spot, row_of([statement]), whole, "behind", 0.2 * at, one)


def uncut(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`grad(u, pts[:, :1])` -> `grad(u, pts)[:, :1]`: by what the graph holds, and cut then; so all that is cut of it.

    A cut that is made for the call is a new tensor, of which nothing was computed.
    """
    function = spot.place.source.function_at(spot.place.line) or spot.place.source.tree
    own = [(call, cut) for call, cut in _given_cuts(spot.place.node) if "used in the graph" in evidence.message]
    for call, cut in own:
        others = (pair for pair in _given_cuts(function) if pair[0] is not call)
        alike = [(each, one) for each, one in others if called(each) == called(call)
                 and ast.unparse(one.value) == ast.unparse(cut.value)]  # fmt: skip
        twins = tuple((_result(spot, each), _cut_after(spot, each, one)) for each, one in alike)
        yield Offer("uncut", spot, _result(spot, call), _cut_after(spot, call, cut), "behind", twins=twins)


def _given_cuts(around: ast.AST | None) -> Iterator[tuple[ast.Call, ast.Subscript]]:
    """The calls that are given a part of a name's value, with that: `d(u, pts[:, :1])`."""
    for call in (one for one in walked(around) if isinstance(one, ast.Call)) if around is not None else ():
        for one in call.args:
            if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name):
                yield call, one


def _result(spot: Spot, call: ast.Call) -> ast.expr:
    """A call of `grad` with the one of its results that is taken; any other call."""
    above = spot.place.source.parent_of(call)
    return above if called(call) == "grad" and isinstance(above, ast.Subscript) else call


def _cut_after(spot: Spot, call: ast.Call, cut: ast.Subscript) -> str:
    source = spot.place.source
    whole = replaced(spot, _result(spot, call), [(cut, source.text(cut.value))])
    return f"{whole}[{source.text(cut.slice)}]"


def recorded(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`@torch.no_grad()` above a function on the way taken off, `with torch.no_grad():` around a place on it undone."""
    source, function = spot.place.source, spot.place.source.function_at(spot.place.line)
    for one in getattr(function, "decorator_list", ()):
        if _UNRECORDED.search(source.text(one)):
            yield Offer("recorded", spot, _from(one, function), source.text(function), "decorator", 0.0, one)  # type: ignore[arg-type]
    for block in walked(function) if function is not None else ():
        off = isinstance(block, ast.With) and holds(block, spot.place.line) and len(block.items) == 1
        if isinstance(block, ast.With) and off and _UNRECORDED.search(source.text(block.items[0].context_expr)):
            body = source.lines[block.body[0].lineno - 1 : block.end_lineno]
            text = textwrap.indent(textwrap.dedent("\n".join(body)), " " * block.col_offset).lstrip()
            yield Offer("recorded", spot, block, text, "block")


def unrecorded(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`value = model.act(x)` -> under `torch.no_grad()`, where NumPy is to have what was collected of such values.

    So is a function that hands back what it asked a network in evaluation, and one that fills the leaf it is given.
    """
    yield from _whole_function(spot, evidence)
    statement = statement_of(spot, spot.place.node)
    calls_own = isinstance(spot.place.node, ast.Call) and spot.role == "caller" and spot.step is not None
    if not calls_own or not isinstance(statement, ast.Assign) or "call numpy()" not in evidence.message:
        return
    function = spot.place.source.function_at(statement.lineno)
    if any(frame.place.source.function_at(frame.place.line) is function for frame in evidence.frames):
        return  # there the failing statements are: cut off is what they are given
    head, text = " " * statement.col_offset, spot.place.source.text(statement)
    inner = textwrap.indent(text, "    ").lstrip()
    yield Offer("unrecorded", spot, row_of([statement]), f"with torch.no_grad():\n{head}    {inner}", "block")


def _whole_function(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`@torch.no_grad()` above a function in which nothing is to be learned."""
    source, function = spot.place.source, spot.place.source.function_at(spot.place.line)
    marks = map(source.text, getattr(function, "decorator_list", ()))
    if not isinstance(function, ast.FunctionDef) or any(map(_UNRECORDED.search, marks)):
        return
    calls = [one.func for one in walked(function) if isinstance(one, ast.Call)]
    methods = [one for one in calls if isinstance(one, ast.Attribute)]
    evaluates = any(one.attr == "eval" for one in methods)
    filled = {source.text(one.value) for one in methods if one.attr.endswith("_")}
    fills = bool(filled & {one.arg for one in function.args.args})
    asked = "call numpy()" in evidence.message and evaluates and spot.role in ("slice", "returned")
    written = "leaf Variable" in evidence.message and fills and spot.role == "crash"
    if asked or written:
        head = " " * function.col_offset
        yield Offer("unrecorded", spot, function, f"@torch.no_grad()\n{head}{source.text(function)}", "function")


def _from(decorator: ast.expr, function: ast.FunctionDef) -> ast.Module:
    """A function with what stands above it from one of its decorators on."""
    row = row_of([function])
    row.lineno, row.col_offset = decorator.lineno, function.col_offset  # type: ignore[attr-defined]
    return row


def _behind(spot: Spot, method: str) -> Iterator[Offer]:
    for node in expressions(spot) if spot.role not in ("built", "given") else ():
        weight = _as_beside(spot, node, method) if not _makes_an_object(node) else None
        weight = weight if weight is not None or _makes_an_object(node) else _kept(spot, node)
        if weight is not None and isinstance(node, _PLAIN) and not _has(node, method):
            yield Offer(method, spot, node, f"{as_primary(spot.place.at(node))}.{method}()", method, weight)


def _as_beside(spot: Spot, node: ast.expr, method: str) -> float | None:
    """Nothing against what a function hands back among others, of which it cuts off (or copies) some."""
    source, parent = spot.place.source, spot.place.source.parent_of(node)
    within = isinstance(parent, (ast.Tuple, ast.List, ast.Return)) or getattr(parent, "elt", None) is node
    outer = statement_of(spot, node)
    function = source.function_at(node.lineno)
    handed = within and isinstance(outer, ast.Return) and function is not None
    return 0.0 if handed and any(_has(one, method) for one in walked(function)) else None  # type: ignore[arg-type]


def _kept(spot: Spot, node: ast.expr) -> float | None:
    """What speaks against a value's outliving its step; None where it does not, and its graph is needed."""
    parent = spot.place.source.parent_of(node)
    if isinstance(parent, ast.Call) and node in parent.args:
        function = parent.func
        return 0.1 if isinstance(function, ast.Attribute) and function.attr in _KEEPING else None
    if isinstance(parent, ast.ListComp) and parent.elt is node:
        return 0.2 if isinstance(spot.place.source.parent_of(parent), (ast.Assign, ast.Return)) else None
    if not isinstance(parent, ast.Assign) or parent.value is not node:
        return None
    if any(isinstance(one, (ast.Attribute, ast.Subscript)) for one in parent.targets):
        return 0.0
    return 0.5 if _carried(spot, parent, stored(parent)) else None


def _carried(spot: Spot, statement: ast.Assign, names: set[str]) -> bool:
    """Whether a file binds names outside of every loop, or a loop reads one before it binds it: in its next step."""
    loop = spot.place.source.parent_of(statement)
    while loop is not None and not isinstance(loop, (ast.For, ast.While, ast.FunctionDef, ast.Module)):
        loop = spot.place.source.parent_of(loop)
    if not isinstance(loop, (ast.For, ast.While)):
        return isinstance(loop, ast.Module)
    reads = [one for one in walked(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    return any(one.id in names and one.lineno <= statement.lineno for one in reads)


def _makes_an_object(node: ast.expr) -> bool:
    """Whether a class is called: no tensor comes of that."""
    return isinstance(node, ast.Call) and called(node)[:1].isupper()


def _has(node: ast.AST, method: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
