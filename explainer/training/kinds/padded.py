"""What is taken for padding and is none: a vocabulary numbered from its index on, a class that the loss leaves out."""

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
