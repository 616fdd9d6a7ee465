"""What a loss or attention is told and what it is given contradict each other: logarithms, a blank, an order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import Place, loss_call, shown
from explainer.training.rewrite import call_in, operand, replaced, with_keyword
from explainer.training.sources import program_sources


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


@finder
def blank_is_label(watcher: Any) -> Iterator[Finding]:
    """A CTCLoss whose blank, 0 where none is given, is a label of the program's."""
    for seen, times in watcher.notes.of("ctc-blank-is-label"):
        found = loss_call(seen) if times > 1 else None
        if found is not None:
            free = str(seen.data["free"])
            names = {"blank": seen.data["blank"], "free": free, "classes": seen.data["classes"]}
            there = [Attempt("blank", replaced(home, value, free), culprit=home.span(value))
                     for home, value in _constants(watcher, found)]  # fmt: skip
            attempts = (*there, Attempt("blank", with_keyword(*found, "blank", free)))
            culprit = there[0].culprit if there else shown(found, seen.site[0] if seen.site else None)
            yield Finding("ctc-blank-is-label", names, culprit, attempts, proved=False, seen=True, weight=8)


def _constants(watcher: Any, found: Place) -> Iterator[tuple[Source, ast.expr]]:
    """What a loss's blank is named, where files give that name a number: what is decoded leaves it out, too."""
    given = next((one.value for one in found[1].keywords if one.arg == "blank"), None)
    for source in program_sources(watcher) if isinstance(given, ast.Name) else ():
        for one in source.tree.body if source.tree is not None else ():
            named = isinstance(one, ast.Assign) and source.text(one.targets[0]) == given.id  # type: ignore[union-attr]
            if named and isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant):
                yield source, one.value


@finder
def heads_for_time(watcher: Any) -> Iterator[Finding]:
    """Attention over the heads of each place: [samples, time, heads, width] where heads come before time."""
    for seen, times in watcher.notes.of("heads-for-time"):
        found = call_in(seen.site[0], "scaled_dot_product_attention") if seen.site and times > 1 else None
        if found is not None and len(found[1].args) == 3:
            source, call = found
            texts = ", ".join(f"{operand(source, one)}.transpose(1, 2)" for one in call.args)
            rest = "".join(f", {source.text(one)}" for one in call.keywords)
            text = f"{source.text(call.func)}({texts}{rest}).transpose(1, 2)"
            names = {"shape": list(seen.data["shape"]), "heads": seen.data["heads"], "time": seen.data["time"]}
            attempts = (Attempt("transpose", replaced(source, call, text)),)
            culprit = source.span(call)
            yield Finding("heads-for-time", names, culprit, attempts, proved=False, seen=True, weight=8)
