"""Edits that compute a loss anew after a step, and keep an earlier backward out of what both losses share."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.inplace import block_of, index_in, recompute_after
from explainer.edits.lines import EditError, changed, joined
from explainer.edits.place import Place
from explainer.source import loaded, stored


def recompute_detached(at: Place, kept: Place, before: Place) -> tuple[Edit, ...]:
    """`recompute_after`, with what both losses share detached in the first: `d_loss = f(fake.detach())`.

    Without that the first backward would free the part of the graph that the second goes through as well.
    """
    again = recompute_after(at, kept, before)
    body = block_of(at)
    start, step, last = (index_in(body, place) for place in (kept, at, before))
    shared = _shared(body, start, step, loaded(body[last]))
    first = _of_first_backward(body[:step], shared)
    reads = [one for statement in first for one in ast.walk(statement) if _reads(one, shared)]
    if not reads:
        raise EditError("the two losses share nothing that was computed here")
    cut = changed(at.source, [(at.source.span(one), f"{at.source.text(one)}.detach()") for one in reads])
    return joined(at.source, again, cut)


def _shared(body: list[ast.stmt], start: int, step: int, needed: set[str]) -> set[str]:
    """What the statements that are computed again take from above them, where a call made it."""
    for statement in reversed(body[start:step]):
        if stored(statement) & needed:
            needed = needed - stored(statement) | loaded(statement)
    made = [one for one in body[:start] if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)]
    return {name for one in made for name in stored(one)} & needed


def _of_first_backward(body: list[ast.stmt], shared: set[str]) -> list[ast.stmt]:
    """The statements that compute the loss of the last backward in a block, down to what is shared."""
    backwards = [at for at, one in enumerate(body) if isinstance(one, ast.Expr) and ".backward" in ast.unparse(one)]
    needed, found = loaded(body[backwards[-1]]) if backwards else set[str](), list[ast.stmt]()
    for statement in reversed(body[: backwards[-1]] if backwards else []):
        if stored(statement) & needed:
            found.append(statement)
            needed |= loaded(statement) - shared
    return found


def _reads(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names
