"""One edit that may be what the program meant, and what speaks against it."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.frozen import frozen
from explainer.source import Source
from explainer.training import rewrite
from explainer.training.finding import Attempt


@frozen
class Offer:
    """One edit. `kind` names the words of the fix: `replace`, `without`, `move`; the least `cost` is tried first.

    `old` is what is told of a node that says little by itself. A `makeshift` may help whatever is wrong. `reason` says
    what is seen of it besides, `about` of what: `shared`, `unread`, `fitted`.
    """

    kind: str
    source: Source
    node: ast.AST
    edits: tuple[Edit, ...]
    new: str
    cost: float
    old: str = ""
    makeshift: bool = False
    reason: str = ""
    about: str = ""

    def attempt(self) -> Attempt:
        """What is tried and told."""
        text = self.old or self.source.text(self.node).split("\n")[0]
        line = getattr(self.node, "lineno", 0)
        stated = self.source.statement_at(line)
        names = {
            "text": text,
            "new": self.new,
            "line": line,
            "kind": self.kind,
            "makeshift": self.makeshift,
            "reason": self.reason,
            "about": self.about,
            "cost": self.cost,
            "function": self.source.qualified_at(line),
            "statement": self.source.text(stated).split("\n")[0] if stated is not None else text,
        }
        return Attempt(self.kind, self.edits, names, culprit=self.source.span(self.node))


def replacing(source: Source, node: ast.AST, new: str, cost: float) -> Offer:
    """A node's text replaced."""
    return Offer("replace", source, node, rewrite.replaced(source, node, new), new, cost)


def within(source: Source, call: ast.Call, node: ast.expr, new: str, cost: float) -> Offer:
    """An argument of a call replaced, told as the call as it would be."""
    text = source.text(call)
    start = node.col_offset - call.col_offset if call.lineno == node.lineno == call.end_lineno else None
    if start is None or not text[start:].startswith(source.text(node)):
        return replacing(source, node, new, cost)
    return replacing(source, call, text[:start] + new + text[start + len(source.text(node)) :], cost)


def leaving_out(source: Source, statement: ast.stmt, cost: float) -> Offer:
    """A statement left out."""
    return Offer("without", source, statement, rewrite.without(source, statement), "", cost)
