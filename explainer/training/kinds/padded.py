"""Padding that counts in a mean; what is taken for padding and is none: a first index, a class that is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called, with_arguments
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.losses import loss_call
from explainer.training.sources import program_sources


@finder
def numbered_from_padding(watcher: Any) -> Iterator[Finding]:
    """`{word: i for i, word in enumerate(words)}` where 0 is the padding."""
    for seen, times in watcher.notes.of("padding-inside"):
        if times < 2 or seen.data["padding"] != 0:
            continue
        for source in program_sources(watcher):
            calls = list(_numberings(source))
            for text in dict.fromkeys(source.text(one.args[0]) for one in calls):
                same = [one for one in calls if source.text(one.args[0]) == text]
                edits = rewrite.both(source, [(one, f"enumerate({text}, start=1)") for one in same])
                names = {"text": text, "share": seen.data["share"], "call": source.text(same[0])}
                attempts = (Attempt("start", edits),)
                yield Finding("token-is-padding", names, source.span(same[0]), attempts, proved=False, seen=True,
                              weight=7)  # fmt: skip


def _numberings(source: Source) -> Iterator[ast.Call]:
    """The calls of `enumerate` that number the entries of a table from 0 on."""
    for node in source.nodes():
        if isinstance(node, ast.DictComp):
            call = node.generators[0].iter
        elif isinstance(node, ast.For) and any(_keeps(one) for one in node.body):
            call = node.iter
        else:
            continue
        if isinstance(call, ast.Call) and called(call) == "enumerate" and len(call.args) == 1 and not call.keywords:
            yield call


def _keeps(statement: ast.stmt) -> bool:
    """Whether a statement is `table[word] = i`."""
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript)


@finder
def class_ignored(watcher: Any) -> Iterator[Finding]:
    """A loss whose `ignore_index` is the number of a class that comes among the targets."""
    for seen, times in watcher.notes.of("class-ignored"):
        found = loss_call(seen) if times > 2 else None
        given = next((one for one in found[1].keywords if one.arg == "ignore_index"), None) if found else None
        if found is None or given is None:
            continue
        source, call = found
        rest = with_arguments(source, call, [one for one in (*call.args, *call.keywords) if one is not given])
        names = {"value": seen.data["value"], "share": seen.data["share"], "loss": seen.data["loss"]}
        attempts = (Attempt("count", rewrite.replaced(source, call, rest)),)
        yield Finding("class-ignored", names, source.span(given), attempts, proved=False, seen=True, weight=4)


@finder
def pooled(watcher: Any) -> Iterator[Finding]:
    """A mean over rows that are filled up with padding, as if that were said."""
    for seen, times in watcher.notes.of("padding-pooled"):
        found = rewrite.call_in(seen.site[0], "mean") if seen.site and times > 2 else None
        if found is None or not isinstance(found[1].func, ast.Attribute):
            continue
        source, call = found
        value = rewrite.operand(source, found[1].func.value)
        attempts = tuple(_real_mean(source, call, value, real)
                         for real in _real_places(source, call, seen.data["filler"]))  # fmt: skip
        names = {"text": source.text(call), "filler": seen.data["filler"], "share": seen.data["share"]}
        yield Finding("padding-pooled", names, source.span(call), attempts, proved=False, seen=True, weight=6)


def _real_mean(source: Source, call: ast.Call, value: str, real: str) -> Attempt:
    new = f"({value} * {real}).sum(1) / {real}.sum(1)"
    around = source.parent_of(call)
    new = f"({new})" if isinstance(around, (ast.Attribute, ast.BinOp)) else new
    return Attempt("real", rewrite.replaced(source, call, new), {"new": new})


def _real_places(source: Source, call: ast.Call, filler: int) -> Iterator[str]:
    """What tells the real places in a function: a name that was given so, the tokens that are looked up."""
    scope = source.scope_at(call.lineno)
    for one in ast.walk(scope):
        name = one.targets[0] if isinstance(one, ast.Assign) and isinstance(one.value, ast.Compare) else None
        if isinstance(name, ast.Name) and isinstance(one.value.ops[0], ast.NotEq):  # type: ignore[attr-defined]
            yield f"{name.id}.unsqueeze(-1)"
    given = {one.arg for one in ast.walk(scope) if isinstance(one, ast.arg)}
    for one in ast.walk(scope):
        tokens = one.args[0] if isinstance(one, ast.Call) and len(one.args) == 1 else None
        if isinstance(tokens, ast.Name) and tokens.id in given and source.text(one.func).startswith("self."):  # type: ignore[attr-defined]
            yield f"({tokens.id} != {filler}).unsqueeze(-1)"
