"""Edits of updates: `w = w - lr * w.grad` made in place, its result made a leaf again, steps in a loop of their own."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.kinds.inplace import dropped
from explainer.edits.kinds.operators import SIGNS
from explainer.edits.lines import EditError, indentation, joined, relined, shown
from explainer.edits.place import Place, as_primary, by_file, replaced_each
from explainer.source import walked

_MODES = ("no_grad", "inference_mode")


def update_in_place(each: tuple[Place, ...]) -> tuple[Edit, ...]:
    """Assignments of one block made in place, under `no_grad` where they are recorded: `w -= lr * w.grad`.

    EditError where they do not stand one after the other.
    """
    source = each[0].source
    statements = sorted((one.statement().node for one in each), key=lambda one: one.lineno)
    first, last = statements[0].lineno, statements[-1].end_lineno or 0
    held = {line for one in statements for line in range(one.lineno, (one.end_lineno or 0) + 1)}
    if len(by_file(each)) > 1 or held != set(range(first, last + 1)):
        raise EditError("the updates do not stand together")
    indent, texts = indentation(source, first), [_in_place(each[0].at(one)) for one in statements]
    if unrecorded(each[0]):
        return relined(source, first, last, "\n".join(indent + text for text in texts))
    inner = "\n".join(f"{indent}    {text}" for text in texts)
    return relined(source, first, last, f"{indent}with torch.no_grad():\n{inner}")


def _in_place(at: Place) -> str:
    """`w = w - a` -> `w -= a`; another value is copied into the old tensor."""
    node = at.node
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        raise EditError("no assignment stands here")
    name, value = at.source.text(node.targets[0]), node.value
    if isinstance(value, ast.BinOp) and at.source.text(value.left) == name:
        return f"{name} {SIGNS[type(value.op)]}= {at.source.text(value.right)}"
    return f"{name}.copy_({at.source.text(value)})"


def unrecorded(at: Place) -> bool:
    """Whether a place stands in a block or a function without recording."""
    line, function = at.node.lineno, at.source.function_at(at.node.lineno)
    blocks = [one for one in at.source.nodes() if isinstance(one, ast.With)]
    blocks = [one for one in blocks if one.lineno < line <= (one.end_lineno or 0)]
    around = [at.source.text(item.context_expr) for one in blocks for item in one.items]
    around += [at.source.text(one) for one in getattr(function, "decorator_list", ())]
    return any(mode in text for text in around for mode in _MODES)


def make_leaves(each: tuple[Place, ...]) -> tuple[Edit, ...]:
    """Values cut from the graph that computed them, so that they are leaves: `(...).detach().requires_grad_()`."""
    return replaced_each(each, lambda one: f"{as_primary(one)}.detach().requires_grad_()")


def split_loop(at: Place) -> tuple[Edit, ...]:
    """A step for each pass of a loop taken into a loop of its own behind it; what clears gradients goes before it.

    EditError where the statement does not depend on what the loop binds, or is all that it does.
    """
    step = at.statement().node
    loops = [one for one in at.source.nodes() if isinstance(one, ast.For)]
    loop = next((one for one in loops if any(inner is step for inner in one.body)), None)
    if loop is None or loop.orelse or len(loop.body) == 1:
        raise EditError("no loop to split stands around it")
    names = {one.id for one in walked(loop.target) if isinstance(one, ast.Name)}
    if not names & {one.id for one in walked(step) if isinstance(one, ast.Name)}:
        raise EditError("the statement is the same in each pass")
    indent = indentation(at.source, loop.lineno)
    header = f"{indent}for {at.source.text(loop.target)} in {at.source.text(loop.iter)}:"
    moved = [one for one in loop.body if _clears(one)]
    edits = [dropped(at, one) for one in loop.body if one is step or one in moved]
    before = [f"{indent}    {at.source.text(one)}" for one in moved]
    last = loop.end_lineno or 0
    put = [Edit(shown(at.source.file), last + 1, last, None, f"{header}\n{indent}    {at.source.text(step)}")]
    if before:
        put.append(Edit(shown(at.source.file), loop.lineno, loop.lineno - 1, None, "\n".join([header, *before])))
    return joined(at.source, edits, put)


def _clears(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "zero_grad"
