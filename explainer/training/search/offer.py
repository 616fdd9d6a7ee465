"""One edit that may be what the program meant, and what speaks against it."""

from __future__ import annotations

import ast
from collections import Counter

from explainer.diagnosis import Edit
from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.source import Source
from explainer.training import rewrite
from explainer.training.finding import Attempt

_PARTS = Pattern(r"[A-Za-z_]\w*|\d[\w.]*|==|!=|<=|>=|//|\*\*|[^\s\w]")
_REDUCES = Pattern(
    r"dim|axis|softmax|mean|sum|norm|arg(?:max|min)|\bstd|\bvar|cumsum|flip|sort|unsqueeze|cat|stack|unbind"
)


@frozen
class Offer:
    """One edit. `kind` names the words of the fix: `replace`, `without`, `move`; the least `cost` is tried first.

    `old` is what is told of a node that says little by itself. A `makeshift` may help whatever is wrong. `reason` says
    what is seen of it besides, `about` of what: `shared`, `unread`, `fitted`, `end`,
    `precision`, `whole`, `own-statistics`.
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
            "nature": nature(text, self.new) if self.kind == "replace" else "",
            "about": self.about,
            "cost": self.cost,
            "function": self.source.qualified_at(line),
            "statement": self.source.text(stated).split("\n")[0] if stated is not None else text,
        }
        return Attempt(self.kind, self.edits, names, culprit=self.source.span(self.node))


def nature(old: str, new: str) -> str:
    """What tells two texts of an expression apart: a sign, a dimension, an order ...; empty where nothing so plain."""
    one, other = (_PARTS.findall(text.replace("(", " ").replace(")", " ")) for text in (old, new))
    lost, added = Counter(one) - Counter(other), Counter(other) - Counter(one)
    apart = set(lost) | set(added)
    if not apart:
        return "" if one == other else "sign" if "-" in one and "," not in one else "order"
    if "[" in one and ":" in one and apart <= {"1", "-", ":"}:
        return "shift"
    if apart == {"-"} or apart == {"+", "-"}:
        return "sign"
    if apart <= {"not", "~"} or apart in ({"True", "False"}, {"==", "!="}, {"min", "max"}, {"argmin", "argmax"}):
        return "inverted"
    if apart in ({"*", "/"}, {"//", "/"}):
        return "scale"
    if apart in ({"**", "2"}, {"square", "."}, {"sqrt", "."}, {"square"}, {"sqrt"}):
        return "power"
    if apart == {"mean", "sum"}:
        return "reduction"
    if lost and added and all(part.lstrip("-").isdigit() for part in apart):
        return "dimension" if _REDUCES.search(old) else "number"
    if apart <= {"1", "+", "-", ":"}:
        return "shift"
    return ""


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
