"""Groups of an optimizer that share parameters: which ones, how each takes them, and what one of both leaves out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.autograd.graph import parameter_names
from explainer.probes.files import nodes_of
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import fields_of
from explainer.source import Source, called, source_of

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)


@frozen
class _Taking:
    """How a group takes its parameters: `node` names, over what loop, and under which condition."""

    source: Source
    name: str
    value: ast.expr
    bound: ast.AST
    element: str = ""
    over: str = ""
    condition: ast.expr | None = None

    @property
    def test(self) -> str:
        """The condition's source; empty without one."""
        return self.source.text(self.condition) if self.condition is not None else ""


@probe
def shared_group(scene: Scene) -> SpanFact | None:
    """The statement that takes parameters for a group which another group of the optimizer has as well.

    `detail`: `name` and `other`, the two groups' sources, `line` of the other's binding, `shared`, the names of some of
    the parameters that both hold, their `count`, `whole` where one holds all of the other; `edited` and `to`, the
    expression to change and what it would be without what the other takes.
    """
    groups, caller = _groups(scene), scene.user_frame
    pair = _pair(groups) if groups else None
    takings = _takings(scene, caller, pair) if pair is not None and caller is not None else None
    if takings is None or pair is None:
        return None
    sets = [{id(one) for one in groups[at]} for at in pair]
    yielding = 1 if sets[0] < sets[1] or _tied(takings, sets) else 0
    first, other = takings[yielding], takings[1 - yielding]
    edited = _without(first, other)
    names = parameter_names(scene, sets[0] & sets[1])
    if edited is None or not names:
        return None
    return span_fact(
        first.source, first.bound, name=first.name, other=other.name, line=other.bound.lineno,  # type: ignore[attr-defined]
        shared=", ".join(names[:3]) + (", ..." if len(names) > 3 else ""), count=len(sets[0] & sets[1]),
        whole=sets[0] <= sets[1] or sets[1] <= sets[0], edited=span_fact(first.source, edited[0]), to=edited[1],
    )  # fmt: skip


def _groups(scene: Scene) -> list[list[Any]]:
    """The parameters of the groups so far, the refused one last."""
    for frame in scene.live.frames if scene.live is not None else []:
        if not frame.user and frame.frame.f_code.co_name == "add_param_group":
            earlier = fields_of(frame.locals.get("self")).get("param_groups", [])
            refused = frame.locals.get("param_group")
            groups = [*earlier, refused] if isinstance(refused, dict) and earlier else []
            return [list(one["params"]) for one in groups if isinstance(one.get("params"), (list, tuple))]
    return []


def _pair(groups: Sequence[Sequence[Any]]) -> tuple[int, int] | None:
    """The first group that holds a parameter of the last, and the last."""
    last = {id(one) for one in groups[-1]}
    for at, group in enumerate(groups[:-1]):
        if any(id(one) in last for one in group):
            return at, len(groups) - 1
    return None


def _takings(scene: Scene, frame: LiveFrame, pair: tuple[int, int]) -> tuple[_Taking, _Taking] | None:
    """How both groups are taken, where the function that makes the optimizer, or one it calls, writes dicts."""
    source = source_of(frame.file, frame.frame.f_globals)
    scope = source.scope_at(frame.line)
    for one, within in [(source, scope), *_helpers(scene, scope)] if scope is not None else ():
        dicts = [one for one in ast.walk(within) if isinstance(one, (ast.Dict, ast.Call))]
        dicts = sorted(dicts, key=lambda one: (one.lineno, one.col_offset))
        values = [value for d in dicts if (value := _params(d)) is not None]
        if pair[1] < len(values):
            return _taking(one, within, values[pair[0]]), _taking(one, within, values[pair[1]])
    return None


def _helpers(scene: Scene, scope: ast.AST) -> Iterator[tuple[Source, ast.AST]]:
    """The functions of the program that a function calls by name."""
    names = {called(one) for one in ast.walk(scope) if isinstance(one, ast.Call)}
    yield from ((source, one) for source, one in nodes_of(scene, ast.FunctionDef) if one.name in names)


def _params(node: ast.Dict | ast.Call) -> ast.expr | None:
    """The value of the key `params` of `{"params": p}` or `dict(params=p)`."""
    if isinstance(node, ast.Call):
        given = node.keywords if called(node) == "dict" else []
        return next((word.value for word in given if word.arg == "params"), None)
    keys = (getattr(key, "value", None) for key in node.keys)
    return next((value for key, value in zip(keys, node.values, strict=True) if key == "params"), None)


def _taking(source: Source, scope: ast.AST, value: ast.expr) -> _Taking:
    """A group's value followed to where its name is bound: a comprehension, a call, or a list that a loop fills."""
    name, bound = source.text(value), value
    if isinstance(value, ast.Name):
        found = [one for one in ast.walk(scope) if isinstance(one, ast.Assign) and source.text(one.targets[0]) == name]
        found = [one for one in found if one.lineno < value.lineno]
        if len(found) == 1:
            value, bound = found[0].value, found[0]  # type: ignore[assignment]
    if isinstance(value, _COMPREHENSIONS) and len(value.generators) == 1:
        return _comprehension(source, name, value, bound)
    return _filled(source, scope, name) or _Taking(source, name, value, bound)


def _comprehension(source: Source, name: str, value: Any, bound: ast.AST) -> _Taking:
    loop = value.generators[0]
    over = f"{source.text(loop.target)} in {source.text(loop.iter)}"
    condition = loop.ifs[0] if len(loop.ifs) == 1 else None
    return _Taking(source, name, value, bound, source.text(value.elt), over if len(loop.ifs) < 2 else "", condition)


def _filled(source: Source, scope: ast.AST, name: str) -> _Taking | None:
    """A list that one `append` under a condition of a loop fills."""
    for loop, test, call in _appends(scope):
        if called(call) == "append" and source.text(call.func.value) == name:  # type: ignore[attr-defined]
            over = f"{source.text(loop.target)} in {source.text(loop.iter)}"
            return _Taking(source, name, call, test, source.text(call.args[0]), over, test)
    return None


def _appends(scope: ast.AST) -> Iterator[tuple[ast.For, ast.expr, ast.Call]]:
    """The calls with one argument that an `if` of a loop's body begins with, and its test."""
    for loop in (one for one in ast.walk(scope) if isinstance(one, ast.For)):
        for one in loop.body:
            only = isinstance(one, ast.If) and not one.orelse and isinstance(one.body[0], ast.Expr)
            call = one.body[0].value if only else None  # type: ignore[attr-defined]
            if isinstance(call, ast.Call) and len(call.args) == 1 and isinstance(call.func, ast.Attribute):
                yield loop, one.test, call  # type: ignore[attr-defined]


def _tied(takings: Sequence[_Taking], sets: Sequence[set[int]]) -> bool:
    """Whether two plain parts of a model, neither within the other, share a weight: the later one goes without."""
    return not any(one.over for one in takings) and not sets[1] < sets[0]


def _without(first: _Taking, other: _Taking) -> tuple[ast.AST, str] | None:
    """What to change of the first group, and how it reads without what the other one takes."""
    if first.over and first.over == other.over and other.test:
        return _condition(first, other)
    if first.over and not isinstance(first.value, _COMPREHENSIONS):
        return None
    taken = f"{{id(q) for q in {_again(other, first)}}}"
    if isinstance(first.value, _COMPREHENSIONS):
        return _narrowed(first, f"id({first.element}) not in {taken}") if first.element.isidentifier() else None
    text = first.source.text(first.value)
    inner = first.value.args[0] if text.startswith("list(") and isinstance(first.value, ast.Call) else first.value
    return first.value, f"[p for p in {first.source.text(inner)} if id(p) not in {taken}]"


def _again(other: _Taking, first: _Taking) -> str:
    """The other group's parameters once more: by the name of a list that is there by then, else by their source."""
    listed = isinstance(other.value, (ast.ListComp, ast.List)) or other.source.text(other.value).startswith("list(")
    before = other.bound.lineno < first.bound.lineno  # type: ignore[attr-defined]
    return other.name if listed and before and other.name.isidentifier() else other.source.text(other.value)


def _condition(first: _Taking, other: _Taking) -> tuple[ast.AST, str] | None:
    """`if COND` -> `if COND and not (OTHER)`; of `not A` beside `A or B` just `not (A or B)`."""
    return _narrowed(first, f"not ({other.test})", implied=_implied(first, other))


def _implied(first: _Taking, other: _Taking) -> bool:
    """Whether what the other leaves out leaves out all that the first does."""
    own, test = first.condition, other.condition
    if not isinstance(own, ast.UnaryOp) or not isinstance(own.op, ast.Not):
        return False
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
    return ast.dump(own.operand) in {ast.dump(one) for one in parts if one is not None}


def _narrowed(first: _Taking, test: str, implied: bool = False) -> tuple[ast.AST, str]:
    """The condition of a comprehension or an append with a further test; a comprehension without one gets it."""
    if first.condition is None:
        text = first.source.text(first.value)
        closing = text[-1] if text[-1] in ")]" else ""
        return first.value, f"{text[: len(text) - len(closing)]} if {test}{closing}"
    if implied:
        return first.condition, test
    own = first.source.text(first.condition)
    own = f"({own})" if isinstance(first.condition, ast.BoolOp) and isinstance(first.condition.op, ast.Or) else own
    return first.condition, f"{own} and {test}"
