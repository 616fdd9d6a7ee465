"""Edits of what a custom autograd Function keeps for backward: plain values as attributes of its context."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from explainer.diagnosis import Edit, Span
from explainer.edits.lines import EditError, changed, indentation
from explainer.edits.place import Place
from explainer.source import Source, called, walked


def keep_on_context(at: Place, plain: Sequence[int]) -> tuple[Edit, ...]:
    """`ctx.save_for_backward(x, rate)` -> `ctx.save_for_backward(x)` and `ctx.rate = rate`, and so in backward.

    `plain` are the positions of the arguments that are no tensors. EditError where backward reads what was saved in
    another way than by unpacking or by number.
    """
    call = at.node
    if not isinstance(call, ast.Call) or called(call) != "save_for_backward":
        raise EditError("nothing is saved here")
    names = {position: _name(at.source, call.args[position]) or f"value{position}" for position in plain}
    if len(set(names.values())) < len(names):
        raise EditError("two values would have one name")
    owner = at.source.class_at(call.lineno)
    methods = {getattr(one, "name", ""): one for one in getattr(owner, "body", ())}
    backward = methods.get("backward") or methods.get("vjp")
    if not isinstance(backward, ast.FunctionDef) or not backward.args.args:
        raise EditError("the class has no backward")
    changes = [_saving(at, call, names), *_reading(at.source, backward, len(call.args), names)]
    return changed(at.source, changes)


def _name(source: Source, node: ast.expr) -> str:
    """The attribute for a value: `rate`, `x_shape` of `x.shape`; empty where it has no name."""
    text = source.text(node).replace("()", "").replace(".", "_")
    return text if text.isidentifier() else ""


def _saving(at: Place, call: ast.Call, names: dict[int, str]) -> tuple[Span, str]:
    """The statements that keep tensors as before, and the others as attributes."""
    context, indent = at.source.text(call.func.value), indentation(at.source, call.lineno)  # type: ignore[attr-defined]
    tensors = [at.source.text(one) for position, one in enumerate(call.args) if position not in names]
    lines = [f"{context}.save_for_backward({', '.join(tensors)})"] if tensors else []
    lines += [f"{context}.{name} = {at.source.text(call.args[position])}" for position, name in names.items()]
    return at.span, f"\n{indent}".join(lines)


def _reading(
    source: Source, backward: ast.FunctionDef, count: int, names: dict[int, str]
) -> Iterator[tuple[Span, str]]:
    """The changes of backward: its unpacking without the plain values, and numbers of what is left."""
    context = backward.args.args[0].arg
    holders = set()
    for one in [node for node in walked(backward) if getattr(node, "attr", "") == "saved_tensors"]:
        statement = next((s for s in walked(backward) if isinstance(s, ast.Assign) and s.value is one), None)
        target = statement.targets[0] if statement is not None else None
        if statement is not None and isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == count:
            yield _unpacked(source, statement, target.elts, context, names)
        else:
            holders.add(source.text(target if isinstance(target, ast.Name) else one))
    for holder in holders:
        yield from _numbered(source, backward, holder, context, names)


def _unpacked(
    source: Source, statement: ast.Assign, targets: Sequence[ast.expr], context: str, names: dict[int, str]
) -> tuple[Span, str]:
    kept = [source.text(one) for position, one in enumerate(targets) if position not in names]
    left = f"{kept[0]}," if len(kept) == 1 else ", ".join(kept)
    lines = [f"{left} = {source.text(statement.value)}"] if kept else []
    lines += [f"{source.text(targets[position])} = {context}.{name}" for position, name in names.items()]
    return source.span(statement), f"\n{indentation(source, statement.lineno)}".join(lines)


def _numbered(
    source: Source, backward: ast.FunctionDef, holder: str, context: str, names: dict[int, str]
) -> Iterator[tuple[Span, str]]:
    """`saved[1]` -> `ctx.rate`, and `saved[2]` -> `saved[1]`."""
    uses = [one for one in walked(backward) if isinstance(one, ast.Subscript) and source.text(one.value) == holder]
    for one in uses:
        number = one.slice.value if isinstance(one.slice, ast.Constant) else None
        if type(number) is not int or number < 0:
            raise EditError("what was saved is not read by number")
        if number in names:
            yield source.span(one), f"{context}.{names[number]}"
        elif any(position < number for position in names):
            yield source.span(one), f"{holder}[{number - sum(position < number for position in names)}]"
