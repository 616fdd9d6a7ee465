"""Labels that are shifted against their inputs in two places."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import loss_call, shown
from explainer.training.sources import program_sources

#: The slices that leave out the first place, and the last one.
_SHIFTS = ("1:", ":-1")


@finder
def shifted_twice(watcher: Any) -> Iterator[Finding]:
    """A loss whose targets are the tokens two places ahead: one of two shifts is too many."""
    for seen, times in watcher.notes.of("labels-shifted-twice"):
        if times < 2 or not seen.site:
            continue
        near = [frame.source().function_at(frame.line) for frame in seen.site]
        found = [(source, one) for source in program_sources(watcher) for one in _shifting(source)]
        found.sort(key=lambda pair: pair[1] not in near)
        attempts = [_unshifted(source, function) for source, function in found]
        names = {"loss": seen.data["loss"]}
        culprit = next((one.culprit for one in attempts if one.edits), shown(loss_call(seen), seen.site[0]))
        yield Finding("labels-shifted-twice", names, culprit, tuple(attempts), proved=False, seen=True, weight=8)


def _slices(source: Source, function: ast.AST) -> list[tuple[ast.Subscript, ast.Slice]]:
    """The subscripts of a function that leave out the first or the last place of what is not its first dimension."""
    rows = [(one, one.slice.elts) for one in ast.walk(function)
            if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Tuple)]  # fmt: skip
    return [(one, part) for one, parts in rows for part in parts[1:2]
            if isinstance(part, ast.Slice) and source.text(part).replace(" ", "") in _SHIFTS]  # fmt: skip


def _shifting(source: Source) -> Iterator[ast.FunctionDef]:
    """The functions that shift something by a place: they have both slices."""
    for function in source.nodes():
        if isinstance(function, ast.FunctionDef):
            kinds = {source.text(part).replace(" ", "") for _, part in _slices(source, function)}
            if kinds == set(_SHIFTS):
                yield function


def _unshifted(source: Source, function: ast.FunctionDef) -> Attempt:
    """All places kept where a function leaves out the first or the last."""
    found = _slices(source, function)
    edits = rewrite.together(source, *(_whole(source, one, part) for one, part in found))
    return Attempt("unshift", edits, {"function": function.name}, source.span(found[0][0]))


def _whole(source: Source, one: ast.Subscript, part: ast.Slice) -> Any:
    """A subscript that leaves no place out; nothing is left of `x = x[:, 1:]`."""
    parts = one.slice.elts  # type: ignore[attr-defined]
    bare = all(other is part or source.text(other) == ":" for other in parts) and isinstance(one.ctx, ast.Load)
    own = source.parent_of(one)
    if bare and isinstance(own, ast.Assign) and [source.text(each) for each in own.targets] == [source.text(one.value)]:
        return rewrite.without(source, own)
    return rewrite.replaced(source, one, source.text(one.value)) if bare else rewrite.replaced(source, part, ":")
