"""A table that a model was sized by, made anew from other data where the model is restored, in place of being saved."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.bindings import binding
from explainer.probes.files import sources
from explainer.probes.makers import ways
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, fields_of, read
from explainer.source import Source, called, source_of

_PLAIN = (str, int, float, bool, type(None))
#: What shows that a program goes on to train, or to evaluate.
_TRAINS, _EVALUATES = ("backward(", "optim", "train(", "fit("), (".eval()", "no_grad", "inference_mode")


@probe
def remade_table(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The statement that makes the table, on the stack, whose length became the size of a resized layer.

    `of` is the layer. `text` is the value assigned; `detail`: `name`, `length` (the expression of the size), `maker`
    (the class of the table), `fields` the attributes that make such an object anew ("" where it is a plain value).
    """
    expression = _argument(scene, of) if of is not None else None
    if expression is None:
        return None
    counted = _counted(expression[1])
    if counted is not None:
        found = _made_above(scene, expression[0], counted)
        if found is not None:
            return found
    for number, source, length in _lengths(scene, *expression):
        names = [one for one in ast.walk(length) if isinstance(one, ast.Name)]
        for name in (one for one in names if one.id not in ("len", "max", "int")):
            made = binding(scene, name, number)
            if made is None or made.part is not None or made.looped or not isinstance(made.statement, ast.Assign):
                continue
            found = _remade(scene, number, made.source, made.node, name, source.text(length))
            if found is not None:
                return found
    return None


def _made_above(scene: Scene, source: Source, table: ast.expr) -> SpanFact | None:
    """The table whose length a constructor takes itself: what it was given, where the caller's statement made it."""
    for number, home, made in _lengths(scene, source, table):
        statement = home.statement_at(made.lineno)
        name = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is made else None
        if isinstance(name, ast.Name):
            found = _remade(scene, number, home, made, name, f"len({source.text(table)})")
            if found is not None:
                return found
    return None


def _remade(scene: Scene, number: int, source: Source, node: ast.AST, name: ast.Name, length: str) -> SpanFact | None:
    """The fact of a table that a call made, where its class can be made anew from plain fields."""
    fields = _fields(scene, number, name)
    if not isinstance(node, ast.Call) or fields is None or "load" in called(node):
        return None
    about = {"name": name.id, "length": length, "fields": fields}
    return span_fact(source, node, maker=_maker(scene, number, name), **about)  # type: ignore[arg-type]


def _argument(scene: Scene, of: SpanFact) -> tuple[Source, ast.expr] | None:
    """The argument that gives a layer its size, in the call that builds it."""
    source = scene.source(of.span.file)
    lines = range(of.span.line, (of.span.end_line or of.span.line) + 1)
    nodes = (one for one in source.nodes() if isinstance(one, ast.expr)) if source is not None else ()
    found = next((one for one in nodes if one.lineno in lines and source.text(one) == of["given"]), None)  # type: ignore
    return (source, found) if source is not None and found is not None else None


def _counted(node: ast.expr) -> ast.expr | None:
    """What `len(...)` counts; None for another expression."""
    plain = isinstance(node, ast.Call) and called(node) == "len" and len(node.args) == 1
    return node.args[0] if plain else None  # type: ignore[attr-defined]


def _lengths(scene: Scene, source: Source, node: ast.expr) -> Iterator[tuple[int, Source, ast.expr]]:
    """The expressions in the user's frames, innermost first, that an argument's value came from by parameters."""
    frames = scene.live.user if scene.live is not None else []
    ends = [way[-1] for way in ways(scene, source, node)]
    for number in reversed(range(len(frames))):
        own = source_of(frames[number].file, frames[number].frame.f_globals)
        function = own.function_at(frames[number].line)
        for home, last in ends:
            here = home.file == own.file and home.function_at(last.lineno) is function  # type: ignore[attr-defined]
            if here and last.lineno <= frames[number].line and isinstance(last, ast.expr):  # type: ignore[attr-defined]
                yield number, own, last


def _fields(scene: Scene, number: int, name: ast.Name) -> str | None:
    """The plain fields of an object that its constructor takes by their names; "" for a plain value, None for else."""
    value = read(name, scene.live.user[number].frame)  # type: ignore[union-attr]
    if value is MISSING:
        return None
    if _plain(value):
        return ""
    code = getattr(type(value).__dict__.get("__init__"), "__code__", None)
    wanted = code.co_varnames[1 : code.co_argcount] if code is not None else ()
    own = fields_of(value)
    return ",".join(wanted) if wanted and all(one in own and _plain(own[one]) for one in wanted) else None


def _plain(value: Any, depth: int = 3) -> bool:
    """Whether a value is made of plain lists, tuples, dicts, strings and numbers alone: what `torch.load` allows."""
    if type(value) in _PLAIN:
        return True
    if type(value) is dict:
        return depth > 0 and all(_plain(one, depth - 1) for pair in list(value.items())[:50] for one in pair)
    return type(value) in (list, tuple) and depth > 0 and all(_plain(one, depth - 1) for one in value[:50])


def _maker(scene: Scene, number: int, name: ast.Name) -> str:
    return type(read(name, scene.live.user[number].frame)).__name__  # type: ignore[union-attr]


@probe
def table_save(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The only `torch.save` of the program in a function that makes such a table too; `detail.name` is its name there.

    `whole` tells `torch.save(net.state_dict(), path)` from one of a dict with more beside the weights.
    """
    found = []
    for source in sources(scene) if of is not None else ():
        for node in source.nodes():
            saves = isinstance(node, ast.Call) and source.text(node.func) == "torch.save" and node.args
            name = _made_too(source, node, of) if saves else None
            if name is not None:
                whole = not isinstance(node.args[0], ast.Dict)  # type: ignore[attr-defined]
                found.append(span_fact(source, node, name=name, whole=whole))
    return found[0] if len(found) == 1 else None


def _made_too(source: Source, node: Any, of: SpanFact | None) -> str | None:
    """The name to which the function around a node, or its file, assigns a table made by the same call as `of`."""
    made = ast.parse(of.text, mode="eval").body if of is not None else None
    scope = source.scope_at(node.lineno)
    for one in ast.walk(scope):
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and isinstance(made, ast.Call):
            target = one.targets[0]
            if ast.unparse(one.value.func) == ast.unparse(made.func) and isinstance(target, ast.Name):
                return target.id
    return None


@probe
def checkpoint_name(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The call of `torch.load` in the function where `of` stands; `detail.name` is what it is assigned to.

    `detail.early` tells whether that is done before `of`.
    """
    source = scene.source(of.span.file) if of is not None else None
    scope = source.scope_at(of.span.line) if of is not None and source is not None else None
    if of is None or source is None or scope is None:
        return None
    loads = [one for one in ast.walk(scope) if isinstance(one, ast.Call) and source.text(one.func) == "torch.load"]
    if len(loads) != 1:
        return None
    targets = [one.targets[0] for one in ast.walk(scope) if isinstance(one, ast.Assign) and one.value is loads[0]]
    name = source.text(targets[0]) if targets else ""
    return span_fact(source, loads[0], name=name, early=loads[0].lineno < of.span.line)


@probe
def only_evaluated(scene: Scene) -> bool | None:
    """Whether the functions on the stack go on to evaluate, and not to train; None where they do neither, or train."""
    rest: list[str] = []
    for frame in scene.live.user if scene.live is not None else ():
        source = source_of(frame.file, frame.frame.f_globals)
        function = source.function_at(frame.line)
        last = function.end_lineno if function is not None else len(source.lines)
        rest += source.lines[frame.line : last]
    text = "\n".join(rest)
    evaluates = any(word in text for word in _EVALUATES)
    return True if evaluates and not any(word in text for word in _TRAINS) else None
