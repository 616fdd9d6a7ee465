"""A switch of a loss that says logarithms where it gets values, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import loss_call, shown
from explainer.training.rewrite import with_keyword


@finder
def contradicted(watcher: Any) -> Iterator[Finding]:
    """`poisson_nll_loss` on a rate, `kl_div` on the logarithms of a target."""
    for seen, times in watcher.notes.of("loss-switch-contradicted"):
        if times < 2 or not seen.site:
            continue
        data, found = seen.data, loss_call(seen)
        edits = with_keyword(*found, data["switch"], str(data["value"])) if found is not None else ()
        names = {
            "loss": data["loss"],
            "switch": data["switch"],
            "value": str(data["value"]),
            "other": str(not data["value"]),
            "log": data["value"],
            "argument": data["argument"],
            "made": data["made"]["name"],
        }
        attempts = (Attempt("switch", edits),)
        yield Finding("loss-switch-contradicted", names, shown(found, seen.site[0]), attempts, weight=9)
