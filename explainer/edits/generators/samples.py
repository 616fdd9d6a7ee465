"""What a dataset returns as its samples: the parts that `__getitem__` hands back, and the steps that made them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.evidence import Evidence, Step
from explainer.edits.place import Place, bound_above
from explainer.source import stored, walked


def _methods(evidence: Evidence, name: str) -> Iterator[Place]:
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.FunctionDef) and node.name == name:
                yield Place(source, node)


def _returned(function: ast.AST) -> Iterator[ast.expr]:
    """The parts of what a function returns: elements of tuples, values of dicts, or the value itself."""
    for node in walked(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield from _parts(node.value)


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    inner = value.values if isinstance(value, ast.Dict) else getattr(value, "elts", None)
    for one in inner or ():
        yield from _parts(one)
    if inner is None:
        yield value


def parts_returned(evidence: Evidence) -> Iterator[Place]:
    """The parts of what each `__getitem__` of the program returns, constants left out."""
    for method in _methods(evidence, "__getitem__"):
        yield from (method.at(part) for part in _returned(method.node) if not isinstance(part, ast.Constant))


def of_parts(evidence: Evidence) -> bool:
    """Whether every sample that the program's data sets hand out is a tuple that is written there."""
    methods = [one.node for one in _methods(evidence, "__getitem__")]
    handed = [one.value for method in methods for one in walked(method) if isinstance(one, ast.Return)]
    return bool(handed) and all(isinstance(one, ast.Tuple) and len(one.elts) > 1 for one in handed)


def returned_as(evidence: Evidence, step: Step) -> Iterator[Place]:
    """The parts of what a `__getitem__` returns that are a step's result, or a part of it, under a name of its own.

    `x` in `return x, label`, behind `x, label = rows[i]` too.
    """
    yield from (part for part in parts_returned(evidence) if _is_made(part, step))


def handed_back(step: Step) -> Place | None:
    """The part of what a step's own function returns that is its result, under a name: `x` in `return x`."""
    made = step.place
    function = made.source.function_at(made.span.line) if made is not None else None
    parts = [made.at(part) for part in _returned(function)] if made is not None and function is not None else []
    found = [part for part in parts if _is_made(part, step)]
    return found[0] if len(found) == 1 else None


def _is_made(part: Place, step: Step) -> bool:
    """Whether a part that is returned is the name that a step's result was given last."""
    made = step.place
    if made is None or part.source is not made.source or not isinstance(part.node, ast.Name):
        return False
    bound = bound_above(part.source.scope_at(part.span.line), part.text, part.span.line)
    statement = bound or made.source.parent_of(made.node)
    return isinstance(statement, ast.Assign) and part.node.id in stored(statement) and statement.value is made.node
