"""Mixed precision: gradients that are clipped while they are still scaled; steps that are seldom taken."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import shown
from explainer.training.sites import Site, statement


@finder
def clipped_while_scaled(watcher: Any) -> Iterator[Finding]:
    """A clip between backward and the scaler's step without `unscale_` before it."""
    wrong, right = 0, 0
    clip: Site = ()
    where: Site = ()
    scale = 0.0
    unscaled = pending = False
    for event in watcher.notes.events:
        if event.name == "backward":
            unscaled = pending = False
        elif event.name == "unscale" and not pending:
            unscaled = True
        elif event.name == "clip":
            pending, clip = not unscaled, event.site
            right += unscaled
        elif event.name == "scaled":
            wrong += pending
            where, scale = event.site, scale or event.data
            pending = False
    if wrong < 3 or right or scale <= 1 or not clip or not where:
        return
    text, edits = _unscaled(clip, where)
    names = {"scale": f"{scale:.0f}", "line": where[0].line, "text": text}
    found = rewrite.call_in(clip[0], "clip_grad_norm_", "clip_grad_value_")
    attempts = (Attempt("unscale", edits, {"text": text}),)
    yield Finding("clipping-scaled-gradients", names, shown(found, clip[0]), attempts, weight=9)


def _unscaled(clip: Site, where: Site) -> tuple[str, Any]:
    """The call that divides the gradients, before the clip."""
    first, call = statement(clip[0]), rewrite.call_in(where[0], "step")
    if first is None or call is None or not isinstance(call[1].func, ast.Attribute) or not call[1].args:
        return "unscale_", ()
    text = f"{call[0].text(call[1].func.value)}.unscale_({call[0].text(call[1].args[0])})"
    return text, rewrite.before(first[0], first[1], text) if first[0] is call[0] else ()


@finder
def few_steps(watcher: Any) -> Iterator[Finding]:
    """Gradients that are cleared many times for each step that is taken."""
    notes = watcher.notes
    backwards = notes.counts["backward"]
    for one in notes.optimizers if len(notes.optimizers) == 1 and not watcher.closures else ():
        if not one.steps or not one.stepped_at or backwards < 20 or min(one.zeroed, backwards) < 8 * one.steps:
            continue
        site = next((event.site for event in notes.events if event.name == "backward"), ())
        back, step = statement(site[0]) if site else None, statement(one.stepped_at[0])
        attempts = []
        if back is not None and step is not None and back[0] is step[0]:
            attempts = [Attempt("each", rewrite.moved(back[0], step[1], back[1], True))]
        names = {"name": one.name or "optimizer", "steps": one.steps, "backwards": backwards, "zeroed": one.zeroed}
        culprit = shown(rewrite.call_in(one.stepped_at[0], "step"), one.stepped_at[0])
        yield Finding("optimizer-seldom-steps", names, culprit, tuple(attempts), weight=9)
