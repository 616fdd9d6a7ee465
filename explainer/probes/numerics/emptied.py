"""Masks that leave nothing of a row whose sum divides: labels that all are ignored, a filter that drops every token."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.place import as_operand, bound_above, place_of
from explainer.facts import NanFact, SpanFact
from explainer.probes import probe
from explainer.probes.files import sources
from explainer.probes.numerics.births import LIBRARIES, last_value
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called, source_of, stored

_TRUTHS = ("eq", "ne", "gt", "lt", "ge", "le", "isin", "logical_not", "logical_and", "logical_or", "bool")
_FILLS = ("masked_fill", "masked_fill_", "where")
_SOFTMAX = ("softmax", "log_softmax")
_SIDES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@probe
def counted_mask(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """The mask that a divisor counts: `m` of `m.sum(1)`, where a comparison made it; its statement in this function.

    `detail`: `mask` its name, `value` what it is made of.
    """
    found = _divisor(scene, of)
    if found is None:
        return None
    source, node = found
    summed = last_value(source, node) if isinstance(node, ast.Name) else node
    mask = _summed(source, summed)
    if not isinstance(mask, (ast.Name, ast.Attribute)):
        return None
    made = bound_above(source.scope_at(mask.lineno), source.text(mask), mask.lineno)
    if made is None or not any(map(_truth, ast.walk(made.value))):
        return None
    return span_fact(source, made, mask=source.text(mask), value=source.text(made.value))


def _divisor(scene: Scene, of: NanFact | None) -> tuple[Source, ast.AST] | None:
    if of is None or of.operand is None:
        return None
    node = place_of(scene.source, of.operand).node
    return source_of(of.operand.span.file), node


def _summed(source: Source, node: ast.AST | None) -> ast.AST | None:
    """What is summed: `m` of `m.sum(1)`, `torch.sum(m, 1)` and `m.float().sum()`."""
    if not isinstance(node, ast.Call) or called(node) not in ("sum", "float", "long", "int", "to"):
        return None
    inner = _owner(source, node)
    return _summed(source, inner) or inner if isinstance(inner, ast.Call) else inner


def _owner(source: Source, call: ast.Call) -> ast.AST | None:
    """What a method is called on, or a function of torch is given first."""
    method = isinstance(call.func, ast.Attribute) and source.text(call.func.value) not in LIBRARIES
    return call.func.value if method else next(iter(call.args), None)  # type: ignore[attr-defined]


def _truth(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and called(node) in _TRUTHS)


@probe
def dropped_first(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """The comparison of sums so far by which a filter drops what crosses the bound, and so the first and largest too.

    Only where what is divided by its own sum was set to zero under it, `s[s.cumsum(-1) > p] = 0`, and before a softmax
    the only such comparison of the program. `detail`: `bound`, `sums` and `sorted`, the source of the three; `to` the
    comparison of what comes before each; `fill` what drops, if known.
    """
    if of is not None and of.operator in _SOFTMAX:
        return _only(scene)
    found = _divisor(scene, of)
    summed = _summed(*found) if found is not None else None
    if found is None or summed is None or of is None:
        return None
    source, rows = found[0], found[0].text(summed)
    for fill, mask in _dropped(source, rows, of.span.line):
        made = last_value(source, mask) if isinstance(mask, ast.Name) else mask
        compare = made.operand if isinstance(made, ast.UnaryOp) else made
        if isinstance(compare, ast.Compare) and len(compare.ops) == 1 and isinstance(compare.ops[0], _SIDES):
            fact = _before(source, compare, rows, fill)
            if fact is not None:
                return fact
    return None


def _only(scene: Scene) -> SpanFact | None:
    every = ((source, one) for source in sources(scene) for one in source.nodes())
    compared = [(source, one) for source, one in every if isinstance(one, ast.Compare) and len(one.ops) == 1]
    sides = [(source, one) for source, one in compared if isinstance(one.ops[0], _SIDES) and not _mended(source, one)]
    facts = [_before(source, one, "", None) for source, one in sides]
    found = [one for one in facts if one is not None]
    return found[0] if len(found) == 1 else None


def _mended(source: Source, compare: ast.Compare) -> bool:
    """Whether parts of a mask are written anew behind the comparison that made it: `mask[..., 0] = False`."""
    made = source.statement_at(compare.lineno)
    names = {source.text(one) for one in made.targets} if isinstance(made, ast.Assign) else set()
    targets = [one.targets[0] for one in source.nodes() if isinstance(one, ast.Assign)]
    return any(isinstance(one, ast.Subscript) and source.text(one.value) in names for one in targets)


def _dropped(source: Source, rows: str, line: int) -> Iterator[tuple[ast.stmt, ast.AST]]:
    """The statements above a line that set a part of a tensor to zero, each with the mask of that part."""
    scope = source.scope_at(line)
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) or node.lineno >= line:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Subscript) and source.text(target.value) == rows and _zero(node.value):
            yield node, target.slice
        elif isinstance(node.value, ast.Call) and called(node.value) in _FILLS:
            given = [one for one in node.value.args if source.text(one) != rows]
            if rows in (
                source.text(target) if target is not None else "",
                source.text(_owner(source, node.value) or node),
            ):
                yield from ((node, one) for one in given[:1])
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult) and source.text(node.target) == rows:
            yield node, node.value
        elif isinstance(node, ast.Assign) and source.text(node.targets[0]) == rows:
            yield from ((node, one) for one in _factors(node.value) if source.text(one) != rows)


def _factors(node: ast.AST) -> list[ast.expr]:
    """Both sides of a product."""
    return [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else []


def _zero(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _before(source: Source, compare: ast.Compare, rows: str, fill: ast.stmt | None) -> SpanFact | None:
    """The comparison with each value taken off its sum so far, where its left side is such sums of sorted values."""
    sums, bound = compare.left, source.text(compare.comparators[0])
    made = last_value(source, sums) if isinstance(sums, ast.Name) else sums
    if not isinstance(made, ast.Call) or called(made) != "cumsum":
        return None
    values = _owner(source, made)
    ordered = _owner(source, values) if isinstance(values, ast.Call) and called(values) in _SOFTMAX else values
    if values is None or ordered is None or not _descending(source, ordered):
        return None
    sign = source.text(compare)[len(source.text(sums)) :]
    text, value = source.text(sums), as_operand(source.text(values))
    about = {"bound": bound, "sums": text, "sorted": value, "to": f"{text} - {value}{sign}", "rows": rows}
    about_fill = span_fact(source, fill) if fill is not None else None
    return span_fact(source, compare, None, **about, fill=about_fill)  # type: ignore[arg-type]


def _descending(source: Source, values: ast.AST) -> bool:
    """Whether values were sorted from the largest down, in the statement that gave them their name."""
    scope = source.scope_at(values.lineno)  # type: ignore[attr-defined]
    for node in ast.walk(scope) if isinstance(values, ast.Name) and scope is not None else ():
        if isinstance(node, ast.Assign) and values.id in stored(node):  # type: ignore[attr-defined]
            for call in ast.walk(node.value):
                if isinstance(call, ast.Call) and called(call) in ("sort", "topk"):
                    down = any(word.arg == "descending" and _true(word.value) for word in call.keywords)
                    return down or called(call) == "topk"
    return False


def _true(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
