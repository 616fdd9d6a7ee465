"""Steps that come to nothing: gradients clipped too late or too far, weights that decay faster than they learn."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.bindings import only_value
from explainer.source import Source
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import shown
from explainer.training.kinds.optimizers import built, span_of
from explainer.training.sites import Site, statement


@finder
def clipped_after_step(watcher: Any) -> Iterator[Finding]:
    """Gradients that are clipped when the step has been taken already."""
    notes = watcher.notes
    order = [event for event in notes.events if event.name in ("backward", "step", "clip", "zero")]
    wrong, right, site, step = 0, 0, (), ()
    last = ""
    for event in order:
        if event.name == "clip":
            if last == "step":
                wrong, site = wrong + 1, event.site
            elif last == "backward":
                right += 1
        elif event.name == "step":
            step, last = event.site, "step"
        elif event.name == "backward":
            last = "backward"
    if wrong > 4 and not right and site and step:
        first, second = statement(step[0]), statement(site[0])
        attempts = []
        if first is not None and second is not None and first[0] is second[0]:
            attempts = [Attempt("before", rewrite.moved(first[0], second[1], first[1], False))]
        names = {"line": step[0].line, "function": "clip_grad_norm_"}
        yield Finding("clipping-after-step", names, span_of(site), tuple(attempts), weight=7)


@finder
def clipped_to_nothing(watcher: Any) -> Iterator[Finding]:
    """Gradients that are clipped to a tiny part of their size at every step."""
    looked = [one for one in watcher.clips if one["norm"] is not None and one["bound"] > 0]
    sites = [event.site for event in watcher.notes.events if event.name == "clip"]
    if len(looked) < 4 or not sites:
        return
    ratios = sorted(one["norm"] / one["bound"] for one in looked)
    if ratios[len(ratios) // 4] < 30:
        return
    found = rewrite.call_in(sites[0][0], looked[0]["function"])
    attempts = []
    culprit = shown(found, sites[0][0])
    if found is not None:
        source, call = found
        node = rewrite.argument(call, "max_norm", 1)
        written = rewrite.literal_of(source, node, sites[0]) if node is not None else None
        if written is not None:
            attempts = [Attempt("bound", rewrite.replaced(written[0], written[1], "1.0"), {"value": "1.0"})]
            culprit = written[0].span(written[1])
    middle = ratios[len(ratios) // 2]
    key = _symbol(found, "max_norm", 1)
    names = {
        "bound": plain(looked[0]["bound"]),
        "norm": plain(looked[0]["norm"]),
        "ratio": round(middle),
        "function": looked[0]["function"],
        "symbol": key,
    }
    yield Finding(
        "gradient-clipped-away",
        names,
        culprit,
        tuple(attempts),
        proved=False,
        seen=True,
        weight=7,
    )


@finder
def clips_nothing(watcher: Any) -> Iterator[Finding]:
    """`params = model.parameters()`, which the optimizer has walked through: the clipping gets no parameter of it."""
    events = [event for event in watcher.notes.events if event.name == "clip"]
    given = [event.data["given"] for event in events]
    found = rewrite.call_in(events[0].site[0], events[0].data["function"]) if events and events[0].site else None
    name = rewrite.argument(found[1], "parameters", 0) if found is not None else None
    if found is None or not isinstance(name, ast.Name) or len(given) < 4 or any(given):
        return
    source, call = found
    scope = source.function_at(call.lineno)
    value = only_value(scope, name.id) or only_value(source.tree, name.id)
    made = source.text(value) if value is not None else name.id
    attempts = [Attempt("list", rewrite.replaced(source, value, f"list({made})"))] if value is not None else []
    names = {"name": name.id, "made": made, "function": events[0].data["function"], "steps": len(given)}
    culprit = source.span(value) if value is not None else source.span(call)
    yield Finding("clipping-without-parameters", names, culprit, tuple(attempts), weight=8, fact=True)


def plain(value: float) -> str:
    """A number as a program writes it: 0.0001, 10, 3e-05."""
    return f"{value:.3g}" if value != int(value) or abs(value) > 1e6 else str(int(value))


def _symbol(found: tuple[Source, ast.Call] | None, keyword: str, place: int) -> str:
    """How a call names an argument's value: `cfg["grad_clip"]` is grad_clip."""
    if found is None:
        return keyword
    node = rewrite.argument(found[1], keyword, place)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else keyword


@finder
def decayed_away(watcher: Any) -> Iterator[Finding]:
    """Weights that decay faster than they can be learned."""
    for one in watcher.notes.optimizers:
        decoupled = one.kind in ("AdamW", "NAdam", "RAdam", "SGDW", "Lion")
        heavy = [
            each
            for each in one.measures
            if each["decay"] > 0
            and (
                each["rate"] * each["decay"] > 2e-3
                if decoupled
                else each["decay"] * each["weight"] > 3 * each["gradient"]
            )
        ]
        if one.steps < 8 or len(heavy) < 4 or not one.site:
            continue
        value, share = heavy[0]["decay"], heavy[0]["rate"] * heavy[0]["decay"]
        found = built(one)
        attempts, culprit = [], span_of(one.site, one.kind)
        written = setting(found, "weight_decay", one.site)
        if written is not None:
            new = "1e-2" if decoupled else "1e-4"
            attempts = [
                Attempt("decay", rewrite.replaced(written[0], written[1], each), {"value": each})
                for each in (new, "0.0")
            ]
            culprit = written[0].span(written[1])
        names = {
            "value": plain(value),
            "percent": plain(100 * share),
            "kind": one.kind,
            "rate": plain(heavy[0]["rate"]),
            "decoupled": decoupled,
            "times": round(value * heavy[0]["weight"] / max(heavy[0]["gradient"], 1e-12)),
        }
        yield Finding(
            "weight-decay-too-large",
            names,
            culprit,
            tuple(attempts),
            proved=False,
            seen=True,
            weight=7,
        )


def setting(found: tuple[Source, ast.Call] | None, name: str, site: Site) -> tuple[Source, ast.AST] | None:
    """Where the number of an optimizer's setting is written: in its call, its groups, a function that makes those."""
    if found is None:
        return None
    source, call = found
    node = rewrite.argument(call, name, 1 if name == "lr" else None)
    if node is not None:
        return rewrite.literal_of(source, node, site)
    return _in_groups(source, name, site)


def _in_groups(source: Source, name: str, site: Site) -> tuple[Source, ast.AST] | None:
    """The one number other than zero that some group of parameters is given under a name."""
    values = in_groups(source, name, site)
    return values[0] if len(values) == 1 else None


def in_groups(source: Source, name: str, site: Site) -> list[tuple[Source, ast.AST]]:
    """All numbers other than zero that groups of parameters are given under a name, each place once."""
    values: dict[Any, tuple[Source, ast.AST]] = {}
    for node in source.nodes():
        for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
            own = isinstance(key, ast.Constant) and key.value == name
            found = rewrite.literal_of(source, value, site) if own else None
            if found is not None and not (isinstance(found[1], ast.Constant) and found[1].value == 0):
                place = (found[0].file, getattr(found[1], "lineno", 0), getattr(found[1], "col_offset", 0))
                values.setdefault(place, found)
    return list(values.values())
