"""Edits of an evaluation that does not show what was learned: other weights, another dimension, never the metric."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.search import places, slips, standardizing, whole
from explainer.training.search.expressions import defined, dimensions, turned_shares
from explainer.training.search.offer import Offer, leaving_out, replacing
from explainer.training.sources import program_sources

#: Calls whose dimension says which number of an output counts.
_CHOICES = ("argmax", "argmin", "max", "min", "softmax", "log_softmax", "topk", "sort", "argsort")
#: What takes the largest or the smallest, each with the other; what says which by a keyword, and its usual value.
_ENDS = {"argmax": "argmin", "argmin": "argmax", "max": "min", "min": "max"}
_ORDERS = {"topk": ("largest", True), "sort": ("descending", False), "argsort": ("descending", False)}
#: What is done to a model between its training and its evaluation.
_DONE = ("load_state_dict", "half", "bfloat16", "to", "copy_", "apply", "requires_grad_")


def offers(watcher: Any) -> Iterator[Offer]:
    """All offers for a run whose evaluation lies far from its training."""
    models = {root["name"]: root["kind"] for root in watcher.notes.roots.values() if root["name"]}
    evaluating = places.statements(watcher, places.EVALUATING)
    for source, statement in evaluating:
        if isinstance(statement, ast.Assign):
            yield from whole.left_out(source, statement)
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and called(node) in _CHOICES:
                yield from dimensions(source, node, watcher.sizes)
            elif isinstance(node, ast.Call) and source.text(node.func) in models:
                for given in node.args[:1]:
                    if isinstance(given, ast.Call) and given.args and defined(source, source.text(given.func)):
                        yield replacing(source, given, source.text(given.args[0]), 0.6)
                kind = models[source.text(node.func)]
                others = [name for name, one in models.items() if one == kind and name != source.text(node.func)]
                yield from (replace(replacing(source, node.func, name, 0.5), makeshift=True) for name in others)
            elif isinstance(node, ast.Call) and called(node) == "dropout" and not _told(node):
                yield Offer("replace", source, node, rewrite.with_keyword(source, node, "training", "False"),
                            "dropout(..., training=False)", 0.3)  # fmt: skip
    inside = [(source, node) for source, one in evaluating for node in ast.walk(one) if isinstance(node, ast.Call)]
    for source, call in [*inside, *places.afterwards(watcher)]:
        yield from _other_end(source, call)
    for source, statement in places.statements(watcher, places.LEARNING):
        yield from turned_shares(source, statement)
    for source in program_sources(watcher):
        yield from _weights(source)
        yield from whole.drawn_once(source)
        yield from slips.fitted(source)
        yield from standardizing.of_first(source)
        ran = [one for where, one in evaluating if where is source]
        yield from (replace(one, cost=0.5) for one in slips.in_order(source, ran))


def _other_end(source: Source, call: ast.Call) -> Iterator[Offer]:
    """The smallest in place of the largest, and the other way round: of distances the nearest, of scores the best."""
    name = called(call)
    if name in _ENDS and isinstance(call.func, ast.Attribute):
        end = source.text(call.func)[: -len(name)] + _ENDS[name]
        yield replacing(source, call.func, end, 0.6)
    elif name in _ORDERS:
        keyword, usual = _ORDERS[name]
        given = rewrite.argument(call, keyword)
        value = getattr(given, "value", usual) if given is None or isinstance(given, ast.Constant) else None
        if isinstance(value, bool):
            edits = rewrite.with_keyword(source, call, keyword, str(not value))
            new = f"{source.text(call.func)}(..., {keyword}={not value})"
            yield Offer("replace", source, call, edits, new, 0.4, reason="end")


def _told(call: ast.Call) -> bool:
    return any(keyword.arg == "training" for keyword in call.keywords) or len(call.args) > 2


def _weights(source: Source) -> Iterator[Offer]:
    """States that are kept as copies, and what changes a model left out."""
    for node in source.nodes():
        call = node.value if isinstance(node, (ast.Assign, ast.Expr)) else None
        if not isinstance(call, ast.Call):
            continue
        text = source.text(call)
        if isinstance(node, ast.Expr) and called(call) in _DONE:
            yield leaving_out(source, node, 0.6)
        elif called(call) == "state_dict":
            yield replacing(source, call, f"{{k: v.clone() for k, v in {text}.items()}}", 0.3)
        elif text.endswith(".state_dict().items())"):
            yield replacing(source, call, f"{{k: v.clone() for k, v in ({text}).items()}}", 0.4)
