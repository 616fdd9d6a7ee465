"""Outputs that cannot reach their targets, clamped parameters, reductions over the batch where samples belong apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import _with_dim, left_out, made_at, shown
from explainer.training.kinds.strength import plain

_LAYERS = {"relu": "ReLU", "sigmoid": "Sigmoid", "tanh": "Tanh"}


@finder
def out_of_reach(watcher: Any) -> Iterator[Finding]:
    """An activation at the end of a regression beyond whose range the targets lie."""
    for seen, times in watcher.notes.of("output-range"):
        data = seen.data
        name = data["made"]["name"]
        made = made_at(data["made"], name, _LAYERS.get(name, name))
        if times < 3:
            continue
        edits = left_out(made)
        names = {
            "activation": name,
            "loss": data["loss"],
            "share": data["share"],
            "low": data["low"],
            "high": data["high"],
        }
        attempts = (Attempt("leave-out", edits, {"activation": name}),)
        culprit = shown(made, data["made"]["at"][0] if data["made"]["at"] else None)
        yield Finding("output-range", names, culprit, attempts, proved=False, seen=True, weight=8)


@finder
def no_probability(watcher: Any) -> Iterator[Finding]:
    """`binary_cross_entropy_with_logits` on labels -1 and 1, or on brightness up to 255."""
    for seen, times in watcher.notes.of("target-no-probability"):
        data, found = seen.data, rewrite.call_in(seen.site[0]) if seen.site else None
        target = rewrite.argument(found[1], "target", 1) if found is not None else None
        if times < 3 or found is None or target is None:
            continue
        low, high = plain(data["low"]), plain(data["high"])
        bare = found[0].text(target)
        bare = f"({bare} + {plain(-data['low'])})" if data["low"] < 0 else bare
        text = f"{bare} / {plain(data['high'] - min(data['low'], 0))}"
        names = {"loss": data["loss"], "low": low, "high": high, "text": found[0].text(target), "new": text}
        attempts = (Attempt("scale", rewrite.replaced(found[0], target, text), names),)
        culprit = found[0].span(target)
        yield Finding("target-no-probability", names, culprit, attempts, proved=False, seen=True, weight=8)


@finder
def told_the_answer(watcher: Any) -> Iterator[Finding]:
    """A model that is given its target as one of its inputs."""
    for seen, times in watcher.notes.of("target-among-inputs"):
        if times < 4:
            continue
        data, attempts, culprit = seen.data, [], shown(None, seen.site[0] if seen.site else None)
        for root in watcher.notes.roots.values():
            site = next((mode.site for mode in root["modes"] if mode.learning and not mode.evaluation), ())
            found = rewrite.call_in(site[0]) if site else None
            if found is None or len(found[1].args) != 1 or culprit is None:
                continue
            source, given = found[0], found[1].args[0]
            mask = f"(torch.arange({data['columns']}) != {data['column']})"
            edits = rewrite.replaced(source, given, f"{source.text(given)} * {mask}")
            culprit = source.span(given)
            attempts.append(Attempt("without", edits, {"column": data["column"]}))
        names = {"column": data["column"], "columns": data["columns"]}
        yield Finding("target-among-inputs", names, culprit, tuple(attempts), weight=5)


@finder
def over_the_batch(watcher: Any) -> Iterator[Finding]:
    """A reduction inside of the model that goes over its samples."""
    for seen, times in watcher.notes.of("reduced-over-batch"):
        data = seen.data
        made = made_at(data["made"], data["made"]["name"])
        if times < 3 or made is None or not watcher.notes.times["samples", data["shape"][0]]:
            continue  # the first size of what goes time-major counts no samples
        dims = [dim for dim, size in enumerate(data["shape"][:3]) if dim and size > 1]
        attempts = [Attempt("dim", _with_dim(made, dim), {"dim": dim}) for dim in dims]
        names = {"name": data["made"]["name"], "shape": list(data["shape"]), "batch": data["shape"][0]}
        culprit = shown(made, None)
        yield Finding("reduced-over-batch", names, culprit, tuple(attempts), proved=False, seen=True, weight=6)


@finder
def decided_always(watcher: Any) -> Iterator[Finding]:
    """An output that is compared with an end of its own range: each sample is decided alike."""
    for seen, _ in watcher.notes.of("decision-constant"):
        frame = seen.site[0] if seen.site else None
        found = frame.node() if frame is not None else None
        node = found.node if found is not None else None
        right = node.comparators[0] if isinstance(node, ast.Compare) and len(node.comparators) == 1 else None
        bound = rewrite.literal_of(found.source, right, seen.site) if found is not None and right is not None else None
        if bound is None:
            continue
        names = {**seen.data, "text": found.source.text(node)} if found is not None and node is not None else seen.data
        attempt = Attempt(
            "middle", rewrite.replaced(*bound, f"{seen.data['middle']:g}"), culprit=bound[0].span(bound[1])
        )
        yield Finding("decision-constant", names, shown(None, frame), (attempt,), proved=False, seen=True, weight=6)


@finder
def squashed_twice(watcher: Any) -> Iterator[Finding]:
    """`sigmoid` of what the model has put through a sigmoid: numbers between 0.5 and 0.73."""
    for seen, times in watcher.notes.of("squashed-twice"):
        found = (
            rewrite.call_in(seen.site[0], seen.data["name"], _LAYERS.get(seen.data["name"], "")) if seen.site else None
        )
        if found is None or times < 2:
            continue
        numbers = {"low": plain(seen.data["low"]), "high": plain(seen.data["high"])}
        names = {**seen.data, **numbers, "text": found[0].text(found[1])}
        attempts = (Attempt("leave-out", left_out(found), names),)
        culprit = found[0].span(found[1])
        yield Finding("squashed-twice", names, culprit, attempts, proved=False, seen=True, weight=7)


@finder
def clamped(watcher: Any) -> Iterator[Finding]:
    """A parameter that is clamped on its way into the model, much of it where no gradient comes back."""
    for seen, times in watcher.notes.of("clamped-parameter"):
        found = rewrite.call_in(seen.site[0], "clamp", "clip", "clamp_") if seen.site and times > 2 else None
        if found is None:
            continue
        source, call = found
        method = isinstance(call.func, ast.Attribute) and source.text(call.func.value) != "torch"
        weight = source.text(call.func.value if method else call.args[0])  # type: ignore[attr-defined]
        new = _smooth(weight, source.text(call), seen.data["least"], seen.data["most"])
        names = {"text": source.text(call), "weight": weight, "share": seen.data["share"], "new": new}
        attempts = (Attempt("smooth", rewrite.replaced(source, call, new), {"new": new}),)
        yield Finding("clamped-parameter", names, source.span(call), attempts, proved=False, seen=True, weight=7)


def _smooth(weight: str, clamped: str, least: float | None, most: float | None) -> str:
    """What keeps a value within bounds and has a gradient everywhere; else the bounds with the gradient let through."""
    if (least, most) == (0, 1):
        return f"torch.sigmoid({weight})"
    if (least, most) == (-1, 1):
        return f"torch.tanh({weight})"
    if least is not None and 0 <= least < 0.1 and most is None:
        return f"torch.nn.functional.softplus({weight})"
    return f"{weight} + ({clamped} - {weight}).detach()"
