"""Schedules that wait for a number to get worse, or that multiply a rate by a rate."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, source_of
from explainer.training import rewrite
from explainer.training.directions import better_by_rising
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import shown
from explainer.training.kinds.optimizers import built
from explainer.training.kinds.strength import plain

#: So many numbers must have been told; from which factor on a rate is left about as it is.
_LEAST, _WHOLE = 4, 0.1


@finder
def awaits_worse(watcher: Any) -> Iterator[Finding]:
    """`ReduceLROnPlateau(optimizer)` that is stepped with an accuracy: the rate is cut while that rises."""
    for entry in watcher.notes.schedulers:
        told = entry["told"]
        made = rewrite.call_in(entry["site"][0], entry["kind"]) if len(told) >= _LEAST and entry["site"] else None
        stepped = rewrite.call_in(entry["stepped_at"][0], "step") if made is not None and entry["stepped_at"] else None
        if made is None or stepped is None or not _contradicted(watcher, entry, *stepped):
            continue
        other = "max" if entry["mode"] == "min" else "min"
        attempts = (Attempt("mode", rewrite.with_keyword(*made, "mode", f'"{other}"')),)
        rates = watcher.notes.optimizers[entry["optimizer"]].rates
        names = {
            "kind": entry["kind"],
            "mode": entry["mode"],
            "other": other,
            "text": stepped[0].text(stepped[1]),
            "first": plain(told[0]),
            "last": plain(told[-1]),
            "start": plain(rates[0][0]),
            "end": plain(rates[-1][0]),
        }
        culprit = shown(made, None)
        yield Finding("plateau-mode-contradicted", names, culprit, attempts, proved=False, seen=True, weight=7)


def _contradicted(watcher: Any, entry: dict[str, Any], source: Source, call: ast.Call) -> bool:
    """Whether the rate was cut while the number got better, which a name or how it is computed must not deny."""
    told, number = entry["told"], rewrite.argument(call, "metrics", 0)
    rates = watcher.notes.optimizers[entry["optimizer"]].rates if entry["optimizer"] is not None else []
    if number is None or len(rates) < 2 or not rates[-1][0] < rates[0][0]:
        return False
    up = better_by_rising(source, number)
    risen = sorted(told[len(told) // 2 :])[0] > told[0]
    fallen = sorted(told[len(told) // 2 :])[-1] < told[0]
    learned = watcher.notes.losses[-1:] < watcher.notes.losses[:1]
    if entry["mode"] == "min":
        return up is True or (up is None and risen and learned)
    return up is False or (up is None and fallen and learned)


@finder
def rate_for_factor(watcher: Any) -> Iterator[Finding]:
    """`LambdaLR(optimizer, lambda step: cfg.lr * ...)`: what the function gives multiplies the rate that is there."""
    for entry in watcher.notes.schedulers:
        if entry["optimizer"] is None or not entry["site"]:
            continue
        one = watcher.notes.optimizers[entry["optimizer"]]
        making, found = rewrite.call_in(entry["site"][0], "LambdaLR"), built(one)
        given = rewrite.argument(found[1], "lr", 1) if found is not None else None
        base, top = one.settings.get("lr", 0.0), max((rate for rate, _ in one.rates), default=0.0)
        if making is None or found is None or given is None or not 0 < top < _WHOLE * base:
            continue
        rate = found[0].text(given)
        own = Attempt("base", rewrite.replaced(found[0], given, "1.0"), {"rate": rate}, found[0].span(found[1]))
        names = {"rate": rate, "base": plain(base), "top": plain(top), "line": making[1].lineno}
        for source, function, texts in _functions(entry):
            reads = [node for node in ast.walk(function) if _is_rate(node, texts, base)]
            if reads:
                whole = _without_rate(source, function, reads)
                told = {**names, "rate": source.text(reads[0])}
                culprit = whole[0].culprit if whole else source.span(reads[0])
                yield Finding("rate-for-factor", told, culprit, (*whole, own), proved=False, seen=True, weight=9)


def _without_rate(source: Source, function: ast.AST, reads: list[Any]) -> list[Attempt]:
    """The factor alone, where the rate is read in products only."""
    factors = list(_products(source, function, reads))
    edits = rewrite.together(source, *(rewrite.replaced(source, node, text) for node, text in factors))
    names = {"rate": source.text(reads[0])}
    return [Attempt("factor", edits, names, source.span(factors[0][0]))] if len(factors) == len(reads) else []


def _functions(entry: dict[str, Any]) -> Iterator[tuple[Source, ast.AST, frozenset[str]]]:
    """The functions that a LambdaLR was given, as they stand in the program, and how they read the rate."""
    for code, texts in entry["factors"]:
        source, line = source_of(code.co_filename), code.co_firstlineno
        lambdas = [one for one in source.nodes() if isinstance(one, ast.Lambda) and one.lineno == line]
        function = lambdas[0] if code.co_name == "<lambda>" and lambdas else source.function_at(line)
        if function is not None:
            yield source, function, texts


def _is_rate(node: ast.AST, texts: frozenset[str], base: float) -> bool:
    """Whether an expression is the optimizer's own rate, by its value."""
    if isinstance(node, ast.Constant):
        return type(node.value) is float and node.value == base
    return isinstance(getattr(node, "ctx", None), ast.Load) and ast.unparse(node) in texts


def _products(source: Source, function: ast.AST, reads: list[Any]) -> Iterator[tuple[ast.BinOp, str]]:
    """The products with the optimizer's own rate, and what is left without it."""
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            if node.left in reads:
                yield node, rewrite.operand(source, node.right)
            elif node.right in reads:
                yield node, rewrite.operand(source, node.left)
