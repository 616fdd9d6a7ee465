"""Weights that are kept or averaged on the way, and turn out worse than those at the end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.judge import rises
from explainer.training.kinds.averages import _WRITTEN
from explainer.training.sources import program_sources

_TURNED = {ast.Lt: ">", ast.LtE: ">=", ast.Gt: "<", ast.GtE: "<="}
_KEEPS = ("state_dict", "deepcopy", "save")
#: Factors that a moving average over some hundred steps can do with.
_FASTER = ("0.99", "0.9")
#: Arguments of optimizers and schedules that take such factors too.
_OTHERS = ("betas", "gamma", "momentum", "alpha", "rho", "lr_decay")


@finder
def wrong_comparison(watcher: Any) -> Iterator[Finding]:
    """`if acc < best:` keeps the weights, and they are loaded in the end."""
    if not watcher.loaded:
        return
    for source in program_sources(watcher):
        for node in source.nodes():
            if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare) or len(node.test.ops) != 1:
                continue
            turned = _TURNED.get(type(node.test.ops[0]))
            keeps = any(
                isinstance(one, ast.Call) and called(one) in _KEEPS for each in node.body for one in ast.walk(each)
            )
            left, right = source.text(node.test.left), source.text(node.test.comparators[0])
            best_first = any(name == left for name, _ in _given(source, node.body))
            if turned is None or not keeps or _fits((turned[0] == "<") != best_first, left, right):
                continue
            edits = rewrite.replaced(source, node.test, f"{left} {turned} {right}")
            edits = _beginning(source, node.test, turned or "", edits)
            names = {"text": source.text(node.test), "turned": f"{left} {turned} {right}"}
            attempts = (Attempt("turn", edits, names),)
            yield Finding(
                "worst-weights-kept", names, source.span(node.test), attempts, proved=False, seen=True, weight=5
            )


@finder
def same_model(watcher: Any) -> Iterator[Finding]:
    """`best = model`: the model under another name, where a copy of it was to be kept."""
    models = {root["name"] for root in watcher.notes.roots.values() if root["name"] and root["train"]}
    for source in program_sources(watcher):
        for node in source.nodes():
            if not isinstance(node, ast.If):
                continue
            for name, value in _given(source, node.body):
                text = source.text(value)
                if text not in models or name == text or not name.isidentifier():
                    continue
                edits = _copied(source, value, text)
                names = {"line": value.lineno, "step": 0, "steps": watcher.notes.steps, "name": name, "text": text}
                attempts = (Attempt("copy", edits, {"text": text}),)
                yield Finding(
                    "weights-kept-by-reference",
                    names,
                    source.span(value),
                    attempts,
                    proved=False,
                    seen=True,
                    weight=7,
                )


def _copied(source: Source, value: ast.expr, text: str) -> Any:
    """`copy.deepcopy(model)`, and the import where there is none."""
    edits = rewrite.replaced(source, value, f"copy.deepcopy({text})")
    if any(isinstance(one, ast.alias) and (one.asname or one.name) == "copy" for one in source.nodes()):
        return edits
    first = next((one for one in source.nodes() if isinstance(one, (ast.Import, ast.ImportFrom))), None)
    if first is None or getattr(first, "module", "") == "__future__":
        return ()
    return rewrite.together(source, rewrite.before(source, first, "import copy"), edits)


def _fits(greater: bool, left: str, right: str) -> bool:
    """Whether a comparison is the one that its names ask for: `loss < best_loss`, `acc > best`."""
    known = {rises(name) for name in (left, right)} - {None}
    return known == {greater}


def _beginning(source: Source, test: ast.Compare, turned: str, edits: Any) -> Any:
    """The edits with the number that the best one begins with made the one that all others beat."""
    for side in (test.comparators[0], test.left):
        numbers = [value for name, value in _given(source) if name == source.text(side) and _number(value)]
        if numbers:
            first = min(numbers, key=lambda one: one.lineno)
            start = "-inf" if (turned[0] == ">") == (side is test.comparators[0]) else "inf"
            return rewrite.together(source, edits, rewrite.replaced(source, first, f'float("{start}")'))
    return edits


def _given(source: Source, within: Any = None) -> Iterator[tuple[str, ast.expr]]:
    """Names and what they are given, those of tuples one by one."""
    for node in source.nodes() if within is None else within:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(map(source.text, target.elts), node.value.elts, strict=False)
            else:
                yield source.text(target), node.value


def _number(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    if isinstance(inner, ast.Constant):
        return isinstance(inner.value, (int, float))
    return (isinstance(inner, ast.Call) and called(inner) == "float") or getattr(inner, "attr", "") == "inf"


def _factors_of_others(source: Source) -> set[int]:
    """The ids of constants that are an optimizer's or a schedule's: in tuples, and under their names."""
    unpacked = {id(value) for _, value in _given(source)}
    found: set[int] = set()
    for node in source.nodes():
        if isinstance(node, (ast.Tuple, ast.List)):
            found |= {id(one) for one in node.elts} - unpacked
        elif isinstance(node, ast.keyword) and node.arg in _OTHERS:
            found |= {id(one) for one in ast.walk(node.value)}
    return found


@finder
def slow_average(watcher: Any) -> Iterator[Finding]:
    """A moving average of the weights that is evaluated, with a factor that leaves it near where it began."""
    notes = watcher.notes
    copies = {id(ref()) for ref, *_ in watcher.copied.values() if ref() is not None}
    used = [root for root in notes.roots.values() if root["eval"] and not root["train"] and root["of"]() is not None]
    averages = [root for root in used if any(id(part) in copies for part in root["of"]().modules())]
    averages = [root for root in averages if any(p._version >= _WRITTEN for p in root["of"]().parameters())]
    if not averages:
        return
    for source in program_sources(watcher):
        others = _factors_of_others(source)
        for node in source.nodes():
            if not isinstance(node, ast.Constant) or not isinstance(node.value, float) or not 0.99 < node.value < 1:
                continue
            if id(node) in others:
                continue
            kept = node.value**notes.steps
            if kept < 0.05:
                continue
            tries = [Attempt("faster", rewrite.replaced(source, node, each), {"value": each}) for each in _FASTER]
            names = {
                "factor": source.text(node),
                "kind": averages[0]["kind"],
                "percent": round(100 * kept),
                "steps": notes.steps,
            }
            yield Finding(
                "average-too-slow",
                names,
                source.span(node),
                tuple(tries),
                proved=False,
                seen=True,
                weight=5,
            )
