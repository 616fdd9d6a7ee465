"""Averages of a model's weights that are kept up to date and never used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import shown
from explainer.training.models import STATES
from explainer.training.sites import Site, statement
from explainer.training.sources import program_sources

#: Writes to a weight from which on a copy counts as one that is kept up to date.
_WRITTEN = 8


@finder
def unused_average(watcher: Any) -> Iterator[Finding]:
    """A copy of the trained model that is written to at every step, and that nothing ever calls, reads or saves."""
    notes = watcher.notes
    if len(watcher.states) >= STATES:
        return  # of later states nothing is known
    called_ones = [root["of"]() for root in notes.roots.values()]
    known = {id(part) for root in called_ones if root is not None for part in root.modules()}
    taken = {pointer for pointer, *_ in watcher.states}
    held = {id(p) for one in notes.optimizers if one.of() for group in one.of().param_groups for p in group["params"]}
    for ref, site, _ in watcher.copied.values():
        module = ref()
        first = next(iter(module.parameters()), None) if module is not None else None
        if first is None or id(module) in known or id(module) in watcher.loaded or not site:
            continue
        if first._version < _WRITTEN or first.data_ptr() in taken or id(first) in held:
            continue
        twin = _evaluated(notes, module)
        if twin is None:
            continue
        made = statement(site[0])
        target = made[0].text(made[1].targets[0]) if made is not None and isinstance(made[1], ast.Assign) else ""
        if target and any(_uses(source, target) for source in program_sources(watcher)):
            continue
        found = rewrite.call_in(site[0], "deepcopy", "AveragedModel")
        own = found[0].text(found[1].args[0]) if found is not None and found[1].args else ""
        mode = twin["modes"][-1]
        names = {
            "name": target or "the copy",
            "kind": twin["kind"],
            "model": own,
            "times": min(first._version, notes.steps),
        }
        attempts, place = _in_its_place(mode.site, site, own, target)
        yield Finding("average-never-used", names, place or shown(found, site[0]), attempts, weight=6)


def _uses(source: Source, target: str) -> bool:
    """Whether a call in the program's text is one of the average, or is given it for more than its update."""
    calls = [one for one in source.nodes() if isinstance(one, ast.Call) and called(one) not in ("deepcopy", "zip")]
    return any(source.text(one) == target for call in calls for one in (call.func, *call.args))


def _evaluated(notes: Any, module: Any) -> Any:
    """The trained model of the same kind and sizes that is evaluated in the end."""
    sizes = [p.shape for p in module.parameters()]
    for root in notes.roots.values():
        twin = root["of"]()
        last = root["modes"][-1] if root["modes"] else None
        if twin is None or not root["train"] or last is None or last.learning:
            continue
        if type(twin) is type(module) and [p.shape for p in twin.parameters()] == sizes:
            return root
    return None


def _in_its_place(evaluated: Site, made: Site, own: str, target: str) -> tuple[tuple[Attempt, ...], Any]:
    """The average named in the evaluation, where the evaluation names the model in the average's own scope."""
    if not own or not target or not target.isidentifier():
        return (), None
    for frame in evaluated:
        found = statement(frame)
        if found is None or frame.code is not made[0].code:
            continue
        for node in ast.walk(found[1]):
            inside = [*node.args, node.func] if isinstance(node, ast.Call) and called(node) != "deepcopy" else []
            for one in inside:
                if isinstance(one, (ast.Name, ast.Attribute)) and found[0].text(one) == own:
                    edits = rewrite.replaced(found[0], one, target)
                    return (Attempt("use", edits, {"name": target}),), found[0].span(one)
    return (), None
