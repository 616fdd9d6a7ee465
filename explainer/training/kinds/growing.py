"""What is made anew at every step: hooks that pile up on the layers, optimizers that forget what they have learned."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from explainer.source import Source, called, of_self, stored
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.hoisting import hoisted
from explainer.training.kinds.optimizers import span_of
from explainer.training.sites import statement

#: Optimizers made at one place from which on that is no matter of phases, each of a few steps.
_ANEW = 8
#: Hooks of one place, and how many times as many, from which on they pile up; at how many looks there are more.
_HOOKED, _ROSE = 4, 3
#: Calls of a forward from which on it is no first one, which may make what it lacks.
_TIMES = 5
#: Methods that read what a tensor holds.
_READING = ("item", "detach", "cpu", "numpy", "tolist", "float", "mean", "sum")


@finder
def hooks_pile_up(watcher: Any) -> Iterator[Finding]:
    """Layers that have more hooks at every step."""
    rising = [root for root in watcher.notes.roots.values() if _rises(root.get("hooks", []))]
    often = [one for one in watcher.hooked.values() if one["site"] and one["last"] - one["first"] >= 8
             and one["count"] >= _HOOKED]  # fmt: skip
    for code in dict.fromkeys(one["site"][0].code for one in often) if rising else ():
        beside = [one for one in often if one["site"][0].code is code]
        known = beside[0]
        steps, hooks = rising[0]["hooks"][-1]
        function = next((one.code.co_name for one in known["site"] if one.code.co_name[:1] != "<"), "<module>")
        names = {"count": hooks, "steps": steps, "kind": rising[0]["kind"], "function": function}
        kept = _let_go(known["site"])
        if kept is not None:
            yield Finding("hooks-pile-up", {**names, "text": kept[0]}, span_of(known["site"]), (kept[1],), weight=6)
            continue
        once, removed = _once("hooks-pile-up", known["site"], names, True), _removed([one["site"] for one in beside])
        if removed is not None and known["site"][0].code.co_name != "<module>":  # a helper needs it for its own call
            once = replace(once, attempts=(removed,), culprit=span_of(known["site"]))
        yield once


def _removed(sites: list[Any]) -> Attempt | None:
    """The hooks of one function taken off again where it ends, or its turn of a loop."""
    stated = [one for one in (statement(site[0]) for site in sites) if one is not None]
    own = [one for _, one in stated if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
    source = stated[0][0] if stated else None
    if source is None or len(own) != len(sites):
        return None
    own.sort(key=lambda one: one.lineno)
    block = source.block_of(own[-1])
    behind, names = block[block.index(own[-1]) + 1 :], [f"hook{at or ''}" for at in range(len(own))]
    if set(names) & stored(source.scope_at(own[0].lineno)) or not behind or not set(own) <= set(block):
        return None
    last, gone = behind[-1], "\n".join(f"{name}.remove()" for name in names)
    if isinstance(last, ast.Return) and not all(map(_of_number, ast.walk(last))):
        return None  # what is returned may need the hook still
    put = rewrite.before(source, last, gone) if isinstance(last, ast.Return) else rewrite.after(source, last, gone)
    kept = [
        rewrite.replaced(source, one, f"{name} = {source.text(one.value)}")
        for name, one in zip(names, own, strict=True)
    ]
    return Attempt("remove", rewrite.together(source, *kept, put))


def _of_number(node: ast.AST) -> bool:
    """Whether a part of what is returned calls no model: `loss.item()` only reads a number."""
    return not isinstance(node, ast.Call) or called(node) in _READING


def _rises(looked: list[tuple[int, int]]) -> bool:
    """Whether there were ever more hooks: one for every other step, or many times as many in the end as at first."""
    pairs = list(itertools.pairwise(looked))
    steadily = all(after[1] - before[1] >= 0.5 * (after[0] - before[0]) > 0 for before, after in pairs)
    ever = all(after[1] >= before[1] for before, after in pairs)
    more = sum(after[1] > before[1] for before, after in pairs)
    many = ever and more >= _ROSE and looked[-1][1] >= _HOOKED * max(looked[0][1], 1)
    return (steadily and len(looked) > 2) or (many and len(looked) > 4)


def _let_go(site: Any) -> tuple[str, Attempt] | None:
    """The handles that an object keeps of its hooks, each taken off before it makes others."""
    found = statement(site[0]) if site else None
    kept = found[1].targets[0] if found is not None and isinstance(found[1], ast.Assign) else None
    if found is None or kept is None or not of_self(kept):
        return None
    source, stated = found
    many = isinstance(stated.value, (ast.List, ast.ListComp))  # type: ignore[attr-defined]
    old = f'getattr(self, "{kept.attr}", ())' if many else f'filter(None, [getattr(self, "{kept.attr}", None)])'
    edits = rewrite.before(source, stated, f"for handle in {old}:\n    handle.remove()")
    return source.text(stated).split("\n")[0], Attempt("remove", edits)


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


@finder
def layer_anew(watcher: Any) -> Iterator[Finding]:
    """A layer that `forward` makes: it has other weights at every call, and no optimizer knows them."""
    for seen, times in watcher.notes.of("layer-made-in-forward"):
        found = rewrite.call_in(seen.site[0], seen.data["layer"])
        stated = found[0].statement_at(found[1].lineno) if found is not None else None
        if times < _TIMES or found is None or stated is None or not _learns(seen.data["layer"]):
            continue
        source, call = found
        name = source.text(stated.targets[0]) if isinstance(stated, ast.Assign) else seen.data["layer"].lower()
        new = f"self.{name}" if name.isidentifier() else ""
        edits = _in_constructor(source, call, new, seen.data) if new else ()
        names = {"text": source.text(call), "kind": seen.data["layer"], "times": times, "new": new}
        yield Finding("layer-made-anew", names, source.span(call), (Attempt("once", edits, {"new": new}),), weight=9)


def _learns(kind: str) -> bool:
    """Whether a layer of torch's has weights, or statistics, that another one of its kind does not begin with."""
    return any(kind.startswith(one) for one in ("Linear", "Bilinear", "Conv", "Embedding", "LSTM", "GRU", "RNN",
                                                "Multihead", "Transformer", "BatchNorm"))  # fmt: skip


def _in_constructor(source: Source, call: ast.Call, new: str, made: dict[str, Any]) -> rewrite.Edits:
    """The layer made at the end of the constructor, of the sizes that it was made of, and used where it was made."""
    owner = source.class_at(call.lineno)
    methods = [one for one in owner.body if isinstance(one, ast.FunctionDef)] if owner is not None else []
    first = next((one for one in methods if one.name == "__init__"), None)
    parameters = list(inspect.signature(getattr(torch.nn, made["layer"])).parameters)
    texts = [_size(source, one, parameters[at], made["sizes"]) for at, one in enumerate(call.args)]
    texts += [f"{one.arg}={_size(source, one.value, str(one.arg), made['sizes'])}" for one in call.keywords]
    if first is None or len(call.args) > len(parameters):
        return ()
    put = rewrite.after(source, first.body[-1], f"{new} = {source.text(call.func)}({', '.join(texts)})")
    return rewrite.together(source, put, rewrite.replaced(source, call, new))


def _size(source: Source, node: ast.expr, name: str, sizes: dict[str, int]) -> str:
    """What a layer is made of as the constructor may write it: what it reads of the object alone, else the number."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    plain = names <= {"self"} and not any(isinstance(one, ast.Call) for one in ast.walk(node))
    return source.text(node) if plain or name not in sizes else str(sizes[name])
