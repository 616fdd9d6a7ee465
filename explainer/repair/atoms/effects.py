"""Statements without the effect that is meant: a result that nobody takes, one in a loop that belongs behind it."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.frozen import replace
from explainer.repair.atoms.common import row_of, statement_of, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import Source, called, walked

#: Methods of tensors that change nothing and hand back another; those that also modules have change a module.
_PURE = ("detach", "view", "reshape", "unsqueeze", "squeeze", "transpose", "permute", "flatten", "contiguous", "clone",
         "expand", "repeat", "masked_fill", "masked_scatter", "clamp", "softmax", "log_softmax", "scatter",
         "scatter_add",
         "index_add", "index_fill", "long", "int", "bool", "add", "mul", "sub", "div", "t", "roll", "flip")  # fmt: skip
_OF_BOTH = ("to", "cpu", "cuda", "float", "half", "double", "bfloat16")
_NAMED = (ast.Name, ast.Attribute, ast.Subscript)
_LOOPS = (ast.For, ast.While)
_PLAIN = (ast.Expr, ast.Assign, ast.AugAssign, ast.Return)
#: How far below what fails a condition may stand that it belongs under.
_BETWEEN = 6
#: What is done once for each batch, or would train less.
_TRAINING = {"backward", "step", "zero_grad"}


def dropped(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`x.detach()` -> `x = x.detach()`: what only computes, and nobody takes its result, anywhere in the program."""
    if spot.role != "crash" or spot.distance:
        return
    for source in evidence.sources_seen():
        for node, method in _alone(source):
            if _pure(method, spot, source):
                yield from _taken(replace(spot, place=Place(source, node)), node, method.value)


def drops_results(source: Source) -> bool:
    """Whether a file computes something of which nobody takes the result."""
    return any(method.attr in _PURE and isinstance(method.value, _NAMED) for _, method in _alone(source))


def _alone(source: Source) -> Iterator[tuple[ast.Expr, ast.Attribute]]:
    """The statements that call a method and do nothing else."""
    for node in source.nodes():
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(node, ast.Expr) and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            yield node, call.func


def _pure(method: ast.Attribute, spot: Spot, source: Source) -> bool:
    """Whether a method hands back another tensor: of a module, which is changed in place, nothing is known."""
    owner = method.value
    if not isinstance(owner, _NAMED):
        return False
    tensor = isinstance(spot.scope.get(ast.unparse(owner)), list)
    return method.attr in _PURE or (method.attr in _OF_BOTH and tensor and source is spot.place.source)


def _taken(spot: Spot, node: ast.Expr, owner: ast.expr) -> Iterator[Offer]:
    """A statement as an assignment; of one that goes over the entries of something, all of them."""
    source, around = spot.place.source, spot.place.source.parent_of(node)
    if not isinstance(around, ast.For) or not isinstance(around.target, ast.Name):
        yield Offer("dropped", spot, node, f"{text(spot, owner)} = {text(spot, node)}", "taken")
    elif (
        around.target.id == ast.unparse(owner)
        and around.body == [node]
        and isinstance(around.iter, (ast.Name, ast.Attribute))
    ):
        rows = source.text(around.iter)
        made = f"{rows} = tuple({text(spot, node)} for {around.target.id} in {rows})"
        yield Offer("dropped", spot, row_of([around]), made, "taken", 0.0, node)


def level(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """The last statement of a loop behind it, or the one behind a loop into it: it stands at the wrong level.

    And what fails, with all up to the condition below it, under that condition.
    """
    yield from _under_condition(spot)
    source = spot.place.source
    scope = source.scope_at(spot.place.line) if spot.role in ("crash", "caller", "returned") else None
    for loop in walked(scope) if scope is not None else ():
        if not isinstance(loop, _LOOPS) or loop.orelse:
            continue
        last, block = loop.body[-1], source.block_of(loop)
        if len(loop.body) > 1 and isinstance(last, _PLAIN) and not _trains(last):
            yield Offer("level", spot, row_of([loop]), _without(source, loop, last), "out", 0.0, last)
        behind = next((one for one in block if one.lineno > (loop.end_lineno or 0)), None)
        if isinstance(behind, (ast.Expr, ast.AugAssign)) and not _trains(behind):
            inner = " " * (loop.body[0].col_offset) + source.text(behind)
            whole = f"{source.text(loop)}\n{inner}"
            yield Offer("level", spot, row_of([loop, behind]), whole, "in", 0.4, behind)


def _under_condition(spot: Spot) -> Iterator[Offer]:
    """`unscale(); clip()` above `if step % 4 == 0: update()` -> both in the `if`: they are meant for each update."""
    source, own = spot.place.source, statement_of(spot, spot.place.node)
    if spot.role != "crash" or not isinstance(own, (ast.Expr, ast.Assign)):
        return
    block = source.block_of(own)
    behind = block[block.index(own) :]
    at = next((at for at, one in enumerate(behind[:_BETWEEN]) if isinstance(one, ast.If) and not one.orelse), 0)
    condition = behind[at]
    if at and isinstance(condition, ast.If):
        lines = source.lines[own.lineno - 1 : condition.lineno - 1]
        head = source.lines[condition.lineno - 1 : condition.body[0].lineno - 1]
        rest = source.lines[condition.body[0].lineno - 1 : condition.end_lineno]
        inner = textwrap.indent("\n".join(lines), " " * (condition.body[0].col_offset - own.col_offset))
        whole = "\n".join([*head, inner.rstrip(), *rest])[own.col_offset :]
        yield Offer("level", spot, row_of(behind[: at + 1]), whole, "under", 0.2, own)


def _trains(statement: ast.stmt) -> bool:
    return any(isinstance(one, ast.Call) and called(one) in _TRAINING for one in walked(statement))


def _without(source: Source, loop: ast.For | ast.While, last: ast.stmt) -> str:
    """A loop's source with its last statement behind it."""
    lines = source.lines[loop.lineno - 1 : last.lineno - 1]
    kept = "\n".join(lines)[loop.col_offset :].rstrip()
    moved = textwrap.dedent(" " * last.col_offset + source.text(last))
    return f"{kept}\n{textwrap.indent(moved, ' ' * loop.col_offset)}"
