"""Terms of one loss that are reduced in two ways: a sum beside a mean; a difference the wrong way round; a sign."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training.calls import ELEMENTWISE
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import Place, shown
from explainer.training.rewrite import argument, call_in, operand, replaced, with_keyword
from explainer.training.search import places

#: How many times its first value a loss lies below zero in the end; attempts of one finding.
_FAR, _MOST = 20.0, 4


@finder
def reductions(watcher: Any) -> Iterator[Finding]:
    """A term that is summed beside one that is averaged."""
    for seen, _ in watcher.notes.of("loss-terms-reduction-mismatch"):
        data = seen.data
        one, other = (_written(data[name]) for name in ("mean", "sum"))
        attempts = _within(one, other) if data["each"] else _over_batch(data["mean"], one, other)
        names = {
            "mean": data["mean"]["name"],
            "sum": data["sum"]["name"],
            "averaged": data["averaged"],
            "summed": data["summed"],
            "batch": data["batch"],
            "each": data["each"],
            "mean_line": one[1].lineno if one else 0,
            "sum_line": other[1].lineno if other else 0,
            "mean_name": _assigned(one),
            "sum_name": _assigned(other),
        }
        culprit = shown(one or other, seen.site[0])
        yield Finding("loss-terms-reduction-mismatch", names, culprit, tuple(attempts), proved=False,
                      seen=not data["each"], weight=6)  # fmt: skip


def _written(place: dict[str, Any]) -> Place | None:
    return call_in(place["at"][0], place["name"]) if place["at"] else None


def _over_batch(mean: dict[str, Any], one: Place | None, other: Place | None) -> Iterator[Attempt]:
    """Both summed over the batch, or both averaged."""
    if one is not None and mean["name"] != "mean" and not mean["built"]:
        yield from _attempt("sum-both", one, with_keyword(one[0], one[1], "reduction", '"sum"'))
    if other is not None and called(other[1]) == "sum":
        yield from _attempt("mean-both", other, _renamed(other, "mean"))


def _within(one: Place | None, other: Place | None) -> Iterator[Attempt]:
    """Both summed over the values of a sample, or both averaged."""
    if one is not None:
        yield from _attempt("sum-both", one, _summed(one))
    if other is not None and called(other[1]) == "sum":
        yield from _attempt("mean-both", other, _renamed(other, "mean"))


def _summed(place: Place) -> Any:
    """A mean over samples and their values as one over samples of a sum over values."""
    source, call = place
    if called(call) == "mean" and (call.args or call.keywords):
        return _renamed(place, "sum")
    if called(call) == "mean" and isinstance(call.func, ast.Attribute):
        return replaced(source, call, f"{source.text(call.func.value)}.flatten(1).sum(1).mean()")
    if called(call) not in ELEMENTWISE or argument(call, "reduction") is not None:
        return ()
    text = source.text(call)[:-1].rstrip().rstrip(",")
    return replaced(source, call, f'{text}, reduction="none").flatten(1).sum(1).mean()')


def _renamed(place: Place, name: str) -> Any:
    source, call = place
    text = source.text(call.func)
    return replaced(source, call.func, text[: len(text) - len(called(call))] + name)


def _attempt(name: str, place: Place, edits: Any) -> Iterator[Attempt]:
    if edits:
        yield Attempt(name, edits, culprit=shown(place, None))


def _assigned(found: Place | None) -> str:
    """The name that a call's statement gives its value to; the call's own name where there is none."""
    if found is None:
        return ""
    statement = found[0].statement_at(found[1].lineno)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return called(found[1])


@finder
def reversed_quantiles(watcher: Any) -> Iterator[Finding]:
    """`maximum(q * e, (q - 1) * e)` with `e = pred - target`: the level q is learned as 1 - q."""
    for seen, times in watcher.notes.of("quantile-reversed"):
        found = call_in(seen.site[0], "maximum", "max") if times > 2 else None
        names = _levels(found[0], found[1]) if found is not None else None
        taken = _taken(found[0], found[1], names[1]) if found is not None and names is not None else None
        if found is None or names is None or taken is None:
            continue
        source, level = found[0], names[0]
        new = f"{operand(source, taken.right)} - {operand(source, taken.left)}"
        told = {"text": source.text(taken), "new": new, "level": level, "loss": source.text(found[1])}
        attempts = (Attempt("swap", replaced(source, taken, new), told),)
        yield Finding("quantile-reversed", told, source.span(taken), attempts, proved=False, seen=True, weight=8)


def _levels(source: Source, call: ast.Call) -> tuple[str, str] | None:
    """The level and the difference of `maximum(q * e, (q - 1) * e)`, as the source has them."""
    products = [one for one in call.args if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult)]
    if len(products) != 2:
        return None
    rows = [[source.text(one.left).strip("()"), source.text(one.right).strip("()")] for one in products]
    for own, other in (rows, rows[::-1]):
        for level, error in (own, own[::-1]):
            if f"{level} - 1" in other and error in other:
                return level, error
    return None


def _taken(source: Source, call: ast.Call, error: str) -> ast.BinOp | None:
    """The difference that a name stands for in the function of a call, where it is given one there."""
    scope = source.scope_at(call.lineno)
    given = [one.value for one in ast.walk(scope) if isinstance(one, ast.Assign) and len(one.targets) == 1
             and source.text(one.targets[0]) == error]  # fmt: skip
    only = given[0] if len(given) == 1 else None
    return only if isinstance(only, ast.BinOp) and isinstance(only.op, ast.Sub) else None


@finder
def bottomless(watcher: Any) -> Iterator[Finding]:
    """The signs of the terms of a loss that has no least value, each turned."""
    losses = watcher.notes.losses
    if len(losses) < 20 or not losses[-1] < -_FAR * max(1.0, abs(losses[0])):
        return
    ran = [(source, one) for source, one in places.statements(watcher, places.LEARNING)
           if not places.behind_backward(watcher, source, one)]  # fmt: skip
    found = [turned for source, one in ran for turned in _turned(source, one)]
    found.sort(key=lambda one: one[0])
    first, last = (f"{value:.3g}" if math.isfinite(value) else "-inf" for value in (losses[0], losses[-1]))
    for at in range(0, len(found), _MOST):
        group = tuple(attempt for _, attempt in found[at : at + _MOST])
        names = {"first": first, "last": last, "steps": watcher.notes.steps}
        yield Finding("loss-without-bottom", names, group[0].culprit, group, proved=False, seen=True, fact=True)


def _turned(source: Source, statement: ast.stmt) -> Iterator[tuple[float, Attempt]]:
    """The factors, the signs and the sums of a statement, each with the other sign; the likeliest have the least."""
    for node in ast.walk(statement):
        inside = isinstance(source.parent_of(node), (ast.Subscript, ast.Slice, ast.keyword, ast.Tuple))
        new, cost = _other_sign(source, node) if isinstance(node, ast.expr) and not inside else ("", 0.0)
        if new:
            names = {"text": source.text(node), "new": new}
            yield cost, Attempt("turn", replaced(source, node, new), names, source.span(node))


def _other_sign(source: Source, node: ast.expr) -> tuple[str, float]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and _is_number(node.left):
        text = source.text(node)
        reduced = any(isinstance(one, ast.Call) and called(one) in ("mean", "sum") for one in ast.walk(node))
        return (text.lstrip("-") if text.startswith("-") else f"-{text}"), 0.0 if reduced else 2.0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not _is_number(node):
        return source.text(node.operand), 1.0
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        sign = "-" if isinstance(node.op, ast.Add) else "+"
        return f"{source.text(node.left)} {sign} {operand(source, node.right)}", 1.5
    return "", 0.0


def _is_number(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and isinstance(inner.value, (int, float))
