"""Passes that do not belong together: two over shuffled samples side by side, all earlier ones in one total."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called, of_self
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.sites import Site, key, statement
from explainer.training.sources import program_sources

_SAME = "torch.utils.data.DataLoader({name}.dataset, batch_size={name}.batch_size, collate_fn={name}.collate_fn)"
_ANEW = "{name} = " + _SAME
#: Rows of a batch where a sampler of the program's own makes the batches.
_ROWS = 64


@finder
def in_random_order(watcher: Any) -> Iterator[Finding]:
    """A loader that is never trained from, and shuffles or sorts: no number of all data depends on their order."""
    entries = list(watcher.notes.loaders.values())
    trained = any(entry["learned"] for entry in entries)
    for entry in entries:
        shuffles = entry["sampler"] == "RandomSampler" or entry["ordered"]
        if not trained or entry["learned"] or not shuffles or not entry["taken"]:
            continue  # what else of them is random may turn out better by chance: the trial must be overwhelming
        site = entry["site"]
        alone = sum(key(other["site"]) == key(site) for other in entries) == 1
        found = rewrite.call_in(site[0]) if site else None
        if entry["ordered"]:
            attempts = _unsorted(entry["begun_at"])
        else:
            attempts = _in_order(*found) if alone and found is not None else _anew(site)
        if attempts:
            told = {"samples": entry["samples"] or 0, "passes": entry["begun"], "ordered": entry["ordered"]}
            names = {**told, "name": _called(site), "trained": False}
            yield Finding("evaluated-in-random-order", names, attempts[0].culprit, tuple(attempts), proved=False,
                          weight=4)  # fmt: skip


@finder
def beside_the_data(watcher: Any) -> Iterator[Finding]:
    """A pass over a loader that shuffles, beside what its dataset holds in its own order: `loader.dataset.ids`."""
    shuffled = [one for one in watcher.notes.loaders.values() if one["sampler"] == "RandomSampler" and one["taken"]]
    for source in program_sources(watcher) if shuffled else ():
        for function in (one for one in source.nodes() if isinstance(one, ast.FunctionDef)):
            for gone, name in _passed(source, function):
                new = _SAME.format(name=name)
                attempts = (Attempt("in-order", rewrite.replaced(source, gone, new), culprit=source.span(gone)),)
                entry = max(shuffled, key=lambda one: one["taken"])
                told = {"samples": entry["samples"] or 0, "passes": entry["begun"], "ordered": ""}
                names = {**told, "name": name, "trained": True}
                yield Finding("evaluated-in-random-order", names, source.span(gone), attempts, proved=False,
                              seen=True, weight=6)  # fmt: skip


def _passed(source: Source, function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    """What a function that learns nothing goes through once, where it reads what the data of the same loader hold."""
    nodes = list(ast.walk(function))
    if any(called(one) in ("backward", "step") for one in nodes if isinstance(one, ast.Call)):
        return
    held = {source.text(one.value.value) for one in nodes if isinstance(one, ast.Attribute)
            and isinstance(one.value, ast.Attribute) and one.value.attr == "dataset"}  # fmt: skip
    gone = [one.iter for one in nodes if isinstance(one, (ast.For, ast.comprehension))]
    through = [one for one in gone if isinstance(one, ast.Name) and one.id in held]
    if len(through) == 1:
        yield through[0], through[0].id


def _in_order(source: Source, call: ast.Call) -> list[Attempt]:
    """The loader built without shuffling, also where its arguments come in a dict."""
    given = next((one.value for one in call.keywords if one.arg is None), None)
    if given is not None and not any(one.arg == "shuffle" for one in call.keywords):
        text = source.text(given)
        edits = rewrite.replaced(source, given, f'{{**{text}, "shuffle": False}}')
    else:
        edits = rewrite.with_keyword(source, call, "shuffle", "False")
    return [Attempt("in-order", edits, culprit=source.span(call))] if edits else []


def _unsorted(begun: Site) -> list[Attempt]:
    """The samples of a loop in the order of the data, whatever the sampler of its loader does."""
    found = statement(begun[0]) if begun else None
    source, loop = found if found is not None else (None, None)
    if source is None or not isinstance(loop, ast.For) or not isinstance(loop.iter, (ast.Call, ast.Name)):
        return []
    name, given = "in_order", source.text(loop.iter)
    lines = f"{name} = {given}\n{_ANEW.format(name=name)}".replace(f"{name}.batch_size", str(_ROWS))
    edits = rewrite.together(source, rewrite.before(source, loop, lines), rewrite.replaced(source, loop.iter, name))
    return [Attempt("in-order", edits, culprit=source.span(loop.iter))] if edits else []


def _anew(site: Site) -> list[Attempt]:
    """Another loader of the same samples, where one function makes those for training as well."""
    for frame in site[1:]:
        found = statement(frame)
        target = found[1].targets[0] if found is not None and isinstance(found[1], ast.Assign) else None
        if found is not None and isinstance(target, (ast.Name, ast.Attribute)):
            edits = rewrite.after(*found, _ANEW.format(name=found[0].text(target)))
            return [Attempt("in-order", edits, culprit=found[0].span(found[1]))] if edits else []
    return []


def _called(site: Site) -> str:
    """The name that the program has for a loader."""
    for frame in site:
        found = statement(frame)
        if found is not None and isinstance(found[1], ast.Assign) and isinstance(found[1].targets[0], ast.Name):
            return found[1].targets[0].id
    return "DataLoader"


@finder
def never_reset(watcher: Any) -> Iterator[Finding]:
    """An object that adds up over a pass, and whose method that sets it back is called in its constructor alone."""
    sources = program_sources(watcher)
    asked = [(source, node) for source in sources for node in source.nodes()
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]  # fmt: skip
    for owner in (node for source in sources for node in source.nodes() if isinstance(node, ast.ClassDef)):
        methods = [one for one in owner.body if isinstance(one, ast.FunctionDef)]
        for reset in methods:
            calls = [(source, node) for source, node in asked if called(node) == reset.name]
            names = {getattr(source.function_at(node.lineno), "name", "") for source, node in calls}
            own = {each.attr for each in ast.walk(reset) if of_self(each) and isinstance(each.ctx, ast.Store)}
            adding = {one.name for one in methods if one is not reset and _added(one) & own}
            if len(reset.args.args) != 1 or reset.name.startswith("__") or names != {"__init__"}:
                continue
            for source, node in asked:
                if called(node) in adding and (found := _before_pass(source, node, reset.name)) is not None:
                    told = {"owner": owner.name, "reset": reset.name, "adds": called(node), "text": found[0]}
                    attempts = (Attempt("reset", found[1], {"text": found[0]}),)
                    yield Finding("metric-never-reset", told, source.span(node), attempts, proved=False, seen=True)


def _added(function: ast.FunctionDef) -> set[str]:
    """The attributes of an object that a method adds to: `self.total += ...`, `self.rows.append(...)`."""
    added: list[ast.expr] = [one.target for one in ast.walk(function) if isinstance(one, ast.AugAssign)]
    added += [one.func.value for one in ast.walk(function) if isinstance(one, ast.Call)
              and isinstance(one.func, ast.Attribute) and called(one) in ("append", "extend", "add_")]  # fmt: skip
    inner = [one.value if isinstance(one, ast.Subscript) else one for one in added]
    return {one.attr for one in inner if of_self(one)}


def _before_pass(source: Source, call: ast.Call, name: str) -> tuple[str, Any] | None:
    """A method of what a call is of, called before the innermost loop around it."""
    stated = source.statement_at(call.lineno)
    loop = rewrite.loop_around(source, stated) if stated is not None else None
    text = f"{source.text(call.func.value)}.{name}()"  # type: ignore[attr-defined]
    return (text, rewrite.before(source, loop, text)) if loop is not None else None
