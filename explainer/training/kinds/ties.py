"""Weights that the program shares between two layers, and that come apart again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.sites import Site, statement


@finder
def untied(watcher: Any) -> Iterator[Finding]:
    """One parameter was given to two layers, and later one of them got another one."""
    for number, (first, name, second, other, site) in enumerate(watcher.ties):
        held = getattr(first(), name, None), getattr(second(), other, None)
        if held[0] is None or held[1] is None or held[0] is held[1] or held[0].shape != held[1].shape:
            continue
        tie = statement(site[0]) if site else None
        broken = _breaking(watcher, second(), other, number) or _breaking(watcher, first(), name, number)
        if tie is None or not isinstance(tie[1], ast.Assign) or not broken:
            continue
        found = statement(broken[0])
        if found is None:
            continue
        text = tie[0].text(tie[1])
        edits = rewrite.after(found[0], found[1], text) if _same_names(tie, found) else ()
        names = {"text": text, "line": tie[1].lineno, "again": found[0].text(found[1]).split("\n")[0]}
        attempts = (Attempt("again", edits, {"text": text}),)
        yield Finding("tied-weights-broken", names, found[0].span(found[1]), attempts, weight=7)


def _breaking(watcher: Any, layer: Any, name: str, number: int) -> Site:
    """Where a layer was given another parameter after a tie, last of all."""
    known = watcher.given.get((id(layer), name))
    return known[1] if known is not None and known[0]() is layer and known[1] != watcher.ties[number][4] else ()


def _same_names(one: tuple[Source, ast.stmt], other: tuple[Source, ast.stmt]) -> bool:
    """Whether a statement means the same beside another one: both are of one class, or of one function."""
    source, here, there = one[0], one[1].lineno, other[1].lineno
    if source is not other[0]:
        return False
    owner = source.class_at(here)
    if owner is not None:
        return source.class_at(there) is owner
    return source.function_at(here) is source.function_at(there)
