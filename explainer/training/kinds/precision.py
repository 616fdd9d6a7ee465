"""Weights, or averages of them, in a type that is too coarse for the steps they are to take."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.strength import plain
from explainer.training.sources import program_sources

_LOW = ("bfloat16", "float16", "half")


@finder
def rounded_away(watcher: Any) -> Iterator[Finding]:
    """Steps most of which are less than half of the last digit, at several looks."""
    for seen, times in watcher.notes.of("rounded-away"):
        if times < 3:
            continue
        attempts = []
        for source in program_sources(watcher):
            for node, new in _coarse(source):
                edits = rewrite.replaced(source, node, new)
                attempts += [Attempt("wide", edits, {"new": new}, culprit=source.span(node))] if edits else []
        names = {**seen.data, "weight": plain(seen.data["weight"]), "line": seen.site[0].line if seen.site else 0}
        if attempts:
            culprit = attempts[0].culprit
            yield Finding("updates-rounded-away", names, culprit, tuple(attempts), proved=False, seen=True, weight=7)


def _coarse(source: Source) -> Iterator[tuple[ast.expr, str]]:
    """`torch.bfloat16`, `model.half()`: where a coarse type is asked for, with the wide one; autocast's stays."""
    cast = {
        id(inner)
        for one in source.nodes()
        if isinstance(one, ast.Call) and "autocast" in called(one)
        for inner in ast.walk(one)
    }
    for node in source.nodes():
        if isinstance(node, ast.Attribute) and node.attr in _LOW and id(node) not in cast:
            if isinstance(node.value, ast.Name) and node.value.id == "torch":
                yield node, "torch.float32"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOW:
            yield node, f"{source.text(node.func.value)}.float()"
