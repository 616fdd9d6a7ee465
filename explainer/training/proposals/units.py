"""Units past which no gradient gets: rectified ones that give nothing but 0, curved ones that are where it is flat."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.kinds.losses import shown
from explainer.training.kinds.optimizers import built
from explainer.training.kinds.strength import plain, setting
from explainer.training.looks.fits import learned_well
from explainer.training.sources import program_sources

#: The share of a layer's units that are dead at each of the last looks; of the steps, where the last one lies.
_DEAD, _LATE = 0.9, 0.4
#: How many looks, and units.
_LOOKS, _FEWEST = 3, 4
#: What gives weights and biases their start.
_STARTS = ("constant_", "fill_", "uniform_", "normal_", "sub_", "zeros_", "ones_", "mul_", "trunc_normal_")


def dead_units(watcher: Any) -> Iterator[Finding]:
    """A layer nearly all of whose units let no gradient through, late in a training that has not learned well."""
    if learned_well(watcher):
        return  # with a branch that is switched off, or units to spare
    for known in watcher.rectified.values():
        late = known["seen"][-_LOOKS:]
        if len(late) < _LOOKS or late[-1][0] < _LATE * watcher.notes.steps:
            continue
        if any(units < _FEWEST or dead < _DEAD * units for _, units, dead in late):
            continue
        flat = known["name"] != "relu"
        names = {
            "name": known["name"],
            "share": round(100 * late[-1][2] / late[-1][1]),
            "units": late[-1][1],
            "dead": min(dead for *_, dead in late),
            "from": next(step for step, units, dead in known["seen"] if dead >= _DEAD * units),
            "steps": watcher.notes.steps,
        }
        site = known["built"] or known["site"]
        attempts = tuple(one for one in _attempts(watcher, known) if one.edits)
        if not attempts:
            continue
        culprit = shown(rewrite.call_in(site[0]), site[0]) if site else None
        yield Finding("saturated-units" if flat else "dead-units", names, culprit, attempts, proved=False, seen=True)
        return


def _attempts(watcher: Any, known: dict[str, Any]) -> Iterator[Attempt]:
    flat = known["name"] != "relu"
    if known["name"] != "softmax":
        yield from (*_starts(watcher, flat), *_rates(watcher), *(() if flat else _leaky(known)))
    elif known["seen"][0][2] >= _DEAD * known["seen"][0][1]:  # what has been learned may well be sharp
        yield from _factors(known)


def _factors(known: dict[str, Any]) -> Iterator[Attempt]:
    """Factors in the function that calls it, as divisors or left out."""
    frame = known["site"][0]
    source = frame.source()
    for node in ast.walk(source.scope_at(frame.line)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and not isinstance(node.left, ast.Constant):
            left, right = source.text(node.left), source.text(node.right)
            for new in (f"{left} / {right}", left):
                yield Attempt("factor", rewrite.replaced(source, node, new), {"new": new}, source.span(node))


def _starts(watcher: Any, flat: bool) -> Iterator[Attempt]:
    """What gives biases their start left out; where units are flat, what gives any weight a start by hand."""
    for source in program_sources(watcher):
        for node in source.nodes():
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and called(call) in _STARTS and (flat or "bias" in source.text(call)):
                if flat and called(call) == "zeros_":
                    continue
                edits = rewrite.without(source, node)  # type: ignore[arg-type]
                yield Attempt("start", edits, {"text": source.text(call)}, source.span(call))


def _rates(watcher: Any) -> Iterator[Attempt]:
    """A smaller rate, of the program's one optimizer."""
    stepping = [one for one in watcher.notes.optimizers if one.steps > 8]
    one = stepping[0] if len(stepping) == 1 else None
    written = setting(built(one), "lr", one.site) if one is not None and one.site else None
    if one is None or written is None:
        return
    rate = max((rate for rate, _ in one.rates), default=0.0)
    for value in (plain(rate / 10), plain(rate / 100)):
        edits = rewrite.replaced(written[0], written[1], value)
        yield Attempt("rate", edits, {"value": value}, written[0].span(written[1]))


def _leaky(known: dict[str, Any]) -> Iterator[Attempt]:
    """A rectifier that lets a little of what is negative through."""
    site, name = (known["built"], "ReLU") if known["built"] else (known["site"], "relu")
    found = rewrite.call_in(site[0], name) if site else None
    if found is not None and found[1].func is not None:
        source, call = found
        text = source.text(call.func)
        new = f"{text[: -len(name)]}{'LeakyReLU(0.1)' if known['built'] else 'leaky_relu'}"
        node = call if known["built"] else call.func
        yield Attempt("leaky", rewrite.replaced(source, node, new), {"new": new}, source.span(call))
