"""Updates that a helper makes too early: the call that makes them, as it would read where backward has run."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Any

from explainer.edits.kinds.arguments import argument_node
from explainer.edits.place import Place
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.places import enclosing, place, span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import MISSING, is_optimizer, read
from explainer.source import Source, called, source_of, stored

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@probe
def early_update(scene: Scene) -> SpanFact | None:
    """The statement of a called function that writes over what backward needs, and that can be made by the caller.

    `text` in `detail` is the statement in the names of the function that calls backward; what it needs beside its
    function's parameters and globals makes it stay where it is.
    """
    from explainer.probes.autograd.writes import stale

    frame, found = scene.user_frame, stale(scene)
    frames = found["writes"][0]["frames"] if found else []
    if frame is None:
        return None
    goal = source_of(frame.file).function_at(frame.line)
    for at, position in enumerate(frames):
        statement = _own_statement(position)
        text = _in_goal(frames, at, statement, (frame.file, goal), frame.frame.f_globals) if statement else None
        if statement is not None and text is not None and _readable(text, frame):
            return span_fact(source_of(position["file"]), statement, text=text)
    return None


def _readable(text: str, frame: LiveFrame) -> bool:
    """Whether all attributes that a statement names are there: a layer of a Sequential has no name of its own."""
    chains = [one.value for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Attribute)]
    chains = [one for one in chains if isinstance(one, (ast.Name, ast.Attribute))]
    return all(read(one, frame.frame) is not MISSING for one in chains)


def _own_statement(position: Mapping[str, Any]) -> ast.stmt | None:
    """The statement at a position, where it is a call or write for its effect alone and stands in no loop."""
    source = source_of(position["file"])
    statement = source.statement_at(position["line"])
    effect = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    return statement if effect and not enclosing(source, position["line"], _LOOPS) else None


def _in_goal(
    frames: list[Mapping[str, Any]], at: int, statement: ast.stmt, goal: tuple[str, Any], names: Mapping[str, Any]
) -> str | None:
    """A statement in the names of the function that calls backward, argument by argument; None where one is lost."""
    tree: ast.AST = statement
    for inner, outer in zip(frames[at:], frames[at + 1 :], strict=False):
        known = _arguments(inner, outer)
        tree_names = _names(tree)
        source = source_of(inner["file"])
        if known is None or not all(name in known or _is_global(source, inner["line"], name) for name in tree_names):
            return None
        tree = _Substituted(known).visit(ast.parse(ast.unparse(tree)).body[0])
        if (outer["file"], source_of(outer["file"]).function_at(outer["line"])) == goal:
            foreign = tree_names - set(known)
            return ast.unparse(tree) if all(name in names or hasattr(builtins, name) for name in foreign) else None
    return None


def _arguments(inner: Mapping[str, Any], outer: Mapping[str, Any]) -> dict[str, ast.expr] | None:
    """The caller's expressions for a function's parameters, `self` included."""
    function = source_of(inner["file"]).function_at(inner["line"])
    found = place(outer, [inner["function"].rsplit(".", 1)[-1]])
    call = _call_in(found[1]) if found is not None else None
    if function is None or found is None or call is None:
        return None
    names = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
    known: dict[str, ast.expr] = {}
    if names[:1] == ["self"]:
        known["self"] = _receiver(call, function.name)
        names = names[1:]
    for name in names:
        given = argument_node(Place(found[0], call), name, names)
        if given is not None:
            known[name] = given
    return known


def _call_in(node: ast.AST) -> ast.Call | None:
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    return calls[0] if calls and (isinstance(node, ast.Call) or len(calls) == 1) else None


def _receiver(call: ast.Call, function: str) -> ast.expr:
    """`trainer` of `trainer.loss(x)`; of `model(x)`, which runs its forward, `model` itself."""
    method = isinstance(call.func, ast.Attribute) and call.func.attr == function
    return call.func.value if method else call.func  # type: ignore[attr-defined]


def _names(tree: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}


def _is_global(source: Source, line: int, name: str) -> bool:
    """Whether a name of a function is not one of its own variables."""
    function = source.function_at(line)
    own = stored(function) if function is not None else set()
    parameters = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)} if function else set()
    return name not in own | parameters


class _Substituted(ast.NodeTransformer):
    """Names replaced by expressions."""

    def __init__(self, known: Mapping[str, ast.expr]):
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A parameter gives way to what it was given."""
        return self.known.get(node.id, node)


@probe
def after_backward(scene: Scene) -> SpanFact | None:
    """The statement after which weights may be changed again: the optimizer's step where one follows, else backward."""
    from explainer.edits.kinds.inplace import block_of

    frame, failing = scene.user_frame, scene.failing
    crashed = failing.source.statement_at(frame.line) if frame is not None and failing is not None else None
    if failing is None or crashed is None:
        return None
    body = block_of(Place(failing.source, crashed))
    following = body[next(i for i, one in enumerate(body) if one is crashed) :]
    steps = [one for one in following[:6] if isinstance(one, ast.Expr) and ".step(" in failing.source.text(one)]
    return span_fact(failing.source, steps[0] if steps else crashed)


@probe
def optimizer_step(scene: Scene) -> SpanFact | None:
    """The one call of an optimizer's `step()` in the functions on the stack."""
    found = {}
    for frame in scene.live.user if scene.live is not None else ():
        source = source_of(frame.file, frame.frame.f_globals)
        function = source.scope_at(frame.line)
        for node in ast.walk(function) if function is not None else ():
            if isinstance(node, ast.Call) and called(node) == "step" and isinstance(node.func, ast.Attribute):
                steps = [read(one, frame.frame) for one in (node.func.value, *node.args[:1])]
                if any(is_optimizer(one) for one in steps):
                    found[(frame.file, node.lineno)] = span_fact(source, node)
    return next(iter(found.values())) if len(found) == 1 else None
