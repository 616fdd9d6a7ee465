"""Where the graph that leads to a loss was cut: by a replay, and where none is possible by definitions and uses."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from explainer.facts import CutFact, SpanFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.files import calls_named
from explainer.probes.places import decorators, enclosing, recorded, span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called, holds, source_of

#: How the calls that cut a graph are told apart.
KINDS = {
    "item": "item", "tolist": "item", "__float__": "item", "__int__": "item", "detach": "detach", "detach_": "detach",
    "data": "data", "numpy": "numpy", "__array__": "numpy", "tensor": "new-tensor", "as_tensor": "new-tensor",
    "argmax": "index", "argmin": "index", "argsort": "index", "one_hot": "index", "nonzero": "index",
    "multinomial": "index", "gt": "comparison", "lt": "comparison", "ge": "comparison", "le": "comparison",
    "eq": "comparison", "ne": "comparison", "__gt__": "comparison", "__lt__": "comparison", "__ge__": "comparison",
    "__le__": "comparison", "__eq__": "comparison", "__ne__": "comparison", "greater": "comparison",
    "less": "comparison",
    "long": "cast", "int": "cast", "short": "cast", "byte": "cast", "bool": "cast", "to": "cast", "type_as": "cast",
    "bernoulli": "index", "autograd.grad": "gradient",
}  # fmt: skip
#: Cuts that people make on purpose, on targets and teachers: named last.
_MEANT = ("detach", "data", "no-grad", "inference")
_WITHS: tuple[type[ast.With | ast.AsyncWith], ...] = (ast.With, ast.AsyncWith)
UNRECORDED = Pattern(r"\b(no_grad|inference_mode|set_grad_enabled\(False\)|_no_grad)\b|set_grad_enabled\(False\)")


@probe
def cut(scene: Scene) -> CutFact | None:
    """The call at which the graph of the tensor that backward was called on ends, from a replay."""
    found = scene.once("cuts", lambda: _recorded(scene))
    facts = [fact for fact in (_fact(one) for one in found or () if not one["remade"]) if fact is not None]
    deliberate = [fact for fact in facts if fact.kind in _MEANT]
    others = [fact for fact in facts if fact.kind not in _MEANT]
    named = others or deliberate
    return named[-1] if named else None


cut.proves = True  # type: ignore[attr-defined]


@probe
def all_cuts(scene: Scene) -> tuple[CutFact, ...] | None:
    """All calls at which the graph ends or is made anew of numbers, where each can give way to what it was given."""
    found = scene.once("cuts", lambda: _recorded(scene))
    facts = [_fact(one) for one in found or ()]
    known = [one for one in facts if one is not None and one.kind in ("item", "detach", "data", "new-tensor")]
    unique = {(one.span.file, one.span.line, one.span.column): one for one in known}
    return tuple(unique.values()) if len(unique) > 1 and len(known) == len(facts) else None


def _recorded(scene: Scene) -> Any:
    if scene.live is None or not scene.options.replay:
        return None
    from explainer.replay.recorders.cut import Cut
    from explainer.replay.run import replay

    number = "has no attribute" in scene.crash.message
    return replay(scene, functools.partial(Cut, number=number))


def _fact(one: Mapping[str, Any]) -> CutFact | None:
    at = recorded(one, one["function"].rsplit(".", 1)[-1])
    if at is None:
        return None
    source, node = at
    if isinstance(node, ast.Attribute):
        node = _call_of(source, node)
    kind = KINDS.get(one["function"], "other")
    block = None
    if not one["enabled"] or one["inference"]:
        kind, block = ("inference" if one["inference"] else "no-grad"), block_around(one["frames"])
        if block is None and isinstance(node, ast.Call) and called(node) == "sample":  # of torch.distributions
            kind = "sample"
    elif kind in ("detach", "data") and _goes_to_numpy(source, node):
        kind = "numpy"
    fact = fact_at(source, node, one["function"], kind, block, tuple(one["shape"]), one["dtype"], one["path"])
    return replace(fact, many=one["many"])


def fact_at(
    source: Source, node: ast.AST, operator: str, kind: str, block: SpanFact | None = None,
    shape: tuple[int, ...] = (), dtype: str = "", path: str = "",
) -> CutFact:  # fmt: skip
    """A cut at a node of a source."""
    statement = source.statement_at(node.lineno)  # type: ignore[attr-defined]
    operand = _operand(node)
    return CutFact(
        block.span if block is not None else source.span(node), source.text(node), operator, kind,
        source.qualified_at(node.lineno), shape, dtype, path, block,  # type: ignore[attr-defined]
        span_fact(source, operand) if operand is not None else None,
        span_fact(source, statement) if statement is not None else None,
    )  # fmt: skip


def _operand(node: ast.AST) -> ast.AST | None:
    """What a cutting call was applied to: its receiver, or its first argument."""
    if isinstance(node, ast.Attribute):
        return node.value
    if isinstance(node, ast.Compare):
        return node.left
    if not isinstance(node, ast.Call):
        return None
    library = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in ("torch", "np", "F", "numpy")
    if isinstance(node.func, ast.Attribute) and not library:
        return node.func.value
    return node.args[0] if node.args else None


def _call_of(source: Source, node: ast.Attribute) -> ast.expr:
    """The call whose method an attribute is: columns of a bound method's call end before its parentheses."""
    for one in source.nodes():
        if isinstance(one, ast.Call) and one.func is node:
            return one
    return node


def _goes_to_numpy(source: Source, node: ast.AST) -> bool:
    """Whether a chain of methods that begins with this call ends in `.numpy()`."""
    statement = source.statement_at(node.lineno)  # type: ignore[attr-defined]
    for one in ast.walk(statement) if statement is not None else ():
        if isinstance(one, ast.Call) and called(one) == "numpy":
            return any(inner is node for inner in ast.walk(one))
    return False


def block_around(frames: Sequence[Mapping[str, Any]]) -> SpanFact | None:
    """The nearest `with torch.no_grad():` or decorator that switched recording off, innermost frame first."""
    for frame in frames:
        source = source_of(frame["file"])
        for block in enclosing(source, frame["line"], _WITHS):
            for item in block.items:
                if UNRECORDED.search(source.text(item.context_expr)):
                    header = source.span(item.context_expr)
                    return SpanFact(header, f"with {source.text(item.context_expr)}:", _form("block", block))
        for function, decorator in decorators(source, frame["line"]):
            if UNRECORDED.search(source.text(decorator)):
                return SpanFact(source.span(decorator), f"@{source.text(decorator)}", _form("decorator", function))
    return None


def _form(form: str, node: ast.AST) -> Any:
    from explainer.facts import Settings

    return Settings((("form", form), ("line", node.lineno), ("name", getattr(node, "name", ""))))  # type: ignore[attr-defined]


@probe
def block_of(scene: Scene, of: CutFact | None = None) -> SpanFact | None:
    """The whole `with` statement, or the decorated function, that a cut's block belongs to: what an edit changes."""
    if of is None or of.block is None:
        return None
    source = source_of(of.block.span.file)
    for node in source.nodes():
        if isinstance(node, ast.stmt) and node.lineno == of.block["line"]:
            return SpanFact(source.span(node), "", of.block.detail)
    return None


@probe
def derived_in(scene: Scene, of: CutFact | None = None) -> SpanFact | None:
    """The function that asks for gradients (`torch.autograd.grad`), where another one switches their recording off.

    `detail`: `name`.
    """
    frame, failing = scene.user_frame, scene.failing
    function = failing.source.function_at(frame.line) if frame is not None and failing is not None else None
    if of is None or of.block is None or failing is None or not isinstance(function, ast.FunctionDef):
        return None
    home = source_of(of.block.span.file)
    block = next((one for one in home.nodes() if isinstance(one, ast.stmt) and one.lineno == of.block["line"]), None)
    inside = block is not None and home.file == failing.source.file and holds(function, block.lineno)
    asked = any(called(one) == "grad" for one in ast.walk(failing.node) if isinstance(one, ast.Call))
    return (
        span_fact(failing.source, function, name=function.name) if asked and block is not None and not inside else None
    )


@probe
def grad_switch(scene: Scene) -> SpanFact | None:
    """The `torch.set_grad_enabled(False)` that still holds where the error was raised.

    `detail`: `inside`, whether it stands in a function that has returned since.
    """
    if scene.live is None:
        return None
    import torch

    if torch.is_grad_enabled():
        return None
    for source, call in calls_named(scene, "set_grad_enabled"):
        if call.args and source.text(call.args[0]) == "False":
            return span_fact(source, call, inside=_returned(scene, source, call.lineno))
    return None


@probe
def reentrant_checkpoint(scene: Scene) -> SpanFact | None:
    """The user's only call of activation checkpointing, where it is the reentrant variant (torch's default so far).

    That one runs its function under `no_grad` and gives its result a history only if an input requires grad.
    """
    calls = calls_named(scene, "checkpoint", "checkpoint_sequential")
    if len(calls) != 1:
        return None
    source, call = calls[0]
    given = [source.text(word.value) for word in call.keywords if word.arg == "use_reentrant"]
    return span_fact(source, call, given=bool(given)) if given in ([], ["True"]) else None


def _returned(scene: Scene, source: Source, line: int) -> bool:
    function = source.function_at(line)
    frames = [frame for frame in (scene.live.user if scene.live else []) if frame.file == source.file]
    return function is not None and all(source.function_at(frame.line) is not function for frame in frames)


@probe
def receiver(scene: Scene) -> SpanFact | None:
    """What backward was called on: `loss` of `loss.backward()`, the first argument of `torch.autograd.backward`."""
    failing = scene.failing
    node = failing.node if failing is not None else None
    if isinstance(node, ast.Expr):
        node = node.value
    if failing is not None and isinstance(node, ast.Attribute) and node.attr == "backward":
        return span_fact(failing.source, node.value)
    if failing is None or not isinstance(node, ast.Call):
        return None
    target: ast.AST | None = None
    method = called(node) == "backward" and "autograd" not in failing.source.text(node.func)
    if isinstance(node.func, ast.Attribute) and method:
        target = node.func.value
    elif node.args:
        target = node.args[0]
    return span_fact(failing.source, target) if target is not None else None


def bound_in(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The last statement of the failing function that bound a name."""
    from explainer.probes.origin import last_binding

    frame, failing = scene.user_frame, scene.failing
    if frame is None or failing is None or of is None:
        return None
    found = last_binding(failing.source, frame, of.text)
    return span_fact(failing.source, found) if found is not None else None
