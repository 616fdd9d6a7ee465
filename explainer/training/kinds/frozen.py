"""Layers that an optimizer is given and that the program has frozen before they learned anything."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from explainer.source import Source, called, stored
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.optimizers import name_of
from explainer.training.sources import program_sources
from explainer.wrappers import class_name

#: Calls that draw numbers.
_DRAWN = ("rand", "randn", "normal", "uniform", "standard_normal", "normal_", "uniform_")


@finder
def frozen_for_ever(watcher: Any) -> Iterator[Finding]:
    """Parameters with random weights that an optimizer holds and that never get a gradient, since they are frozen."""
    entries = [
        one
        for one in watcher.weights.values()
        if one["frozen"] and one["held"] and one["looked"] >= 4 and not one["moved"] and not one["gone"]
    ]
    entries = [one for one in entries if id(one["of"]()) not in watcher.pretrained and one["of"]()._version <= 2]
    if not entries:
        return
    attempts = []
    for source in program_sources(watcher):
        for node in _freezes(source):
            edits = rewrite.without(source, node)
            if edits:
                text = source.text(node).split("\n")[0]
                attempts.append(Attempt("train", edits, {"text": text}, culprit=source.span(node)))
        attempts += _tables(source)
    if attempts:
        root = entries[0]["root"]()
        names = {
            "missing": ", ".join(dict.fromkeys(one["name"] for one in entries[:3])),
            "many": len(entries),
            "root": class_name(root),
            "optimizer": name_of(watcher.notes.optimizers[entries[0]["optimizer"]]),
        }
        yield Finding("frozen-for-ever", names, attempts[0].culprit, tuple(attempts), proved=False, seen=True, weight=6)


@finder
def frozen_by_part_of_name(watcher: Any) -> Iterator[Finding]:
    """`if tag in name: freeze`, where some names hold the tag inside of another word, and others begin with it."""
    models = [root["of"]() for root in watcher.notes.roots.values()]
    frozen = [name for model in models if model is not None for name, one in model.named_parameters()
              if not one.requires_grad]  # fmt: skip
    sources = program_sources(watcher) if frozen else []
    texts = _texts(sources)
    for source in sources:
        for test in (node for node in source.nodes() if isinstance(node, ast.Compare) and _freezes_by(source, node)):
            tag, name = source.text(test.left), source.text(test.comparators[0])
            tags = [test.left.value] if isinstance(test.left, ast.Constant) else texts
            apart = [(one, each) for each in tags if isinstance(each, str) for one in frozen
                     if each in one and not any(part.startswith(each) for part in one.split("."))]  # fmt: skip
            if apart and any(part.startswith(apart[0][1]) for one in frozen for part in one.split(".")):
                new = f"{name}.startswith({tag})"
                names = {"text": source.text(test), "tag": apart[0][1], "name": apart[0][0], "many": len(apart)}
                attempts = (Attempt("start", rewrite.replaced(source, test, new), {"new": new}),)
                yield Finding("frozen-by-part-of-name", names, source.span(test), attempts, proved=False, seen=True,
                              weight=7)  # fmt: skip


def _freezes_by(source: Source, test: ast.Compare) -> bool:
    """Whether a test asks for a text in a name, and decides what is frozen."""
    node: ast.AST | None = test
    while node is not None and not isinstance(node, ast.If):
        node = source.parent_of(node)
    return isinstance(test.ops[0], ast.In) and node is not None and any(map(_freezing, ast.walk(node)))


def _texts(sources: Iterable[Source]) -> list[str]:
    """The short texts of a program that may be tags."""
    texts = [node.value for source in sources for node in source.nodes()
             if isinstance(node, ast.Constant) and isinstance(node.value, str)]  # fmt: skip
    return [one for one in dict.fromkeys(texts) if one.isidentifier()]


def _tables(source: Source) -> Iterator[Attempt]:
    """Tables of random numbers that `from_pretrained` freezes, as it does where nothing else is said."""
    for node in source.nodes():
        if isinstance(node, ast.Call) and called(node) == "from_pretrained" and len(node.args) == 1:
            owner = source.text(node.func).split(".")[-2:-1]
            told = any(keyword.arg in ("freeze", None) for keyword in node.keywords)
            if owner in (["Embedding"], ["EmbeddingBag"]) and not told and _random(source, node):
                edits = rewrite.with_keyword(source, node, "freeze", "False")
                names = {"text": source.text(node), "new": f"{source.text(node)[:-1]}, freeze=False)"}
                yield Attempt("learn", edits, names, culprit=source.span(node))


def _random(source: Source, call: ast.Call) -> bool:
    """Whether a table is drawn where it is handed on, or where its name is given a value, in the same function."""
    given, values = call.args[0], [call.args[0]]
    if isinstance(given, ast.Name):
        scope = list(ast.walk(source.scope_at(call.lineno)))
        values = [one.value for one in scope if isinstance(one, ast.Assign) and given.id in stored(one)]
        filled = [one for one in scope if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store)]
        if any(isinstance(one.value, ast.Name) and one.value.id == given.id for one in filled):
            return False  # with what is known of some rows
    return bool(values) and all(
        any(isinstance(one, ast.Call) and called(one) in _DRAWN for one in ast.walk(value)) for value in values
    )


def _freezes(source: Source) -> Iterator[ast.stmt]:
    """`p.requires_grad = False`, `layer.requires_grad_(False)`, alone or as all that a loop does."""
    for node in source.nodes():
        if isinstance(node, ast.For):
            found = len(node.body) == 1 and _freezing(node.body[0])
        else:
            found = isinstance(node, ast.stmt) and _freezing(node) and not _only_in_loop(source, node)
        if found:
            yield node  # type: ignore[misc]


def _freezing(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is False:
        return any(isinstance(one, ast.Attribute) and one.attr == "requires_grad" for one in node.targets)
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and called(call) == "requires_grad_"
        and any(isinstance(one, ast.Constant) and one.value is False for one in call.args)
    )


def _only_in_loop(source: Source, node: ast.stmt) -> bool:
    found = rewrite.block_of(source, node)
    return found is not None and isinstance(found[1], ast.For) and len(found[0]) == 1
