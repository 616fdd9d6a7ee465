"""Rows taken in the order of a sort while what belongs to them stays, and batches whose parts stand in two orders."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from explainer.frozen import frozen
from explainer.source import Source, called, source_of
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.projections import sorted_alone
from explainer.training.sources import program_sources

_SORTS = ("sort", "topk")
#: In how many batches at least the parts must stand apart.
_BATCHES = 2


@frozen
class Sorted:
    """`order` as it was assigned in a function, `of` what was sorted, `rows` the names that are taken in it."""

    order: str
    made: ast.Assign
    of: str
    rows: tuple[str, ...]
    last: ast.stmt


@finder
def sorted_apart(watcher: Any) -> Iterator[Finding]:
    """`x = x[order]` without `y = y[order]`, and `x = x[order]` whose result nobody puts back."""
    for source in program_sources(watcher):
        for scope in source.nodes():
            if not isinstance(scope, (ast.FunctionDef, ast.For, ast.Module)):
                continue
            for one in _sorts(source, scope):
                others = [name for name in _together(scope, one) if name not in (*one.rows, one.of)]
                attempts = [*_also(source, one, others), *([] if others else _restored(source, scope, one))]
                if attempts:
                    names = {"one": one.rows[0], "text": source.text(one.made.value), "whole": "", "batches": 0,
                             "other": ", ".join(others[:1]), **attempts[0].names}  # fmt: skip
                    yield Finding("sorted-apart", names, attempts[0].culprit, tuple(attempts), proved=False,
                                  seen=True, weight=8)  # fmt: skip


def _sorts(source: Source, scope: Any) -> Iterator[Sorted]:
    for statement in scope.body:
        order = _order(statement)
        if order is None:
            continue
        taken = [(each, node) for each in scope.body if each.lineno > statement.lineno for node in ast.walk(each)
                 if isinstance(node, ast.Subscript) and source.text(node.slice) == order
                 and isinstance(node.value, (ast.Name, ast.Call))]  # fmt: skip
        uses = [node for each in scope.body for node in ast.walk(each)
                if isinstance(node, ast.Name) and node.id == order and isinstance(node.ctx, ast.Load)]  # fmt: skip
        drawn = [(each, node) for each in scope.body if each.lineno > statement.lineno for node in ast.walk(each)
                 if isinstance(node, ast.ListComp) and _in_order(source, node, order)]  # fmt: skip
        if (taken or drawn) and len(uses) == len(taken) + len(
            drawn
        ):  # an order that is used for more is undone somewhere, or handed on
            rows = [name for _, node in taken for name in _rows(node.value)]
            rows = [node.elt.value.id for _, node in drawn] + rows  # type: ignore[attr-defined]
            last = max((each for each, _ in [*taken, *drawn]), key=lambda each: each.lineno)
            yield Sorted(order, statement, _sorted(source, statement.value), tuple(dict.fromkeys(rows)), last)


def _in_order(source: Source, node: ast.ListComp, order: str) -> bool:
    """`[rows[i] for i in order]`."""
    first, part = node.generators[0], node.elt
    taken = isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name)
    return taken and source.text(first.iter) == order and source.text(part.slice) == source.text(first.target)  # type: ignore[attr-defined]


def _rows(value: ast.expr) -> list[str]:
    """The names whose rows are taken: `clicks` of `pad_sequence(clicks)[order]`."""
    given = value.args if isinstance(value, ast.Call) else [value]
    return [one.id for one in given if isinstance(one, ast.Name)]


def _order(statement: ast.stmt) -> str | None:
    """The name that is given the order of a sort."""
    call = statement.value if isinstance(statement, ast.Assign) else None
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(call, ast.Call):
        return None
    if called(call) == "argsort" and isinstance(target, ast.Name):
        return target.id
    if called(call) in _SORTS and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        return getattr(target.elts[1], "id", None)
    return None


def _sorted(source: Source, call: Any) -> str:
    """The name of what a sort sorts."""
    own = isinstance(call.func, ast.Attribute) and source.text(call.func.value) not in ("torch", "np", "numpy")
    return source.text(call.func.value if own else call.args[0]) if own or call.args else ""


def _together(scope: Any, one: Sorted) -> Iterator[str]:
    """The names that were given together with the rows: parameters, or the targets of one unpacking."""
    groups = [[each.arg for each in scope.args.args]] if isinstance(scope, ast.FunctionDef) else []
    targets = [scope.target] if isinstance(scope, ast.For) else []
    targets += [each.targets[0] for each in scope.body if isinstance(each, ast.Assign) and each is not one.made]
    for target in targets:
        groups += [[each.id for each in node.elts if isinstance(each, ast.Name)] for node in ast.walk(target)
                   if isinstance(node, ast.Tuple)]  # fmt: skip
    for group in groups:
        if set(group) & set(one.rows):
            yield from (name for name in group if name not in ("self", one.order))


def _also(source: Source, one: Sorted, others: list[str]) -> Iterator[Attempt]:
    for name in others[:3]:
        made = _tensor_of(source, one, name)
        if made is not None:
            edits = rewrite.replaced(source, made, f"{source.text(made)}[{one.order}]")
            yield Attempt("also", edits, {"other": name, "order": one.order}, culprit=source.span(made))
            continue
        edits = rewrite.after(source, one.last, f"{name} = {name}[{one.order}]")
        if edits:
            names = {"other": name, "order": one.order}
            yield Attempt("also", edits, names, culprit=source.span(one.last))


def _tensor_of(source: Source, one: Sorted, name: str) -> ast.Call | None:
    """The call behind a sort that makes a tensor of what is no tensor yet: `torch.tensor(intents)`."""
    scope = source.scope_at(one.made.lineno)
    made = [each for each in ast.walk(scope) if isinstance(each, ast.Call) and each.lineno > one.made.lineno
            and called(each) in ("tensor", "as_tensor", "stack", "array", "asarray") and len(each.args) == 1
            and isinstance(each.args[0], ast.Name) and each.args[0].id == name]  # fmt: skip
    return made[0] if len(made) == 1 else None


def _restored(source: Source, scope: Any, one: Sorted) -> Iterator[Attempt]:
    """What a function returns put back into the order in which it was given its rows."""
    last = scope.body[-1]
    if not isinstance(scope, ast.FunctionDef) or not isinstance(last, ast.Return) or last.value is None:
        return
    if not isinstance(last.value, ast.Tuple):
        text = source.text(last.value)
        simple = isinstance(last.value, (ast.Name, ast.Call, ast.Attribute))
        new = f"{text if simple else f'({text})'}[{one.order}.argsort()]"
        edits = rewrite.replaced(source, last.value, new)
        names = {"other": text, "order": one.order}
        yield Attempt("restore", edits, names, culprit=source.span(last.value))


@finder
def parts_apart(watcher: Any) -> Iterator[Finding]:
    """`collate_fn` hands out the samples' inputs in another order than their labels: a fact, whatever orders them."""
    every = [*sorted_alone(watcher), *sorted_apart(watcher)]
    for code, compared in watcher.collated.items():
        places = [one for one in compared if one is not None]
        if len(places) < _BATCHES:
            continue
        source = source_of(code.co_filename)
        function = source.function_at(code.co_firstlineno)
        if function is None:
            continue
        known = [one for one in every if one.culprit is not None and _within(function, source, one.culprit)]
        yield replace(known[0], proved=True) if known else _told(source, function, places)


def _within(function: Any, source: Source, span: Any) -> bool:
    return span.file == source.file and function.lineno <= span.line <= (function.end_lineno or 0)


def _told(source: Source, function: Any, places: list[tuple[Any, Any]]) -> Finding:
    """What is known where no line is known to do it: which of the returned parts stand apart."""
    given = [one for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
    one, other = (_part(source, given[-1].value if given else None, place) for place in places[0])
    names = {"one": one, "other": other, "text": f"{function.name}()", "whole": "", "batches": len(places)}
    return Finding("sorted-apart", names, source.span(given[-1] if given else function), weight=8)


def _part(source: Source, whole: ast.expr | None, place: Any) -> str:
    """How a function's result has the part with a number or a key."""
    if isinstance(whole, ast.Tuple) and isinstance(place, int) and place < len(whole.elts):
        return source.text(whole.elts[place])
    return repr(place) if isinstance(place, str) else f"part {place}"
