"""Rates that a scheduler brings to nothing early, or leaves where they began."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, loaded, stored
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.kinds.optimizers import span_of
from explainer.training.kinds.strength import plain
from explainer.training.notes import Optimizing
from explainer.training.sites import statement


def schedules(watcher: Any) -> Iterator[Finding]:
    """Rates that a scheduler brings to nothing early, or leaves at their first tiny value."""
    notes = watcher.notes
    for entry in notes.schedulers:
        if entry["optimizer"] is None:
            continue
        one = notes.optimizers[entry["optimizer"]]
        most = max((rate for rate, _ in one.rates), default=0.0)
        full = max(most, one.settings.get("lr", 0.0) if isinstance(one.settings.get("lr"), float) else 0.0)
        if one.steps < 20 or not full:
            continue
        tiny, early = _faded(one, full)
        planned = _unfinished(entry, one)
        if tiny < 0.5 * one.steps and not planned:
            continue
        names = {
            "kind": entry["kind"],
            "steps": one.steps,
            "early": early,
            "rate": plain(one.rates[-1][0]),
            "full": plain(full),
            "stepped": entry["steps"],
            "tiny": tiny,
            "planned": planned,
            "text": _call_text(entry),
            "settings": ", ".join(f"{name}={value:g}" for name, value in (entry.get("settings") or {}).items()),
        }
        attempts = _rescheduled(entry, one, watcher)
        site = entry["stepped_at"] or entry["site"]
        yield Finding(
            "learning-rate-scheduled-away",
            names,
            span_of(site, "step") if entry["stepped_at"] else span_of(site),
            tuple(attempts),
            proved=False,
            seen=True,
        )


def by_hand(watcher: Any) -> Iterator[Finding]:
    """A rate that the program sets itself from a count, and that is next to nothing for most steps."""
    scheduled = {entry["optimizer"] for entry in watcher.notes.schedulers}
    for one in watcher.notes.optimizers:
        full = max((rate for rate, _ in one.rates), default=0.0)
        tiny, early = _faded(one, full)
        step = statement(one.stepped_at[0]) if one.stepped_at and one.number not in scheduled else None
        if step is None or one.steps < 20 or not full or tiny < 0.5 * one.steps:
            continue
        for text, counted in _counts(step[0], step[1]):
            edits = rewrite.moved(step[0], counted, step[1], True)
            told = {"kind": text, "steps": one.steps, "early": early, "rate": plain(one.rates[-1][0]), "tiny": tiny}
            names = {
                **told,
                "full": plain(full),
                "stepped": 0,
                "planned": 0,
                "text": step[0].text(counted),
                "settings": "",
            }
            attempts = (Attempt("count", edits, {"text": step[0].text(counted)}),)
            yield Finding(
                "learning-rate-scheduled-away", names, step[0].span(counted), attempts, proved=False, seen=True
            )


def _counts(source: Source, step: ast.stmt) -> Iterator[tuple[str, ast.AugAssign]]:
    """What a program sets a rate to, with the counts that it is computed from and that go on without a step."""
    scope = source.scope_at(step.lineno)
    block = {id(one) for one in source.block_of(step)}
    for node in ast.walk(scope):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Subscript) and getattr(target.slice, "value", None) == "lr":
            for one in ast.walk(scope):
                if isinstance(one, ast.AugAssign) and stored(one) & loaded(node.value) and id(one) not in block:  # type: ignore[attr-defined]
                    yield source.text(node.value), one  # type: ignore[attr-defined]


def _unfinished(entry: dict[str, Any], one: Optimizing) -> int:
    """How many steps a schedule is for, where the optimizer has taken about as many and it a few; else 0."""
    settings = entry.get("settings") or {}
    length = settings.get("total_steps") or settings.get("T_max") or 0
    fits = 0.8 * length <= one.steps <= 1.25 * length and entry["steps"] <= 0.2 * length
    return int(length) if fits else 0


def _call_text(entry: dict[str, Any]) -> str:
    """How the program steps a scheduler: `sched.step()`."""
    found = rewrite.call_in(entry["stepped_at"][0], "step") if entry["stepped_at"] else None
    return found[0].text(found[1].func) if found is not None else "step"


def _faded(one: Optimizing, full: float) -> tuple[int, int]:
    """For how many steps a rate is next to nothing, and how many come before the first of them."""
    small = [rate < 0.02 * full for rate, _ in one.rates]
    counts = [int(count) for _, count in one.rates]
    tiny = sum(count for count, fades in zip(counts, small, strict=True) if fades)
    return tiny, sum(counts[: small.index(True)]) if any(small) else 0


def _rescheduled(entry: dict[str, Any], one: Optimizing, watcher: Any) -> list[Attempt]:
    """The scheduler stepped once an epoch, or once a step, or over as many steps as there are."""
    attempts = []
    text = "scheduler.step()"
    found = statement(entry["stepped_at"][0]) if entry["stepped_at"] else None
    if found is not None:
        text = found[0].text(found[1])
        loop = rewrite.loop_around(*found)
        inside = loop is not None and (rewrite.loop_around(found[0], loop) or found[0].function_at(loop.lineno))
        if inside and entry["steps"] >= 0.8 * one.steps:
            attempts.append(Attempt("epoch", rewrite.moved(found[0], found[1], loop, True)))
    elif entry["site"] and (made := statement(entry["site"][0])) is not None and isinstance(made[1], ast.Assign):
        text = f"{made[0].text(made[1].targets[0])}.step()"
    step = statement(one.stepped_at[0]) if one.stepped_at else None
    if step is not None and entry["steps"] < 0.5 * one.steps:
        put = [rewrite.after(step[0], step[1], text)]
        if found and found[0] is step[0]:
            put += [rewrite.without(*found), *_handed(found[0], found[1], step[1], text)]
        attempts.append(Attempt("each-step", rewrite.together(step[0], *put)))
    call = rewrite.call_in(entry["site"][0], entry["kind"]) if entry["site"] else None
    if call is not None and entry["steps"] >= 0.8 * one.steps:
        for name in ("T_max", "total_steps", "step_size"):
            second = name in ("T_max", "step_size") and entry["kind"] in ("CosineAnnealingLR", "StepLR")
            node = rewrite.argument(call[1], name, 1 if second else None)
            if node is not None and (entry.get("settings") or {}).get(name):
                factor = max(round(one.steps / max(_epochs(watcher, one), 1)), 1)
                edits = rewrite.replaced(call[0], node, f"{_product(call[0], node)} * {factor}")
                attempts.append(Attempt("length", edits, culprit=call[0].span(call[1])))
                break
    attempts += _unrounded(entry)
    return [each for each in attempts if each.edits]


def _handed(source: Source, stated: ast.stmt, step: ast.stmt, text: str) -> list[Any]:
    """A scheduler that another function of the file steps from now on: as its parameter, and given in its calls."""
    name, _, method = text.partition(".")
    function, own = source.function_at(step.lineno), source.function_at(stated.lineno)
    if not isinstance(function, ast.FunctionDef) or function is own or name == "self" or "." in method:
        return []
    known = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)} | stored(function)
    calls = [one for one in source.nodes() if isinstance(one, ast.Call) and source.text(one.func) == function.name]
    bound = own is not None and name in stored(own)
    last = function.args.args[-1:]
    if name in known or not bound or not last or function.args.kwarg or function.args.kwonlyargs:
        return []
    if function.args.defaults or any(source.function_at(one.lineno) is not own for one in calls):
        return []
    edits = [rewrite.replaced(source, last[0], f"{source.text(last[0])}, {name}")]
    return [*edits, *(rewrite.with_keyword(source, one, name, name) for one in calls)]


def _unrounded(entry: dict[str, Any]) -> Iterator[Attempt]:
    """Where the program computes the factor itself: a division whose result is rounded down, as it is."""
    call = rewrite.call_in(entry["site"][0], entry["kind"]) if entry["site"] and entry["kind"] == "LambdaLR" else None
    given = rewrite.argument(call[1], "lr_lambda", 1) if call is not None else None
    if call is None or given is None:
        return
    source = call[0]
    name = source.text(given).rpartition(".")[2]
    made = [one for one in source.nodes() if isinstance(one, ast.FunctionDef) and one.name == name]
    for node in (inner for one in (given, *made) for inner in ast.walk(one)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            new = f"{source.text(node.left)} / {source.text(node.right)}"
            yield Attempt("divide", rewrite.replaced(source, node, new), {"new": new}, source.span(node))


def _product(source: Source, node: ast.AST) -> str:
    text = source.text(node)
    return text if isinstance(node, (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"


def _epochs(watcher: Any, one: Optimizing) -> int:
    begun = [entry["begun"] for entry in watcher.notes.loaders.values() if entry["taken"] >= 0.9 * one.steps]
    return begun[0] if begun else 1
