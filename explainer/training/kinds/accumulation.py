"""Gradients that are added up over several batches: whether the loss is divided by how many there are."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any

from explainer.source import Source
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import shown
from explainer.training.sites import Site


@finder
def undivided(watcher: Any) -> Iterator[Finding]:
    """Several backwards for each step, of a mean that is divided by another number than theirs."""
    notes = watcher.notes
    stepping = [one for one in notes.optimizers if one.steps]
    if len(stepping) != 1 or watcher.closures or len(notes.backwards) != 1:
        return
    times = _times(notes.events)
    ((place, site),) = notes.backwards.items()
    known = watcher.divided.get(place)
    if times < 2 or known is None or not site:
        return
    divisor = known["divisor"]
    if known["reduction"] != "mean" or abs(divisor - times) < 1e-3 * times:
        return
    edits = _divided(site, known["site"], divisor, times)
    names = {"times": times, "divisor": f"{divisor:g}", "steps": stepping[0].steps, "factor": f"{times / divisor:g}"}
    culprit = shown(rewrite.call_in(site[0], "backward"), site[0])
    attempts = (Attempt("divide", edits, {"times": times}),)
    yield Finding("accumulation-divided-wrongly", names, culprit, attempts, proved=False, seen=True, weight=6)


def _times(events: Any) -> int:
    """How many backwards come before a step, as a rule; 0 where gradients are cleared in between."""
    counts: Counter[int] = Counter()
    count = 0
    for event in events:
        if event.name == "backward":
            count += 1
        elif event.name == "zero":
            count = 0
        elif event.name == "step":
            counts[count] += 1
            count = 0
    most, often = counts.most_common(1)[0] if counts else (0, 0)
    return most if often > 2 and often >= 0.8 * sum(counts.values()) else 0


def _divided(site: Site, made: Site, divisor: float, times: int) -> Any:
    """The loss divided by the number of batches: its divisor, or the loss itself where it has none."""
    if divisor != 1 and made:
        node = made[0].node()
        if node is not None and isinstance(node.node, ast.BinOp) and isinstance(node.node.op, ast.Div):
            return rewrite.replaced(node.source, node.node.right, str(times))
        return ()
    found: tuple[Source, ast.Call] | None = rewrite.call_in(site[0], "backward")
    if found is None or not isinstance(found[1].func, ast.Attribute):
        return ()
    loss = found[1].func.value
    return rewrite.replaced(found[0], loss, f"({found[0].text(loss)} / {times})")
