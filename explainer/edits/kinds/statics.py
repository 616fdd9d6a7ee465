"""Edits of custom autograd Functions written as objects: static methods that get their state as `ctx`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.diagnosis import Edit, Span
from explainer.edits.lines import EditError, changed, deleted, indentation, inserted, joined
from explainer.edits.place import Place
from explainer.source import walked

_CONTEXT = "ctx"


def static_function(at: Place, kept: Place, to: str) -> tuple[Edit, ...]:
    """`Scale(rate)(x)` -> `Scale.apply(x, rate)`; the class's methods become static, its constructor goes.

    `kept` is the class, `to` the new call. EditError where its constructor does more than keep what it is given.
    """
    methods = {one.name: one for one in getattr(kept.node, "body", ()) if isinstance(one, ast.FunctionDef)}
    forward, backward, init = methods.get("forward"), methods.get("backward"), methods.get("__init__")
    if forward is None or backward is None:
        raise EditError("the class has no forward or no backward")
    state = _state(init) if init is not None else {}
    changes = [*_renamed(kept, forward), *_renamed(kept, backward), *_answers(kept, backward, len(state))]
    changes += _parameters(kept, forward, list(state.values()))
    groups = [_static(kept, forward), _static(kept, backward), *_remembered(kept, forward, state)]
    if init is not None:
        groups.append(deleted(kept.source, init.lineno, _below(kept, init)))
    if at.source.file == kept.source.file:
        return joined(kept.source, *groups, changed(kept.source, [*changes, (at.span, to)]))
    return (*joined(kept.source, *groups, changed(kept.source, changes)), *changed(at.source, [(at.span, to)]))


def _state(init: ast.FunctionDef) -> dict[str, str]:
    """The attributes that a constructor keeps its parameters in: `self.rate = rate`."""
    found: dict[str, str] = {}
    for one in init.body:
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        if isinstance(target, ast.Attribute) and isinstance(one, ast.Assign) and isinstance(one.value, ast.Name):
            found[target.attr] = one.value.id
        elif not isinstance(one, ast.Expr):
            raise EditError("the constructor does more than keep its parameters")
    if len(found) < len(init.args.args) - 1 or len(set(found.values())) < len(found):
        raise EditError("not every parameter is kept once")
    return found


def _renamed(kept: Place, method: ast.FunctionDef) -> Iterator[tuple[Span, str]]:
    own = method.args.args[0]
    names = [one for one in walked(method) if isinstance(one, ast.Name) and one.id == own.arg]
    yield from ((kept.source.span(one), _CONTEXT) for one in (own, *names) if own.arg != _CONTEXT)


def _answers(kept: Place, backward: ast.FunctionDef, more: int) -> Iterator[tuple[Span, str]]:
    """No gradient for what the constructor had been given."""
    for one in walked(backward):
        if isinstance(one, ast.Return) and one.value is not None and more:
            yield kept.at(one.value).end, ", None" * more


def _parameters(kept: Place, forward: ast.FunctionDef, names: list[str]) -> list[tuple[Span, str]]:
    every = forward.args.args
    if len(every) < 2 or forward.args.defaults or forward.args.vararg is not None:
        raise EditError("the inputs of forward are not plain")
    return [(kept.at(every[-1]).end, "".join(f", {name}" for name in names))] if names else []


def _static(kept: Place, method: ast.FunctionDef) -> tuple[Edit, ...]:
    if method.decorator_list:
        raise EditError("the method is decorated")
    return inserted(kept.source, method.lineno, f"{indentation(kept.source, method.lineno)}@staticmethod")


def _remembered(kept: Place, forward: ast.FunctionDef, state: dict[str, str]) -> list[tuple[Edit, ...]]:
    first = forward.body[0]
    lines = [f"{indentation(kept.source, first.lineno)}{_CONTEXT}.{name} = {value}" for name, value in state.items()]
    return [inserted(kept.source, first.lineno, "\n".join(lines))] if lines else []


def _below(kept: Place, init: ast.FunctionDef) -> int:
    """The last line of a constructor, with an empty one below it."""
    last = init.end_lineno or init.lineno
    return last if kept.source.line(last + 1).strip() else last + 1
