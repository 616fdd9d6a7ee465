"""Edits that compute anew: a loss after a step, or where a value that was computed once is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from explainer.diagnosis import Edit
from explainer.edits.kinds.inplace import block_of, index_in, needed_behind, recompute_after
from explainer.edits.kinds.statements import delete_statement
from explainer.edits.lines import EditError, changed, indentation, inserted, joined, relined
from explainer.edits.place import Place
from explainer.source import loaded, stored, walked


def recompute_detached(at: Place, kept: Place, before: Place) -> tuple[Edit, ...]:
    """`recompute_after`, with what both losses share detached in the first: `d_loss = f(fake.detach())`.

    Without that the first backward would free the part of the graph that the second goes through as well.
    """
    again = recompute_after(at, kept, before)
    body = block_of(at)
    start, step, last = (index_in(body, place) for place in (kept, at, before))
    shared = _shared(body, start, step, needed_behind(body, step, last))
    first = _of_first_backward(body[:step], shared)
    reads = [one for statement in first for one in walked(statement) if _reads(one, shared)]
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


def compute_where_read(at: Place, read: str, value: str, keep: Sequence[str] = ()) -> tuple[Edit, ...]:
    """What a constructor computed once is computed in each method that reads it, from what the object holds.

    `at` is the constructor's statement, `read` how the class names the value (`self.items`), `value` its expression in
    names of the object, `keep` the constructor's parameters that must become attributes for that. EditError where the
    value is read outside of the class, or nowhere.
    """
    source, statement = at.source, at.statement()
    name = read.removeprefix("self.")
    owner = source.class_at(statement.node.lineno)
    reads = [one for one in walked(owner) if _names(source.text(one), read, one)] if owner is not None else []
    others = [one for one in source.nodes() if isinstance(one, ast.Attribute) and one.attr == name]
    if not reads or any(isinstance(one.ctx, ast.Load) and one not in reads for one in others):
        raise EditError("the value is not read in its class alone")
    parts = [edit for method in _by_method(at, reads) for edit in _computed_in(at, method, name, value)]
    return joined(source, parts, _unmade(statement, name, keep))


def _names(text: str, read: str, node: ast.AST) -> bool:
    return isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Load) and text == read


def _by_method(at: Place, reads: Sequence[ast.AST]) -> Iterator[list[ast.AST]]:
    """The reads of each method, apart from the constructor's own."""
    methods = {id(at.source.function_at(one.lineno)): list[ast.AST]() for one in reads}  # type: ignore[attr-defined]
    for one in reads:
        methods[id(at.source.function_at(one.lineno))].append(one)  # type: ignore[attr-defined]
    yield from methods.values()


def _computed_in(at: Place, reads: Sequence[ast.AST], name: str, value: str) -> tuple[Edit, ...]:
    """One method's reads: in place of a single one the value itself, else a variable bound before the first."""
    source = at.source
    local = name if name.isidentifier() else ""
    first = at.at(min(reads, key=lambda one: one.lineno)).statement().node  # type: ignore[attr-defined, arg-type]
    block = block_of(at.at(first))
    last = max(one.lineno for one in reads)  # type: ignore[attr-defined]
    simple = not isinstance(first, (ast.For, ast.While)) and last <= (block[-1].end_lineno or 0)
    taken = stored(source.function_at(first.lineno)) if local else set()  # type: ignore[arg-type]
    if not local or local in taken or not simple:
        return changed(source, [(source.span(one), f"({value})") for one in reads])
    uses = changed(source, [(source.span(one), local) for one in reads])
    put = inserted(source, first.lineno, f"{indentation(source, first.lineno)}{local} = {value}")
    return (*put, *uses)


def _unmade(at: Place, name: str, keep: Sequence[str]) -> tuple[Edit, ...]:
    """The constructor's statement taken out; what the value needs is kept in its place."""
    if not name.isidentifier():
        return ()
    if not keep:
        return delete_statement(at)
    first, last = at.node.lineno, at.node.end_lineno or at.node.lineno
    text = "\n".join(f"{indentation(at.source, first)}self.{one} = {one}" for one in keep)
    return relined(at.source, first, last, text)
