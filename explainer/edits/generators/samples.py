"""What a dataset returns as its samples: the parts that `__getitem__` hands back, and the steps that made them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence, Step
from explainer.edits.place import Place, bound_above


def _methods(evidence: Evidence, name: str) -> Iterator[Place]:
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.FunctionDef) and node.name == name:
                yield Place(source, node)


def _returned(function: ast.AST) -> Iterator[ast.expr]:
    """The parts of what a function returns: a tuple's elements, a dict's values, or the value itself."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            value = node.value
            if isinstance(value, (ast.Tuple, ast.List)):
                yield from value.elts
            elif isinstance(value, ast.Dict):
                yield from value.values
            else:
                yield value


def parts_returned(evidence: Evidence) -> Iterator[Place]:
    """The parts of what each `__getitem__` of the program returns, constants left out."""
    for method in _methods(evidence, "__getitem__"):
        yield from (method.at(part) for part in _returned(method.node) if not isinstance(part, ast.Constant))


def returned_as(evidence: Evidence, step: Step) -> Place | None:
    """The part of what a `__getitem__` returns that is a step's result under its name: `x` in `return x, label`."""
    made = step.place
    for part in parts_returned(evidence) if made is not None else ():
        scope = part.source.scope_at(part.span.line)
        bound = bound_above(scope, part.text, part.span.line) if isinstance(part.node, ast.Name) else None
        if made is not None and bound is not None and part.source is made.source and bound.value is made.node:
            return part
    return None
