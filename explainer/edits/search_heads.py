"""Candidates for layers whose heads are joined: the widths between such layers count all heads, not one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence, Layer, Step
from explainer.edits.expressions import evaluated
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_operand, bound_above
from explainer.edits.sites import Site, layers_hit
from explainer.edits.sites import arriving as needed
from explainer.edits.slices import chain


def widths(evidence: Evidence) -> Iterator[Candidate]:
    """`dims = [n] + [hidden] * k` -> `[hidden * heads]`, and `Layer(a, b, heads)` -> `Layer(a, b // heads, heads)`."""
    for layer, step in layers_hit(evidence):
        need = needed(layer, step)
        built = layer.value(need[0]) if need else None
        if need is None or not built or need[1] % built or need[1] == built or not _projected(evidence, step, need[1]):
            continue
        for call in layer.calls:
            scope = _scope(layer, call)
            heads = _heads(call.place, scope, need[1] // built)
            pair = _loop_names(call.place)
            if heads and pair and pair[0] in _given(call.place) and pair[1] in _given(call.place):
                yield from _widened(evidence, Site(call.place, scope, call.place), heads, pair, built)


def _scope(layer: Layer, call: Call) -> dict[str, Any]:
    """What a call sees, with what the function sees in which its comprehension stands."""
    function = call.place.source.function_at(call.place.span.line)
    around = [one for one in layer.calls if one.place.source.function_at(one.place.span.line) is function]
    return {name: value for one in (*around, call) for name, value in one.scope.items()}


def _projected(evidence: Evidence, crash: Step, size: int) -> bool:
    """Whether a linear layer behind a call gives all heads at once, as wide as what arrives."""
    behind = chain(evidence, crash.inputs[0] if crash.inputs else None)
    return any(step.layer is not None and step.layer.value("out_features") == size for step in behind)


def _given(call: Place) -> list[str]:
    node: Any = call.node
    return [one.id for one in (*node.args, *(word.value for word in node.keywords)) if isinstance(one, ast.Name)]


def _heads(call: Place, scope: Any, factor: int) -> str | None:
    """The one name among a call's arguments that holds how often the width arrives."""
    found = [name for name in _given(call) if scope.get(name) == factor] if isinstance(call.node, ast.Call) else []
    return found[0] if len(found) == 1 else None


def _loop_names(call: Place) -> tuple[str, str, str] | None:
    """`a`, `b` and `dims` of the loop `for a, b in zip(dims[:-1], dims[1:])` in which a call stands."""
    for loop in call.source.nodes():
        if not isinstance(loop, (ast.For, ast.comprehension)) or not _inside(call, loop):
            continue
        target, given = loop.target, ast.unparse(loop.iter)
        if isinstance(target, ast.Tuple) and len(target.elts) == 2 and given.startswith(("zip(", "pairwise(")):
            name = next((one.id for one in ast.walk(loop.iter) if isinstance(one, ast.Name) and one.id != "zip"), "")
            one, other = target.elts
            if given in (f"zip({name}[:-1], {name}[1:])", f"zip({name}, {name}[1:])", f"pairwise({name})"):
                return ast.unparse(one), ast.unparse(other), name
    return None


def _inside(call: Place, loop: ast.For | ast.comprehension) -> bool:
    """Whether a call stands in a loop's body, or in the same statement as a comprehension's loop."""
    if isinstance(loop, ast.For):
        return any(node is call.node for node in ast.walk(loop))
    return any(node is loop for node in ast.walk(call.statement().node))


def _widened(evidence: Evidence, site: Site, heads: str, pair: tuple[str, str, str], built: int) -> Iterator[Candidate]:
    call: Any = site.place.node
    source = site.place.source
    bound = bound_above(source.scope_at(call.lineno), pair[2], call.lineno)
    listed: list[ast.expr] = [one for node in ast.walk(bound.value) for one in _elements(node)] if bound else []
    wide = [one for one in listed if evaluated(one, site.scope) == built]
    out = [one for one in (*call.args, *(word.value for word in call.keywords)) if _is(one, pair[1])]
    if bound is None or not wide or len(out) != 1 or any(heads in ast.unparse(one) for one in wide):
        return
    parts = [(site.place.at(one), f"{as_operand(source.text(one))} * {heads}") for one in wide]
    parts.append((site.place.at(out[0]), f"{pair[1]} // {heads}"))
    edits = partial(changed, source, [(place.span, text) for place, text in parts])
    words: dict[str, Any] = {"new": parts[0][1], "heads": heads}
    yield from evidence.made(edits, "set-argument", parts[0][0], "all-heads", **words)


def _elements(node: ast.AST) -> list[ast.expr]:
    return node.elts if isinstance(node, (ast.List, ast.Tuple)) else []


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
