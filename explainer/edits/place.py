"""Places to edit: a syntax node with the source it stands in, found again from a fact's span."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Any

from explainer.diagnosis import Edit, Span
from explainer.edits.lines import EditError, changed
from explainer.facts import span_of
from explainer.frozen import frozen
from explainer.source import Node, Source, walked

Sources = Callable[[str], Source | None]
#: Expressions that take a method call or a subscript without parentheses.
PRIMARY = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Tuple, ast.Dict, ast.ListComp)
#: What binds an expression that stands first in it tighter than an arithmetic sign does.
_TIGHTER = (ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript, ast.Call)


@frozen
class Place:
    """A node of a file."""

    source: Source
    node: Node

    @property
    def span(self) -> Span:
        """Its span, with columns."""
        return self.source.span(self.node)

    @property
    def line(self) -> int:
        """The line on which it begins."""
        return self.node.lineno

    @property
    def text(self) -> str:
        """Its source."""
        return self.source.text(self.node)

    @property
    def short(self) -> str:
        """Its source in one line, cut where it is long."""
        text = " ".join(self.text.split())
        return text if len(text) <= 48 else text[:45] + "..."

    @property
    def end(self) -> Span:
        """The empty span behind it."""
        span = self.span
        line, column = span.end_line or span.line, span.end_column
        return dataclasses.replace(span, line=line, column=column, end_line=line, end_column=column)

    def at(self, node: Node) -> Place:
        """Another node of the same file."""
        return Place(self.source, node)

    def statement(self) -> Place:
        """The innermost statement that holds the node."""
        if isinstance(self.node, ast.stmt):
            return self
        around = self.parent()
        while around is not None and not isinstance(around, ast.stmt):
            around = self.source.parent_of(around)
        if around is None:
            raise EditError("no statement holds this place")
        return self.at(around)

    def parent(self) -> ast.AST | None:
        """The node that has this one as its child."""
        return self.source.parent_of(self.node)


def place_of(sources: Sources, fact: Any) -> Place:
    """The place of a fact, a span, or a place itself. EditError where there is none that can be edited."""
    if isinstance(fact, Place):
        return fact
    span = span_of(fact)
    if span is None:
        raise EditError("the fact has no place in the source")
    source = sources(span.file)
    if source is None or source.tree is None:
        raise EditError(f"{span.file} cannot be read as Python")
    node = _node(source, span)
    if node is None:
        raise EditError(f"no expression or statement at {span.file}:{span.line}")
    return Place(source, node)


def _node(source: Source, span: Span) -> Node | None:
    """The outermost node with the span's bounds; without columns the statement on its line."""
    if span.column is None:
        return source.statement_at(span.line)
    for node in source.nodes():
        if not isinstance(node, Node) or node.lineno != span.line:
            continue
        own = source.span(node)
        if (own.column, own.end_line, own.end_column) == (span.column, span.end_line or span.line, span.end_column):
            return node.value if isinstance(node, ast.Expr) else node
    return None


def by_file(places: Iterable[Place]) -> list[tuple[Source, list[Place]]]:
    """Places by the source that they stand in, in the order in which the sources come."""
    found: dict[str, list[Place]] = {}
    for one in places:
        found.setdefault(one.source.file, []).append(one)
    return [(own[-1].source, own) for own in found.values()]


def replaced_each(each: Iterable[Place], text: Callable[[Place], str]) -> tuple[Edit, ...]:
    """The edits that put a text in the place of each of several expressions, also of different files."""
    return tuple(
        edit for source, own in by_file(each) for edit in changed(source, [(one.span, text(one)) for one in own])
    )


def bound_above(scope: ast.AST, name: str, line: int) -> ast.Assign | None:
    """The last assignment of a name, or of an attribute (`self.table`), in a function or file above a line."""
    own = [node for target, node in _assigned(scope) if target == name and node.lineno < line]
    return max(own, key=lambda one: one.lineno, default=None)


@functools.lru_cache(64)
def _assigned(scope: ast.AST) -> list[tuple[str, ast.Assign]]:
    return [(ast.unparse(one.targets[0]), one) for one in walked(scope) if isinstance(one, ast.Assign)]


def as_primary(place: Place) -> str:
    """The source of an expression, in parentheses where a method call could not follow it."""
    node = place.node
    bare_tuple = isinstance(node, ast.Tuple) and not place.text.startswith("(")
    if isinstance(node, PRIMARY) and not bare_tuple:
        return place.text
    return f"({place.text})"


def enclosed(place: Place) -> bool:
    """Whether an expression stands in parentheses of its own: `(a + b)`, not the `a + b` of `f(a + b)`."""
    span = place.span
    head = place.source.line(span.line)[: (span.column or 1) - 1]
    tail = place.source.line(span.end_line or span.line)[(span.end_column or 1) - 1 :]
    before = head[:-1].rstrip()
    called = before[-1:].isalnum() or before[-1:] in ("_", ")", "]")
    keyword = before.split()[-1:] in (["return"], ["in"], ["and"], ["or"], ["not"], ["if"], ["else"], ["yield"])
    return head.endswith("(") and tail.startswith(")") and (keyword or not called)


def as_operand(text: str) -> str:
    """The source of an expression, in parentheses where an arithmetic sign beside it would bind otherwise."""
    node = ast.parse(text, mode="eval").body
    return text if isinstance(node, (*PRIMARY, ast.Constant)) else f"({text})"


def fitted(place: Place, new: str) -> str:
    """A new text for an expression's place, in parentheses where what stands around it would take a part of it."""
    parent = place.parent()
    argument = isinstance(parent, (ast.Subscript, ast.Call)) and place.node is not next(ast.iter_child_nodes(parent))
    tighter = isinstance(parent, _TIGHTER) and not argument
    return as_operand(new) if tighter and not enclosed(place) else new
