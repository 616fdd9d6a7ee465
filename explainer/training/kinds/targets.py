"""A copy of the model that gives the targets and is to follow it, and never does."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from explainer.source import Source, called, with_arguments
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import shown
from explainer.training.kinds.optimizers import never_taken
from explainer.training.sites import Site, statement
from explainer.training.sources import program_sources

#: What writes to a weight.
_WRITES = ("mul_", "copy_", "lerp_", "add_")
#: By which share of the way a copy follows the model at each step; at how many steps its answers must be asked for.
_SHARE, _STEPS = 0.05, 5


@finder
def never_follows(watcher: Any) -> Iterator[Finding]:
    """A copy made before training that answers at every step, while the model learns from what it says."""
    for number, copy in watcher.copies.items():
        root = watcher.notes.roots.get(number)
        asked = {mode.step for mode in root["modes"] if not mode.learning} if root is not None else set()
        site, found = copy.site, rewrite.call_in(copy.site[0], copy.kind)
        late = copy.seen < 0.5 * watcher.notes.steps or watcher.filled.get(number, (0, 0, 0, 1))[3] > 1
        if found is None or len(asked) < _STEPS or late or not copy.still:
            continue
        own, target = _names(*found, site) or ("", "")
        step = next((one for one in watcher.notes.optimizers if one.stepped_at), None)
        at = statement(step.stepped_at[0]) if step is not None else None
        if not own or at is None:
            continue
        pairs = f"zip({target}.parameters(), {own}.parameters())"
        edits = rewrite.after(*at, f"for held, new in {pairs}:\n    held.data.lerp_(new.data, {_SHARE})")
        branch = never_taken(watcher, f"{target}.load_state_dict")
        names = {"target": target, "model": own, "line": found[1].lineno, "steps": watcher.notes.steps}
        names |= {"test": branch[0].text(branch[1]) if branch else "", "at": branch[1].lineno if branch else 0}
        culprit = branch[0].span(branch[1]) if branch else shown(found, site[0])
        attempts = (*written_back(program_sources(watcher)), Attempt("follow", edits, names))
        # a model to keep close to stays as it is on purpose: the trial must be overwhelming
        yield Finding("target-never-follows", names, culprit, attempts, proved=False, weight=5)


def written_back(sources: Iterable[Source]) -> Iterator[Attempt]:
    """Two models' weights gone through side by side, the second's in the place of the first's: which one is written to.

    `for own, copy in zip(model.parameters(), average.parameters()): own.lerp_(copy, rate)` writes to the wrong one.
    """
    for source in sources:
        for loop in source.nodes():
            pair = loop.iter if isinstance(loop, ast.For) else None
            if not isinstance(pair, ast.Call) or called(pair) != "zip" or len(pair.args) != 2:
                continue
            writes = [node for node in ast.walk(loop) if isinstance(node, ast.Call) and called(node) in _WRITES]
            if writes and all("parameters()" in source.text(one) for one in pair.args):
                new = with_arguments(source, pair, reversed(pair.args))
                yield Attempt("turn", rewrite.replaced(source, pair, new), {"new": new}, source.span(writes[0]))


def _names(source: Any, call: ast.Call, site: Site) -> tuple[str, str] | None:
    """What the program calls the model and its copy: `t = deepcopy(m)`, `t.load_state_dict(m.state_dict())`."""
    given = call.args[0] if call.args else None
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "state_dict":
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        return (source.text(given.func.value), source.text(owner)) if owner is not None else None
    found = statement(site[0])
    if given is None or found is None or not isinstance(found[1], ast.Assign):
        return None
    return source.text(given), source.text(found[1].targets[0])
