"""One part of each sample put in an order of its own: a batch taken apart, and one of the lists sorted."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.frozen import frozen
from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.sources import program_sources


@frozen
class Part:
    """The `place`-th entry of every sample of `whole`; the expression `taken` gives it in the samples' order."""

    whole: str
    place: int
    taken: str


@finder
def sorted_alone(watcher: Any) -> Iterator[Finding]:
    """`sorted(a for a, _ in batch)` beside `[b for _, b in batch]`: what stood side by side no longer does."""
    for source in program_sources(watcher):
        for scope in source.nodes():
            if isinstance(scope, (ast.FunctionDef, ast.Module)):
                yield from _in_scope(source, scope)


def _in_scope(source: Source, scope: Any) -> Iterator[Finding]:
    unzipped = {name: part for statement in scope.body for name, part in _unzipped(statement)}
    unzipped |= {name: Part(part.whole, part.place, name) for statement in scope.body
                 if isinstance(statement, ast.Assign) and (part := _projected(source, statement.value)) is not None
                 for name in _targets(source, statement) if name.isidentifier()}  # fmt: skip
    for statement in scope.body:
        for call in ast.walk(statement):
            if not isinstance(call, ast.Call) or called(call) != "sorted" or not call.args:
                continue
            part = _projected(source, call.args[0]) or unzipped.get(source.text(call.args[0]))
            others = _others(source, scope, unzipped, part) if part is not None else []
            if part is None or not others:
                continue
            edits = _whole_sorted(source, scope, statement, call, part)
            names = {
                "one": ", ".join(_targets(source, statement)) or source.text(call),
                "other": ", ".join(others),
                "whole": part.whole,
                "text": source.text(call),
                "batches": 0,
            }
            attempts = (Attempt("whole", edits, names),)
            yield Finding("sorted-apart", names, source.span(call), attempts, proved=False, seen=True, weight=8)


def _projected(source: Source, node: ast.AST) -> Part | None:
    """The part that `seq for seq, _ in batch` takes."""
    if not isinstance(node, (ast.ListComp, ast.GeneratorExp)) or len(node.generators) != 1:
        return None
    inner, element = node.generators[0], node.elt
    if inner.ifs or not isinstance(inner.iter, ast.Name):
        return None
    if isinstance(inner.target, ast.Tuple) and isinstance(element, ast.Name):
        names = [getattr(one, "id", "") for one in inner.target.elts]
        place = names.index(element.id) if names.count(element.id) == 1 else -1
    else:
        own = isinstance(element, ast.Subscript) and source.text(element.value) == source.text(inner.target)
        index = element.slice if own and isinstance(element, ast.Subscript) else None
        place = index.value if isinstance(index, ast.Constant) and type(index.value) is int else -1
    text = f"[{source.text(element)} for {source.text(inner.target)} in {inner.iter.id}]"
    return Part(inner.iter.id, place, text) if place >= 0 else None


def _unzipped(statement: ast.stmt) -> Iterator[tuple[str, Part]]:
    """The parts that `seqs, labels = zip(*batch)` takes."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(value, ast.Call) or called(value) != "zip" or len(value.args) != 1:
        return
    whole, (target, *_) = value.args[0], statement.targets  # type: ignore[attr-defined]
    if isinstance(whole, ast.Starred) and isinstance(whole.value, ast.Name) and isinstance(target, ast.Tuple):
        for place, one in enumerate(target.elts):
            if isinstance(one, ast.Name):
                yield one.id, Part(whole.value.id, place, one.id)


def _others(source: Source, scope: Any, unzipped: dict[str, Part], part: Part) -> list[str]:
    """What holds other parts of the same samples."""
    found = [name for name, one in unzipped.items() if one.whole == part.whole and one.place != part.place]
    for statement in scope.body:
        taken = [_projected(source, node) for node in ast.walk(statement)]
        if any(one is not None and one.whole == part.whole and one.place != part.place for one in taken):
            found += _targets(source, statement)
    return found


def _targets(source: Source, statement: ast.stmt) -> list[str]:
    return [source.text(one) for one in statement.targets] if isinstance(statement, ast.Assign) else []


def _whole_sorted(source: Source, scope: Any, statement: Any, call: ast.Call, part: Part) -> Any:
    """The samples sorted before they are taken apart, and their part taken as it comes."""
    first = next((one for one in scope.body if _reads(one, part.whole)), None)
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if first is None or first.lineno > call.lineno or None in given or len(call.args) != 1:
        return ()
    by = given.get("key")
    key = f"each[{part.place}]"
    if by is not None:
        key = f"{source.text(by)}({key})" if isinstance(by, ast.Name) else f"({source.text(by)})({key})"
    turned = f", reverse={source.text(given['reverse'])}" if "reverse" in given else ""
    text = f"{part.whole} = sorted({part.whole}, key=lambda each: {key}{turned})"
    same = getattr(statement, "value", None) is call and _targets(source, statement) == [part.taken]
    own = rewrite.without(source, statement) if same else rewrite.replaced(source, call, part.taken)
    return rewrite.together(source, rewrite.before(source, first, text), own)


def _reads(statement: ast.stmt, name: str) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load) for one in ast.walk(statement)
    )
