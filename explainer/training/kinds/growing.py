"""What is made anew at every step: hooks that pile up on the layers, optimizers that forget what they have learned."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from explainer.source import stored
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.hoisting import hoisted
from explainer.training.kinds.optimizers import span_of
from explainer.training.sites import statement

#: Optimizers made at one place from which on that is no matter of phases, each of a few steps.
_ANEW = 8


@finder
def hooks_pile_up(watcher: Any) -> Iterator[Finding]:
    """Layers that have more hooks at every step."""
    rising = [root for root in watcher.notes.roots.values() if _rises(root.get("hooks", []))]
    for known in watcher.hooked.values():
        during = known["last"] - known["first"]
        if not rising or not known["site"] or during < 8 or known["count"] < 0.5 * during:
            continue
        steps, hooks = rising[0]["hooks"][-1]
        names = {"count": hooks, "steps": steps, "kind": rising[0]["kind"], "function": known["site"][0].code.co_name}
        once, removed = _once("hooks-pile-up", known["site"], names, True), _removed(known["site"])
        if removed is not None and known["site"][0].code.co_name != "<module>":  # a helper needs it for its own call
            once = replace(once, attempts=(removed,), culprit=span_of(known["site"]))
        yield once


def _removed(site: Any) -> Attempt | None:
    """A hook taken off again where its function ends, or its turn of a loop."""
    found = statement(site[0])
    source, own = found or (None, None)
    if source is None or not isinstance(own, ast.Expr) or not isinstance(own.value, ast.Call):
        return None
    block = source.block_of(own)
    behind = block[block.index(own) + 1 :]
    given = f"hook = {source.text(own.value)}"
    if "hook" in stored(source.scope_at(own.lineno)) or not behind:
        return None
    last = behind[-1]
    if isinstance(last, ast.Return) and any(isinstance(one, ast.Call) for one in ast.walk(last)):
        return None  # what is returned may need the hook still
    ends = isinstance(last, ast.Return)
    put = rewrite.before(source, last, "hook.remove()") if ends else rewrite.after(source, last, "hook.remove()")
    return Attempt("remove", rewrite.together(source, rewrite.replaced(source, own, given), put))


def _rises(looked: list[tuple[int, int]]) -> bool:
    """Whether there were more hooks at every look, at least one for every other step."""
    pairs = list(itertools.pairwise(looked))
    return len(looked) > 4 and all(after[1] - before[1] >= 0.5 * (after[0] - before[0]) > 0 for before, after in pairs)


@finder
def made_anew(watcher: Any) -> Iterator[Finding]:
    """Optimizers made again every few steps at one place: what they remember is lost each time."""
    places: dict[Any, list[Any]] = defaultdict(list)
    for one in watcher.notes.optimizers:
        if one.site and one.steps and one.kind != "SGD":
            places[one.site[0].file, one.site[0].line].append(one)
    for made in places.values():
        if len(made) >= _ANEW and watcher.notes.steps < 4 * len(made):
            names = {"kind": made[0].kind, "count": len(made), "steps": watcher.notes.steps}
            yield _once("optimizer-made-anew", made[-1].site, names, False)


def _once(rule: str, site: Any, names: dict[str, Any], proved: bool) -> Finding:
    """The finding, with what makes it once as its edit."""
    found = hoisted(site)
    text = found[0].text(found[1]).split("\n")[0] if found is not None else ""
    attempts = (Attempt("once", found[2], {"text": text}),) if found is not None and found[2] else ()
    culprit = found[0].span(found[1]) if found is not None else span_of(site)
    return Finding(rule, {**names, "text": text}, culprit, attempts, proved=proved, seen=True, weight=6)
