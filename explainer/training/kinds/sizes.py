"""Sizes that fit and mean something else: a view in place of a permutation, samples taken for time."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder, ready
from explainer.training.kinds.losses import Place, shown
from explainer.training.sources import program_sources


@finder
def mixed_by_view(watcher: Any) -> Iterator[Finding]:
    """A view or reshape that asks for the sizes in another order than the values lie in."""
    found = list(map(ready, _single(watcher)))
    alike = [one.attempts[0].edits for one in found if one.attempts]
    joint = tuple(edit for edits in alike for edit in edits)
    apart = len({(edit.file, line) for edit in joint for line in range(edit.start_line, edit.end_line + 1)})
    if len(alike) > 1 and apart == sum(edit.end_line - edit.start_line + 1 for edit in joint):
        first = found[0].attempts[0]
        together = Attempt("permute", joint, first.names)
        found[0] = replace(found[0], attempts=(together, *found[0].attempts))
    yield from found


def _single(watcher: Any) -> Iterator[Finding]:
    for seen, times in watcher.notes.of("view-mixes-dimensions"):
        if times < 2 or not seen.site:
            continue
        found = rewrite.call_in(seen.site[0], seen.data["name"])
        before, after = seen.data["before"], seen.data["after"]
        attempts = []
        if found is not None:
            text = _permuted(found[0], found[1], before, after)
            edits = rewrite.replaced(found[0], found[1], text) if text else ()
            attempts = [Attempt("permute", edits, {"text": text})]
        names = {"before": list(before), "after": list(after), "name": seen.data["name"]}
        yield Finding(
            "view-mixes-dimensions",
            names,
            shown(found, seen.site[0]),
            tuple(attempts),
            proved=False,
            seen=True,
            weight=7,
        )


def _permuted(source: Source, call: ast.Call, before: tuple[int, ...], after: tuple[int, ...]) -> str:
    """The same sizes by a permutation."""
    if not isinstance(call.func, ast.Attribute):
        return ""
    method = not (isinstance(call.func.value, ast.Name) and call.func.value.id == "torch")
    value = source.text(call.func.value if method else call.args[0])
    if len(before) > len(after):
        given = ", ".join(source.text(one) for one in (call.args if method else call.args[1:]))
        if len(before) > 3 and len(after) == 2:
            return f"{value}.movedim(1, -1).reshape({given})"
        dims = (
            "1, 2"
            if before[0] == after[0] or after == (before[0] * before[2], before[1])
            else f"0, {before.index(after[0])}"
        )
        return f"{value}.transpose({dims}).reshape({given})"
    if len(before) == len(after):
        order = [before.index(size) for size in after]
        moved = [place for place, one in enumerate(order) if place != one]
        if len(moved) == 2:
            return f"{value}.transpose({moved[0]}, {moved[1]})"
        return f"{value}.permute({', '.join(map(str, order))})"
    sizes = [source.text(one) for one in (call.args if method else call.args[1:])]
    if len(sizes) == 1 and isinstance(call.args[-1], (ast.Tuple, ast.List)):
        sizes = [source.text(one) for one in call.args[-1].elts]
    if len(sizes) != 4:
        return ""
    return f"{value}.{called(call)}({sizes[0]}, {sizes[2]}, {sizes[1]}, {sizes[3]}).transpose(1, 2)"


@finder
def samples_for_time(watcher: Any) -> Iterator[Finding]:
    """A recurrent or attention layer that reads [time, batch, features] and is given the batch first."""
    for seen, times in watcher.notes.of("batch-taken-for-time"):
        if times < 3:
            continue
        kind, (time, batch) = seen.data["layer"], seen.data["sizes"]
        found = _built(watcher, kind, seen.data["built"])
        edits = rewrite.with_keyword(*found, "batch_first", "True") if found is not None else ()
        attempts = (Attempt("first", edits),)
        names = {"kind": kind, "time": time, "batch": batch}
        culprit = shown(found, seen.site[0] if seen.site else None)
        yield Finding("batch-taken-for-time", names, culprit, attempts, proved=False, seen=True, weight=8)


def _built(watcher: Any, kind: str, site: Any) -> Place | None:
    """The call that built a layer; of one that was copied, the only call in the program that builds any such."""
    found = rewrite.call_in(site[0], kind) if site else None
    if found is not None:
        return found
    nodes = [(source, node) for source in program_sources(watcher) for node in source.nodes()]
    calls = [(source, node) for source, node in nodes if isinstance(node, ast.Call) and called(node) == kind]
    return calls[0] if len(calls) == 1 else None


@finder
def along_the_batch(watcher: Any) -> Iterator[Finding]:
    """A table of positions that is read by the number of samples, and added along them."""
    for seen, times in watcher.notes.of("positions-along-batch"):
        frame = seen.data["at"][0] if seen.data["at"] else None
        found = frame.node() if frame is not None else None
        node = found.node if found is not None else None
        if times < 3 or found is None or not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
            continue
        source, upper = found.source, node.slice.upper
        text = source.text(upper) if upper is not None and node.slice.lower is None else ""
        length = re.sub(
            r"^len\((.*)\)$", r"\1.size(1)", text.replace("size(0)", "size(1)").replace("shape[0]", "shape[1]")
        )
        new = f"{source.text(node.value)}[:{length}].transpose(0, 1)"
        edits = rewrite.replaced(source, node, new) if length != text else ()
        names = {"text": source.text(node), "batch": seen.data["shape"][0], "time": seen.data["shape"][1], "new": new}
        attempts = (Attempt("turn", edits),)
        yield Finding("positions-along-batch", names, source.span(node), attempts, proved=False, seen=True, weight=6)
