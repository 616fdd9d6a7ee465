"""Edits against in-place writes: chains of methods without their underscores, a value computed anew after a step."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from explainer.diagnosis import Edit, Span
from explainer.edits.kinds import operators
from explainer.edits.lines import EditError, changed, in_block, indentation, joined, relined, shown
from explainer.edits.place import Place, by_file
from explainer.source import Node, holds, loaded, stored, walked

_TARGETS = (ast.Name, ast.Attribute)


def out_of_place(at: Place) -> tuple[Edit, ...]:
    """The same work without the write: also `x.sub_(a).div_(b)`, where each call writes, and `nn.ReLU(True)`."""
    node = _whole(at, at.node.value if isinstance(at.node, ast.Expr) else at.node)
    _refuse_lost(at, node)
    calls = list(_writes(node))
    if len(calls) > 1 or (calls and calls[0] is not node):
        return _plain_chain(at, node, calls)
    if isinstance(node, ast.Call) and not calls and _flag(node) is not None:
        kept = [at.source.text(part) for part in (*node.args, *node.keywords) if part is not _flag(node)]
        return changed(at.source, [(at.source.span(node), f"{at.source.text(node.func)}({', '.join(kept)})")])
    return operators.out_of_place(at)


def _whole(at: Place, node: Node) -> Node:
    """A write, or the chain of writes that begins with it where the chain is a statement whose result nothing takes."""
    statement = at.at(node).statement().node
    top = statement.value if isinstance(statement, ast.Expr) else None
    writes = list(_writes(top)) if top is not None else []
    return top if top is not None and top in writes and node in writes else node


def _refuse_lost(at: Place, node: Node) -> None:
    """EditError where a loop's variable, or a parameter, would be bound anew and nothing reads it: that does nothing.

    What a function is given by its caller is changed by a write alone.
    """
    statement = at.at(node).statement().node
    target = _base(node) if isinstance(statement, (ast.Expr, ast.AugAssign)) else None
    line = statement.end_lineno or statement.lineno
    name = target.id if isinstance(target, ast.Name) else ""
    loops = [one for one in at.source.nodes() if isinstance(one, ast.For) and holds(one, line)]
    own = [one for one in loops if name in stored(one.target)]
    if any(all(name not in loaded(one) for one in _after(loop, line)) for loop in own):
        raise EditError("nothing would read the result")
    function = at.source.function_at(line)
    given = {one.arg for one in walked(function.args) if isinstance(one, ast.arg)} if function is not None else set()
    if function is not None and name in given and all(name not in loaded(one) for one in _after(function, line)):
        raise EditError("the caller's value would stay as it is")


def _base(node: ast.AST) -> ast.AST:
    """What a write writes into: `v` of `v.mul_(a).add_(b)` and `v *= a`."""
    if isinstance(node, ast.AugAssign):
        return node.target
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node


def _after(block: ast.AST, line: int) -> Iterator[ast.stmt]:
    """The statements of a loop or function behind a line."""
    return (one for one in walked(block) if isinstance(one, ast.stmt) and one.lineno > line)


def _writes(node: ast.AST) -> Iterator[ast.Call]:
    """The calls of a chain whose methods end in an underscore, the last one first."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr.endswith("_") and not node.func.attr.endswith("__"):
            yield node
        node = node.func.value


def _flag(node: ast.Call) -> ast.expr | None:
    """The positional `True` with which torch's activations are told to work in place."""
    last = node.args[-1] if node.args and not node.keywords else None
    return last if isinstance(last, ast.Constant) and last.value is True else None


def _plain_chain(at: Place, node: Node, calls: list[ast.Call]) -> tuple[Edit, ...]:
    changes = []
    for call in calls:
        name = at.source.span(call.func)
        end = name.end_column or 1
        last = dataclasses.replace(name, line=name.end_line or name.line, column=end - 1)
        if call.func.attr not in operators.FILLS:  # type: ignore[attr-defined]
            changes.append((last, ""))
        elif call is calls[-1]:
            changes.append((at.source.span(call.func.value), f"{at.source.text(call.func.value)}.clone()"))  # type: ignore[attr-defined]
    statement = at.at(node).statement().node
    if isinstance(statement, ast.Expr) and statement.value is node:
        target = calls[-1].func.value  # type: ignore[attr-defined]
        if not isinstance(target, _TARGETS):
            raise EditError("the result could not be assigned back")
        changes.append((_start(at.source.span(statement)), f"{at.source.text(target)} = "))
    return changed(at.source, changes)


def _start(span: Span) -> Span:
    return dataclasses.replace(span, end_line=span.line, end_column=span.column)


def all_out_of_place(each: tuple[Place, ...]) -> tuple[Edit, ...]:
    """Several writes made without writing; those into parts of a tensor go into a copy, one for each name."""
    edits: list[Edit] = []
    for source, own in by_file(each):
        groups, copied = list[tuple[Edit, ...]](), set[str]()
        for place in own:
            whole = _part_of(place)
            if whole is None:
                groups.append(out_of_place(place))
            elif whole not in copied:
                copied.add(whole)
                line = place.statement().node.lineno
                put = f"{indentation(source, line)}{whole} = {whole}.clone()"
                groups.append((Edit(shown(source.file), line, line - 1, None, put),))
        edits += joined(source, *groups)
    return tuple(edits)


def _part_of(place: Place) -> str | None:
    """The tensor of which a statement writes a part: `y` of `y[i] = v` and `y[i] += v`."""
    statement = place.statement().node
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    if not isinstance(target, ast.Subscript):
        return None
    while isinstance(target, ast.Subscript):
        target = target.value
    return place.source.text(target) if isinstance(target, _TARGETS) else None


def wrap_block(at: Place, header: str) -> tuple[Edit, ...]:
    """A statement put into a block: `header` is `with torch.no_grad():`."""
    node = at.statement().node
    first, last = node.lineno, node.end_lineno or node.lineno
    return relined(at.source, first, last, in_block(at.source, header, first, last))


def wrap_blocks(each: tuple[Place, ...], header: str) -> tuple[Edit, ...]:
    """The statements of one block from the first of some through the last put into a new block."""
    body = block_of(each[0])
    held = [body[index_in(body, place)] for place in each]
    source, first, last = each[0].source, held[0].lineno, held[-1].end_lineno or 0
    return relined(source, first, last, in_block(source, header, first, last))


def recompute_after(at: Place, kept: Place, before: Place) -> tuple[Edit, ...]:
    """What `before` needs of the statements from `kept` on, computed again after the step `at`.

    `d_fake = D(fake); g_loss = f(d_fake); step(); g_loss.backward()`: the first two are repeated after the step, and
    the first computation of what nothing else reads is dropped. A value that both sides read once is computed where it
    is read: `g_loss = f(D(fake))`.
    """
    body = block_of(at)
    first, step, last = (index_in(body, place) for place in (kept, at, before))
    if not first <= step < last:
        raise EditError("the step does not lie between the two statements")
    steps_alone = ".step(" in ast.unparse(body[step])  # no helper that goes backward, too
    if steps_alone and not any(".backward" in ast.unparse(one) for one in body[:step]):
        raise EditError("nothing went backward before the step, which stands too early")
    needed, copied = needed_behind(body, step, last), list[ast.stmt]()
    for statement in reversed(body[first:step]):
        if stored(statement) & needed:
            copied.insert(0, statement)
            needed |= loaded(statement)
    if not copied:
        raise EditError("nothing before the step is needed after it")
    unread = _unread(copied, body, step)
    if not unread and len(copied) == 1 and (there := _where_read(at, copied[0], body[step + 1 : last + 1])):
        return there
    source, line = at.source, (body[step].end_lineno or 0) + 1
    text = "\n".join("\n".join(source.lines[one.lineno - 1 : one.end_lineno]) for one in copied)
    put = Edit(shown(source.file), line, line - 1, None, text)
    return joined(source, [put], [dropped(at, one) for one in unread])


def _where_read(at: Place, statement: ast.stmt, behind: list[ast.stmt]) -> tuple[Edit, ...]:
    """What a statement binds to one of its names, written where some statements read it; nothing unless one does."""
    pairs = list(_bound(statement))
    reads = [
        (node, value)
        for name, value in pairs
        for one in behind
        for node in walked(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == name
    ]
    if len(reads) != 1 or not isinstance(reads[0][1], ast.Call):
        return ()
    return changed(at.source, [(at.source.span(node), at.source.text(value)) for node, value in reads])


def _bound(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The names that an assignment binds with the expression of each: `a, b = f(x), f(y)`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target, value = statement.targets[0], statement.value
    apart = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
    pairs = zip(target.elts, value.elts, strict=True) if apart else [(target, value)]  # type: ignore[attr-defined]
    yield from ((name.id, one) for name, one in pairs if isinstance(name, ast.Name))


def needed_behind(body: list[ast.stmt], step: int, last: int) -> set[str]:
    """The names that a statement reads, and those that the statements between it and the step make them of."""
    needed = loaded(body[last])
    for statement in reversed(body[step + 1 : last]):
        if stored(statement) & needed:
            needed |= loaded(statement)
    return needed


def _unread(copied: list[ast.stmt], body: list[ast.stmt], step: int) -> list[ast.stmt]:
    """Those of the copied statements whose first results nothing reads before the step."""
    dropped: list[ast.stmt] = []
    for statement in reversed(copied):
        others = [one for one in body[: step + 1] if one is not statement and one not in dropped]
        if not any(stored(statement) & loaded(one) for one in others):
            dropped.append(statement)
    return dropped


def dropped(at: Place, statement: ast.stmt) -> Edit:
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    return Edit(shown(at.source.file), first, last, "\n".join(at.source.lines[first - 1 : last]), None)


def block_of(at: Place) -> list[ast.stmt]:
    """The statements among which a place's statement stands."""
    wanted = at.statement().node
    for node in at.source.nodes():
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and any(one is wanted for one in body):
                return body
    raise EditError("no block holds this place")


def index_in(body: list[ast.stmt], place: Place) -> int:
    """Which statement of a block holds a place."""
    line = place.node.lineno
    for index, statement in enumerate(body):
        if holds(statement, line):
            return index
    raise EditError("the places do not stand in one block")
