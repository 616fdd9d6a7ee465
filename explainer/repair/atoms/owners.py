"""What a call or a block does to more than its result: a model changed in place, all that is built in a block."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.kinds.statements import is_made
from explainer.edits.lines import indentation
from explainer.repair.atoms.common import calls, row_of, statement_of, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called, of_self, walked

#: Methods by which a module changes where its tensors lie, or their dtypes.
_MOVES, _CASTS = ("to", "cpu", "cuda"), ("to", "half", "bfloat16", "float", "double")
#: Methods that change a dict or list for all who hold it.
_CHANGES = ("pop", "update", "setdefault", "popitem", "clear", "append", "extend", "insert", "remove")
#: What decides where the tensors lie that are made in its block, or from there on.
_DEVICES = ("device", "set_default_device")


def copied(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`net = model.to("meta")` -> `net = copy.deepcopy(model).to("meta")`: who gave the model goes on with it."""
    if spot.role == "bound" and "require grad" in evidence.message:
        yield from _borrowed(spot)
    if spot.role not in ("slice", "crash", "caller"):
        return
    names = _MOVES if evidence.apart else _CASTS
    for node in calls(spot):
        owner = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr in names else None
        if not isinstance(owner, (ast.Name, ast.Attribute)):
            continue
        name, statement = text(spot, owner), statement_of(spot, node)
        copy = f"copy.deepcopy({name})"
        if isinstance(statement, ast.Expr) and _alone(spot, node):
            if name in _parameters(spot):  # what it is from there on
                yield Offer(
                    "copied", spot, statement, f"{name} = {text(spot, statement).replace(name, copy, 1)}", "copy"
                )
        elif not isinstance(statement, ast.Assign) or name not in {text(spot, one) for one in statement.targets}:
            yield Offer("copied", spot, owner, copy, "copy")


def _borrowed(spot: Spot) -> Iterator[Offer]:
    """`self.teacher = student`, or a shallow copy of it, as a copy with parameters of its own."""
    node = spot.place.node
    inner = node.args[0] if isinstance(node, ast.Call) and called(node) == "copy" and len(node.args) == 1 else node
    if isinstance(inner, (ast.Name, ast.Attribute)):
        yield Offer("copied", spot, node, f"copy.deepcopy({text(spot, inner)})", "own")


def _alone(spot: Spot, node: ast.AST) -> bool:
    """Whether what a call returns is dropped, further methods called on it or not."""
    parent = spot.place.source.parent_of(node)
    while isinstance(parent, (ast.Attribute, ast.Call)):
        if isinstance(parent, ast.Call) and parent.func is not node:
            return False
        node, parent = parent, spot.place.source.parent_of(parent)
    return isinstance(parent, ast.Expr)


def _parameters(spot: Spot) -> set[str]:
    function = spot.place.source.function_at(spot.place.line)
    return {one.arg for one in walked(function.args) if isinstance(one, ast.arg)} if function is not None else set()


def shared(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`kind = options.pop("kind")` behind `options = dict(options)`: who gave the options may give them again."""
    statement = spot.place.statement().node
    function = spot.place.source.function_at(spot.place.line)
    given = {one.arg for one in function.args.args} if function is not None else set()
    for call in calls(spot):
        owner = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in _CHANGES else None
        if not isinstance(owner, ast.Name) or owner.id not in given or not isinstance(statement, ast.stmt):
            continue
        keyed = call.args and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
        kind = "dict" if keyed or call.func.attr in ("update", "setdefault") else "list"  # type: ignore[attr-defined]
        head = f"{owner.id} = {kind}({owner.id})\n{' ' * statement.col_offset}"
        yield Offer("shared", spot, row_of([statement]), head + spot.place.source.text(statement), kind, 0.0, call)


def registered(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`self.table = sines(n)` -> `self.register_buffer("table", sines(n))`: a tensor that goes with its module."""
    statement = statement_of(spot, spot.place.node)
    function = spot.place.source.function_at(spot.place.line)
    if function is None or function.name != "__init__" or not isinstance(statement, ast.Assign):
        return
    if _is_plain(spot, statement) and is_made(statement.value):
        beside = [one for one in function.body if one is not statement and _is_plain(spot, one, known=True)]
        twins = tuple((one, _as_buffer(spot, one)) for one in beside)  # type: ignore[arg-type]
        yield Offer("registered", spot, statement, _as_buffer(spot, statement), "buffer", twins=twins)
        if twins:
            yield Offer("registered", spot, statement, _as_buffer(spot, statement), "buffer", 0.2)


def _is_plain(spot: Spot, statement: ast.stmt, known: bool = False) -> bool:
    """Whether a statement gives an object one plain attribute; `known`: one that is a tensor, or made of one."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if not of_self(target):
        return False
    made_of = getattr(getattr(statement.value, "func", None), "value", None)  # type: ignore[attr-defined]
    names = [f"self.{target.attr}", ast.unparse(made_of) if made_of is not None else ""]
    return not known or any(isinstance(spot.scope.get(one), list) for one in names)


def _as_buffer(spot: Spot, statement: ast.Assign) -> str:
    return f'self.register_buffer("{statement.targets[0].attr}", {text(spot, statement.value)})'  # type: ignore[attr-defined]


def block(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`with torch.device("meta"):` around what was built, undone; `torch.set_default_device("meta")` left out.

    What is built there has no values. Of other devices it is the data that lie apart, not the model.
    """
    source = spot.place.source
    node: ast.AST | None = spot.place.node
    if isinstance(node, ast.Call) and _of_meta(node) and isinstance(source.parent_of(node), ast.Expr):
        stated = spot.place.statement().node
        yield Offer("block", spot, stated, "pass", "left out", 0.3)
        yield from _for_the_next(spot, node, stated)
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
        maker = node.items[0].context_expr if isinstance(node, ast.With) and len(node.items) == 1 else None
        if isinstance(maker, ast.Call) and _of_meta(maker) and isinstance(node, ast.With):
            lines = source.lines[node.body[0].lineno - 1 : node.body[-1].end_lineno]
            body = textwrap.dedent("\n".join(lines)).replace("\n", "\n" + indentation(source, node.lineno))
            yield Offer("block", spot, node, body, called(maker))
        node = source.parent_of(node)


def _for_the_next(spot: Spot, call: ast.Call, stated: ast.AST) -> Iterator[Offer]:
    """A default for all of the program as one for the statement behind it alone."""
    source = spot.place.source
    body = getattr(source.parent_of(stated), "body", [])
    behind = body[body.index(stated) + 1 :][:1] if stated in body and call.args else []
    if behind and isinstance(behind[0], (ast.Assign, ast.Expr)):
        head = f"with torch.device({text(spot, call.args[0])}):"
        inner = textwrap.indent(source.text(behind[0]), "    ", lambda line: True).lstrip()
        whole = f"{head}\n{' ' * stated.col_offset}    {inner}"  # type: ignore[attr-defined]
        yield Offer("block", spot, row_of([stated, behind[0]]), whole, "scoped")  # type: ignore[list-item]


def _of_meta(call: ast.Call) -> bool:
    """Whether a call asks for the meta device, or for one that its source does not tell."""
    names = [one.value for one in walked(call) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return called(call) in _DEVICES and bool(call.args) and ("meta" in names or not names)
