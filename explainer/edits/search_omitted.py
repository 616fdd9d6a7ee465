"""Candidates for a size that a function makes of the largest index it sees, because its caller leaves the size out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.arguments import add_argument
from explainer.edits.candidate import Candidate
from explainer.edits.devices import bound_names
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.source import called


def given_size(evidence: Evidence) -> Iterator[Candidate]:
    """`adjacency(edges)` -> `adjacency(edges, nodes=40)`: what has no edge is in no index, and is to be counted too."""
    functions = {node.name: (node, name) for node, name in _counting(evidence)}
    sizes = [(a, b) for a in evidence.said for b in evidence.said if 1 < a < b]
    for source in evidence.sources_seen() if functions and sizes else ():
        for node in source.nodes():
            function, name = functions.get(called(node), (None, "")) if isinstance(node, ast.Call) else (None, "")
            if function is not None and isinstance(node, ast.Call) and not _passes(node, function, name):
                for size in dict.fromkeys(b for _, b in sizes):
                    yield from _with(evidence, Place(source, node), name, size)


def _counting(evidence: Evidence) -> Iterator[tuple[ast.FunctionDef, str]]:
    """The program's functions with a parameter that, left out, is made of the largest value of a tensor."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.FunctionDef):
                yield from ((node, one.arg) for one in [*node.args.args, *node.args.kwonlyargs] if _made(node, one.arg))


def _made(function: ast.FunctionDef, name: str) -> bool:
    """`if nodes is None: nodes = int(edges.max()) + 1`, as a block or as a conditional expression."""
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.IfExp)) and ast.unparse(node.test) in (f"{name} is None", f"not {name}"):
            made = [*node.body] if isinstance(node, ast.If) else [node.body]
            calls = [one for part in made for one in ast.walk(part) if isinstance(one, ast.Call)]
            if any(called(one) in ("max", "amax") for one in calls):
                return True
    return False


def _passes(call: ast.Call, function: ast.FunctionDef, name: str) -> bool:
    names = [one.arg for one in function.args.args]
    placed = name in names and len(call.args) > names.index(name)
    return placed or any(one.arg in (name, None) for one in call.keywords)


def _with(evidence: Evidence, call: Place, name: str, size: int) -> Iterator[Candidate]:
    """The size by the name of a tensor that the caller has by then with so many rows, else as a number."""
    frame = evidence.frame_of(call)
    rows = {text: frame.shape(text)[:1] for text in frame.scope if text.isidentifier()} if frame is not None else {}
    texts = [f"{text}.size(0)" for text, first in rows.items() if first == [size] and _bound(call, text)]
    for text in (*texts[:1], str(size)):
        words: dict[str, Any] = {"new": f"{name}={text}", "function": called(call.node)}  # type: ignore[arg-type]
        edits = partial(add_argument, call, f"{name}={text}")
        yield from evidence.made(edits, "add-argument", call, "size-left-out", literal=text.isdigit(), **words)


def _bound(call: Place, name: str) -> bool:
    """Whether a name is bound above a call, in its function or in the script."""
    scope = call.source.scope_at(call.span.line)
    given = (one.arg for one in ast.walk(scope) if isinstance(one, ast.arg))
    return name in given or name in bound_names(scope, call.span.line)
