"""Weights that the program shares between two layers, and that come apart again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from explainer.source import Source
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.sites import Site, statement
from explainer.wrappers import bare, class_name, named_modules


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


@finder
def replaced_tied(watcher: Any) -> Iterator[Finding]:
    """A layer took the place of one whose parameter its owner had tied: `self.out.weight = self.embed.weight`."""
    told = set()
    for _, _, _, _, site in watcher.ties:
        tie = statement(site[0]) if site else None
        sides = _sides(*tie) if tie is not None else ()
        owner = tie[0].class_at(tie[1].lineno) if tie is not None and sides else None
        if tie is None or owner is None or owner.name in told:
            continue
        for module in _living(watcher, owner.name):
            found = _made_after(watcher, module, sides)
            if found is not None and _apart(module, sides):
                told.add(owner.name)
                holder = found[0].text(found[1].targets[0]).rpartition(".")[0]
                text = re.sub(r"\bself\b", holder, tie[0].text(tie[1]))
                names = {"text": text, "line": tie[1].lineno, "again": found[0].text(found[1]).split("\n")[0]}
                attempts = (Attempt("again", rewrite.after(found[0], found[1], text), {"text": text}),)
                yield Finding("tied-weights-broken", names, found[0].span(found[1]), attempts, weight=7)


def _sides(source: Source, tie: ast.stmt) -> tuple[str, ...]:
    """The ways from the object to the two parameters that a statement of its class makes one."""
    if not isinstance(tie, ast.Assign):
        return ()
    texts = [source.text(one) for one in (tie.targets[0], tie.value)]
    plain = all(re.fullmatch(r"self(\.\w+){2,}", one) for one in texts)
    return tuple(one.removeprefix("self.") for one in texts) if plain else ()


def _living(watcher: Any, name: str) -> Iterator[Any]:
    """The modules of the watched models that are of a class."""
    for root in watcher.notes.roots.values():
        module = root["of"]()
        if module is not None:
            yield from (one for _, one in named_modules(module) if class_name(bare(one)) == name)


def _apart(module: Any, sides: tuple[str, ...]) -> bool:
    """Whether two parameters of one shape that were one are two."""
    one, other = (_at(module, side) for side in sides)
    return one is not None and other is not None and one is not other and one.shape == other.shape


def _at(module: Any, way: str) -> Any:
    for name in way.split("."):
        module = getattr(module, name, None)
    return module


def _made_after(watcher: Any, module: Any, sides: tuple[str, ...]) -> tuple[Source, ast.Assign] | None:
    """The statement outside of the object's class that gave it one of the two layers."""
    for way in (side.rpartition(".")[0] for side in sides):
        site = watcher.notes.built.get(_at(module, way))
        found = statement(site[0]) if site else None
        if found is not None and isinstance(found[1], ast.Assign):
            text = found[0].text(found[1].targets[0])
            if text.endswith(f".{way}") and not text.startswith("self."):
                return found[0], found[1]
    return None


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
