"""A learning rate with which nothing is learned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.kinds.optimizers import built
from explainer.training.kinds.strength import in_groups, plain, setting
from explainer.training.looks.fits import learned
from explainer.training.notes import Optimizing

_ADAPTIVE = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad")


def rates(watcher: Any) -> Iterator[Finding]:
    """A learning rate with which nothing is learned."""
    one = _single(watcher)
    share = learned(watcher)
    if one is None or not one.site or math.isnan(share) or share > 0.25 or not one.measures or one.steps < 40:
        return
    if any(id(p["of"]()) in watcher.pretrained for p in watcher.weights.values()) or one.number != 0:
        return
    rate = max((rate for rate, _ in one.rates), default=0.0)
    places = _written(one)
    if not places:
        return
    written = places[0]
    adaptive = one.kind.startswith(_ADAPTIVE)
    middle = sorted(one.measures, key=lambda each: each["gradient"])[len(one.measures) // 2]
    relative = rate / max(middle["weight"], 1e-12) * (1.0 if adaptive else middle["gradient"])
    still = rate <= 1e-5 if adaptive else relative * one.steps < 0.01  # so a loss that rises does so by chance
    large = not still and (
        share < 0
        or (adaptive and rate >= 0.03)
        or (not adaptive and rate >= 1.0)
        or not all(w["finite"] for w in watcher.weights.values())
    )
    tries = (
        [rate / 10, rate / 100, rate / 1000] if large else [3e-3, 1e-2, 1e-3] if adaptive else [0.1, 0.01, rate * 100]
    )
    small = (adaptive and rate <= 1e-4) or (not adaptive and (rate <= 1e-3 or relative < 1e-4))
    if not large and not small:
        return
    attempts = [
        Attempt("rate", rewrite.both(written[0], [(node, plain(value)) for _, node in places]), {"value": plain(value)})
        for value in tries
    ]
    if large:
        attempts = [*_averaged(watcher), *attempts]
    names = {
        "rate": plain(rate),
        "kind": one.kind,
        "large": large,
        "steps": one.steps,
        "share": round(100 * share) if math.isfinite(share) else 0,
        "finite": math.isfinite(share),
        "relative": f"{relative:.1e}",
    }
    yield Finding(
        "learning-rate-too-large" if large else "learning-rate-too-small",
        names,
        written[0].span(written[1]),
        tuple(attempts),
        proved=False,
    )


def _written(one: Optimizing) -> list[tuple[Source, Any]]:
    """Where the rate is written: once, or in all groups of parameters the same."""
    found = built(one)
    written = setting(found, "lr", one.site)
    if written is not None or found is None:
        return [written] if written is not None else []
    groups = in_groups(found[0], "lr", one.site)
    alike = len({source.text(node) for source, node in groups}) == 1 and len({source.file for source, _ in groups}) == 1
    return groups if alike else []


def _averaged(watcher: Any) -> Iterator[Attempt]:
    """A loss that is summed over the batch as its mean."""
    for known in watcher.divided.values():
        if known is None or known["reduction"] != "sum" or not known["at"]:
            continue
        found = rewrite.call_in(known["at"][0])
        if found is None:
            continue
        source, call = found
        if called(call) == "sum":
            text = source.text(call.func)
            edits = rewrite.replaced(source, call.func, f"{text[:-3]}mean")
        else:
            edits = rewrite.with_keyword(source, call, "reduction", '"mean"')
        if edits:
            yield Attempt("mean", edits, {"value": "mean"}, culprit=source.span(call))


def _single(watcher: Any) -> Optimizing | None:
    """The program's one optimizer that steps; None where several do: their losses are not each other's."""
    stepping = [one for one in watcher.notes.optimizers if one.steps > 8]
    return stepping[0] if len(stepping) == 1 else None
