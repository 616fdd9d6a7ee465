"""Edits that restore a model in two steps: build it, then load into it."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.borrowed import imports_end, imports_for
from explainer.edits.kinds.statements import unwrap_block
from explainer.edits.lines import EditError, changed, indentation, inserted, joined, relined
from explainer.edits.place import Place, by_file
from explainer.source import walked

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)


def load_apart(each: tuple[Place, ...]) -> tuple[Edit, ...]:
    """`net = Net().load_state_dict(state)` -> `net = Net()`, then `net.load_state_dict(state)`; several at once."""
    edits: list[Edit] = []
    for source, own in by_file(each):
        edits += joined(source, *(_apart(place) for place in own))
    return tuple(edits)


def _apart(call: Place) -> tuple[Edit, ...]:
    node = call.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        raise EditError("no call that loads stands here")
    owner, given = node.func.value, call.text[len(call.source.text(node.func)) :]
    loop = _comprehension(call)
    if loop is not None:
        return _unrolled(call, loop, owner, given)
    statement = _simple(call)
    plain = isinstance(owner, (ast.Name, ast.Attribute))
    name = call.source.text(owner) if plain else _name(call, statement)
    built = [] if plain else [f"{name} = {call.source.text(owner)}"]
    return _before(call, statement, [*built, f"{name}.load_state_dict{given}"], name)


def build_and_load(at: Place, kept: Place, key: str | None = None) -> tuple[Edit, ...]:
    """`net = torch.load(path)` -> `net = Net()`, then `net.load_state_dict(torch.load(path))`.

    `kept` is the call elsewhere in the program that builds it, `key` the entry of the checkpoint to load.
    """
    if not isinstance(kept.node, ast.Call):
        raise EditError("no call that builds stands there")
    statement = _simple(at)
    name, entry = _name(at, statement), f'["{key}"]' if key else ""
    lines = [f"{name} = {kept.text}", f"{name}.load_state_dict({at.text}{entry})"]
    needed = imports_for(at.source, statement.lineno, kept.source, kept.node)
    if needed is None:
        raise EditError("a name that builds it is not to be had here")
    edits = _before(at, statement, lines, name)
    return joined(at.source, edits, inserted(at.source, imports_end(at.source), needed)) if needed else edits


def build_as(at: Place, kept: Place) -> tuple[Edit, ...]:
    """`Net()` -> `Net(hidden=64)`: a call with the arguments of `kept`, another one of the same in the program."""
    needed = imports_for(at.source, at.statement().node.lineno, kept.source, kept.node)
    if needed is None:
        raise EditError("a name that it uses is not to be had here")
    edits = changed(at.source, [(at.span, kept.text)])
    return joined(at.source, edits, inserted(at.source, imports_end(at.source), needed)) if needed else edits


def always_add(each: tuple[Place, ...]) -> tuple[Edit, ...]:
    """`if p > 0: layers.append(nn.Dropout(p))` -> the statement alone, `[...] if p > 0 else []` -> `[...]`."""
    edits: list[Edit] = []
    for source, own in by_file(each):
        edits += joined(source, *(_always(place) for place in own))
    return tuple(edits)


def _always(place: Place) -> tuple[Edit, ...]:
    if isinstance(place.node, ast.IfExp):
        outer = place.parent()
        text = place.source.text(place.node.body)
        return changed(place.source, [(place.span, text)]) if outer is not None else ()
    return unwrap_block(place)


def _before(at: Place, statement: ast.stmt, lines: list[str], name: str) -> tuple[Edit, ...]:
    """Lines put before a statement, and `name` for an expression in it; a statement that is left empty is dropped."""
    source, first = at.source, statement.lineno
    text = "\n".join(indentation(source, first) + line for line in lines)
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    same = len(targets) == 1 and targets[0] is not None and source.text(targets[0]) == name
    if isinstance(statement, ast.Expr) and statement.value is at.node:
        same = True
    if same and getattr(statement, "value", None) is at.node:
        return relined(source, first, statement.end_lineno or first, text)
    return joined(source, inserted(source, first, text), changed(source, [(at.span, name)]))


def _simple(at: Place) -> ast.stmt:
    """The simple statement that holds an expression which is always evaluated."""
    statement = at.statement().node
    lazy = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    around = [one for one in walked(statement) if isinstance(one, lazy)]
    inner = [part for one in around for part in walked(one) if one is not at.node]
    if not isinstance(statement, _SIMPLE) or any(part is at.node for part in inner):
        raise EditError("the expression stands in no plain statement")
    return statement


def _name(at: Place, statement: ast.stmt) -> str:
    """The target that a statement assigns the expression to, or what is made of it; else a name that is free."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if len(targets) == 1 and isinstance(targets[0], (ast.Name, ast.Attribute)):
        return at.source.text(targets[0])
    scope = at.source.scope_at(statement.lineno)
    used = {one.id for one in walked(scope) if isinstance(one, ast.Name)} if scope is not None else set()
    return next(one for one in ("model", "net", "restored", "built_and_loaded") if one not in used)


def _comprehension(call: Place) -> ast.ListComp | ast.DictComp | None:
    """The list or dict comprehension with one loop that holds a call in what it makes of each."""
    for one in walked(call.statement().node):
        if isinstance(one, (ast.ListComp, ast.DictComp)) and len(one.generators) == 1 and not one.generators[0].ifs:
            made = one.elt if isinstance(one, ast.ListComp) else one.value
            if any(part is call.node for part in walked(made)):
                return one
    return None


def _unrolled(call: Place, loop: ast.ListComp | ast.DictComp, owner: ast.expr, given: str) -> tuple[Edit, ...]:
    """`nets = [make().load_state_dict(s) for s in states]` as a loop of statements."""
    at, text, over = call.at(loop), call.source.text, loop.generators[0]
    statement = _simple(at)
    whole = getattr(statement, "value", None) is loop and isinstance(statement, ast.Assign)
    name = _name(at, statement) if whole else "loaded"
    made = loop.elt if isinstance(loop, ast.ListComp) else loop.value
    element = text(made).replace(call.text, "model")
    put = f"{name}.append({element})" if isinstance(loop, ast.ListComp) else f"{name}[{text(loop.key)}] = {element}"
    lines = [
        f"{name} = []" if isinstance(loop, ast.ListComp) else f"{name} = {{}}",
        f"for {text(over.target)} in {text(over.iter)}:",
        f"    model = {text(owner)}",
        f"    model.load_state_dict{given}",
        f"    {put}",
    ]
    return _before(at, statement, lines, name)
