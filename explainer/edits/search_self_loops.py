"""Candidates for graphs whose edges were extended by self loops and whose weights of edges were not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.edits.shapes import BROADCAST
from explainer.edits.slices import operands
from explainer.edits.statements import insert_statement
from explainer.patterns import Pattern
from explainer.source import Source, called

_LOOPS = Pattern(r"self_?loops?", re.IGNORECASE)
_WEIGHTS = Pattern(r"(^|_)(weights?|w)$")


def weighted_too(evidence: Evidence) -> Iterator[Candidate]:
    """`edges = add_self_loops(edges, n)` and `weights = torch.cat([weights, torch.ones(n)])` behind it."""
    crash, sizes = evidence.crash, sorted({one.shape[0] for one in operands(evidence) if one.shape})
    if crash is None or crash.function not in BROADCAST or len(sizes) != 2:
        return
    for source in evidence.sources_seen():
        for extended, call in _extended(source):
            for weights in _weights_of(source, extended):
                given = [source.text(one) for one in call.args[1:]] + [source.text(one.value) for one in call.keywords]
                for count in dict.fromkeys([*given, str(sizes[1] - sizes[0])]):
                    text = f"{weights} = torch.cat([{weights}, torch.ones({count})])"
                    place = Place(source, extended)
                    edits = partial(insert_statement, text, after=place)
                    yield from evidence.made(edits, "insert-statement", place, "self-loops", new=text)


def _extended(source: Source) -> Iterator[tuple[ast.Assign, ast.Call]]:
    """`edges = add_self_loops(edges, n)`: the edges alone."""
    for node in source.nodes():
        call = node.value if isinstance(node, ast.Assign) else None
        looped = isinstance(call, ast.Call) and call.args and _LOOPS.search(called(call))
        if looped and ast.unparse(node.targets[0]) == ast.unparse(call.args[0]):  # type: ignore
            yield node, call  # type: ignore[misc]


def _weights_of(source: Source, extended: ast.Assign) -> Iterator[str]:
    """The weights that the same function has beside the edges above a line."""
    scope = source.scope_at(extended.lineno)
    names = [one for one in ast.walk(scope) if isinstance(one, ast.Name)] if scope is not None else []
    bound = [one.id for one in names if isinstance(one.ctx, ast.Store) and one.lineno < extended.lineno]
    yield from dict.fromkeys(name for name in bound if _WEIGHTS.search(name))
