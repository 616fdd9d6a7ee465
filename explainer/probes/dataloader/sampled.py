"""A sampler of whole batches that a loader takes for one of single indices."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.dataloader.datasets import loader_of
from explainer.probes.dataloader.loops import made_by
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source

#: What a loader decides by itself, and does not take beside a sampler of batches.
_OWN = ("batch_size", "shuffle", "sampler", "drop_last")


@probe
def sampled_in_batches(scene: Scene) -> SpanFact | None:
    """The call that made the loader, where its sampler yields lists of indices.

    `detail.sampler` is the sampler's class, `detail.size` how many indices it gave at once, `detail.to` the call with
    it as `batch_sampler`.
    """
    given, loader = _asked(scene), loader_of(scene)
    made = made_by(scene, loader) if given else None
    sampler = next((word.value for word in made[1].keywords if word.arg == "sampler"), None) if made else None
    if made is None or sampler is None:
        return None
    return span_fact(*made, sampler=type(loader.sampler).__name__, size=len(given[0]), to=_in_batches(*made, sampler))


def _asked(scene: Scene) -> list[Any]:
    """What torch's fetcher was given as the indices of one batch, where each is a list; else empty."""
    for frame in reversed(scene.live.frames if scene.live else []):
        asked = frame.locals.get("possibly_batched_index")
        if isinstance(asked, (list, tuple)) and asked and all(isinstance(one, (list, tuple)) for one in asked):
            return list(asked)
    return []


def _in_batches(source: Source, call: ast.Call, sampler: ast.expr) -> str:
    kept = [source.text(one) for one in call.args[:1]]
    kept += [source.text(word) for word in call.keywords if word.arg not in _OWN]
    kept.insert(1, f"batch_sampler={source.text(sampler)}")
    return f"{source.text(call.func)}({', '.join(kept)})"
