"""Gradients that are never cleared, or cleared before a step has used them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.optimizers import backward_site, name_of, span_of
from explainer.training.sites import Site, statement

#: From which share of the steps on gradients of earlier ones are worth a trial; from which on that is a fact.
_OFTEN, _MOSTLY = 0.1, 0.75


@finder
def never_cleared(watcher: Any) -> Iterator[Finding]:
    """Steps that begin on the gradients of earlier ones; what a program writes into `.grad` itself does not add up."""
    added = watcher.notes.counts["backward"] >= 4
    for one in watcher.notes.optimizers if added and not watcher.closures else ():
        if one.looked < 4 or one.stale < 2 or one.stale < _OFTEN * one.looked or one.steps < 8:
            continue
        sure = one.stale >= max(_MOSTLY * one.looked, 4)
        site = backward_site(watcher, one)
        found = statement(site[0]) if site else None
        name = one.name or name_of(one)
        attempts = []
        if found is not None:
            edits = rewrite.before(found[0], found[1], f"{name}.zero_grad()")
            attempts.append(Attempt("clear", edits, {"name": name}))
            if one.zeroed_at and (other := statement(one.zeroed_at[0])) is not None and other[0] is found[0]:
                attempts.insert(0, Attempt("move", rewrite.moved(found[0], other[1], found[1], False), {"name": name}))
        names = {"name": name, "steps": one.steps, "zeroed": one.zeroed, "kind": one.kind}
        culprit = span_of(one.zeroed_at) if one.zeroed else span_of(site)
        yield Finding("gradients-never-cleared", names, culprit, tuple(attempts), proved=sure, seen=not sure, weight=10)


@finder
def steps_without_gradient(watcher: Any) -> Iterator[Finding]:
    """Steps that find no gradient, because it was cleared between backward and step."""
    notes = watcher.notes
    for one in notes.optimizers if not watcher.closures else ():
        if one.looked < 4 or one.lost < one.looked - 1 or one.steps < 8:
            continue
        order = _between(notes.events, one.number)
        if order is None:
            continue
        back, zero = order
        first, second = statement(back[0]), statement(zero[0])
        attempts = []
        if first is not None and second is not None and first[0] is second[0]:
            attempts = [
                Attempt(
                    "before", rewrite.moved(first[0], second[1], first[1], False), {"name": one.name or name_of(one)}
                )
            ]
        names = {"name": one.name or name_of(one), "line": back[0].line, "last": 0, "steps": one.steps}
        yield Finding(
            "gradients-cleared-before-step",
            names,
            span_of(zero),
            tuple(attempts),
            weight=10,
        )


def _between(events: Any, number: int) -> tuple[Site, Site] | None:
    """The places of a backward and of a clearing after it and before the step."""
    times = 0
    back: Site = ()
    zero: Site = ()
    for event in events:
        if event.name == "backward":
            back, zero = event.site, ()
        elif event.name == "zero" and event.optimizer == number and back:
            zero = event.site
        elif event.name == "step" and event.optimizer == number:
            times += bool(zero and back)
            if times > 3:
                return back, zero
    return None


@finder
def gradient_wiped(watcher: Any) -> Iterator[Finding]:
    """The gradient of one loss is cleared before the next one's backward, and the step sees the last one alone."""
    for one in watcher.notes.optimizers if not watcher.closures else ():
        windows = [found for found in _windows(watcher.notes.events, one.number) if found is not None]
        if len(windows) < 4 or len({back[0].line for back, _, _ in windows}) > 1:
            continue
        back, zero, last = windows[0]
        first, clearing, then = statement(back[0]), statement(zero[0]), statement(last[0])
        name = one.name or name_of(one)
        attempts = []
        step = statement(one.stepped_at[0]) if one.stepped_at else None
        if step is not None and clearing is not None and step[0] is clearing[0]:
            attempts.append(Attempt("step", rewrite.moved(step[0], clearing[1], step[1], True)))
        if first is not None and clearing is not None and first[0] is clearing[0] and back[0].code is zero[0].code:
            edits = rewrite.moved(first[0], clearing[1], first[1], False)
            attempts.append(Attempt("before", edits, {"name": name}))
        if first is not None and then is not None and first[0] is then[0]:
            attempts.append(Attempt("behind", rewrite.moved(first[0], first[1], then[1], True)))
        names = {"name": name, "line": back[0].line, "last": last[0].line, "steps": one.steps}
        yield Finding("gradients-cleared-before-step", names, span_of(zero, "zero_grad"), tuple(attempts),
                      proved=False, seen=True, weight=8)  # fmt: skip


def _windows(events: Any, number: int) -> Iterator[tuple[Site, Site, Site] | None]:
    """Of each step: a backward, the clearing of its gradients that no step used, and the last backward after that."""
    back, wiped, last = (), (), ()
    for event in events:
        if event.name == "step":
            if event.optimizer == number:
                yield (back, wiped, last) if wiped and last else None
            back, wiped, last = (), (), ()
        elif event.name == "backward":
            back, last = back or event.site, event.site if wiped else ()
        elif event.name == "zero" and event.optimizer == number and event.data and back:
            wiped = event.site
