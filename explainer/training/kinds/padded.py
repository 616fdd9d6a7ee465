"""A vocabulary that is numbered from the index of padding on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
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
