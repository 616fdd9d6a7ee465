"""Candidates for arguments given in the wrong order: names crosswise to the parameters', or the size that is needed."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence, Layer, Step
from explainer.edits.expressions import evaluated
from explainer.edits.generators.sites import LEAVING, Site, arriving, enclosing, layers_hit, sites
from explainer.edits.generators.slices import trunk
from explainer.edits.kinds.arguments import parameters_of
from explainer.edits.lines import changed
from explainer.edits.place import Place

#: How many calls behind a failing one the layer may be whose output arrives.
_NEAR = 6
#: Parts of names that say what kind of number it is, not which.
_GENERAL = {"dim", "dims", "size", "sizes", "features", "channels", "ch", "num", "n", "d", "len", "width", "units"}


def crossed(evidence: Evidence) -> Iterator[Candidate]:
    """`Encoder(hidden, emb)` where the class has `(emb, hidden)`: two arguments whose names are crosswise."""
    for call, parameters in _calls(evidence):
        given = list(_given(call, parameters))
        for (first, one), (second, other) in itertools.combinations(given, 2):
            names = _name(one), _name(other)
            if all(names) and _means(names[0], second) and _means(names[1], first) and not _means(names[0], first):
                yield from _swapped(evidence, call, one, other)


def exchanged(evidence: Evidence) -> Iterator[Candidate]:
    """`Encoder(48, 20)` -> `Encoder(20, 48)`: the size that a layer needs was given for another argument.

    The outer calls go first: the inner ones only hand on what they got, unless they do it the other way round. The same
    for the layer whose output arrives: `Embedding(width, vocab)` before a layer for `width`.
    """
    for layer, step in layers_hit(evidence):
        need = arriving(layer, step)
        inner = [pair for site in sites(layer, need[0]) for pair in _pairs(site, need[1])] if need is not None else []
        inner += _of_maker(evidence, layer, step, *need) if need is not None else []
        inner.reverse()
        for site, other in sorted(inner, key=lambda pair: not _turned(*pair)):
            yield from _swapped(evidence, site.call, site.place.node, other)


def _of_maker(
    evidence: Evidence, layer: Layer, step: Step, argument: str, size: int
) -> Iterator[tuple[Site, ast.expr]]:
    """The arguments of the layer that made what arrives, where that for its output and another would fit crosswise."""
    start, wanted = step.inputs[0] if step.inputs else None, layer.value(argument)
    for maker in (one.layer for one in trunk(evidence, start, _NEAR) if one.layer is not None):
        leaving = LEAVING.get(maker.type, ("", 0))[0]
        if wanted is not None and leaving and maker.value(leaving) == size:
            yield from (pair for site in sites(maker, leaving) for pair in _pairs(site, wanted))
        return


def _pairs(site: Site, size: int) -> Iterator[tuple[Site, ast.expr]]:
    """The other arguments of a site's call that have a size; of keywords each says what it is."""
    node = site.call.node
    given = node.args if isinstance(node, ast.Call) else []
    if any(one is site.place.node for one in given):
        yield from ((site, one) for one in given if one is not site.place.node and evaluated(one, site.scope) == size)


def _turned(site: Site, other: ast.expr) -> bool:
    """Whether a call hands on two parameters of its function in another order than it has them."""
    both: list[Any] = [site.place.node, other]
    names = [_name(one) for one in sorted(both, key=lambda one: (one.lineno, one.col_offset))]
    parameters = enclosing(site.call) or []
    return all(name in parameters for name in names) and parameters.index(names[0]) > parameters.index(names[1])


def _calls(evidence: Evidence) -> Iterator[tuple[Place, list[str]]]:
    """The calls that led to the crash and to the layers around it, each with the parameters of what it called."""
    stack = evidence.frames
    for outer, inner in zip(reversed(stack[:-1]), reversed(stack[1:]), strict=True):
        yield from _called(outer, inner)
    for layer in evidence.layers_around():
        if layer.calls and not layer.own:
            yield layer.calls[0].place, parameters_of(layer.calls[0].place) if _is_call(layer.calls[0]) else []
        for inner, outer in itertools.pairwise(layer.calls):
            yield from _called(outer, inner)


def _called(outer: Call, inner: Call) -> Iterator[tuple[Place, list[str]]]:
    parameters = enclosing(inner.place)
    if _is_call(outer) and parameters:
        yield outer.place, parameters


def _is_call(call: Call) -> bool:
    return isinstance(call.place.node, ast.Call)


def _given(call: Place, parameters: list[str]) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a call by parameter; none where a star hides which they are."""
    node = call.node
    if isinstance(node, ast.Call) and not any(isinstance(one, ast.Starred) for one in node.args):
        yield from zip(parameters, node.args, strict=False)
        yield from ((word.arg, word.value) for word in node.keywords if word.arg)


def _name(node: ast.expr) -> str:
    """`hidden` for `hidden`, `self.hidden`, `cfg.hidden` and `cfg["hidden"]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _means(name: str, parameter: str) -> bool:
    """Whether a name is that of a parameter: `emb_dim`, `embed`, `d_emb` and `E` all are of `embedding_dim`."""
    if name == parameter or (
        len(name) == 1 and len(parameter) > 1 and "".join(_parts(parameter)).startswith(name.lower())
    ):
        return True
    one, other = _parts(name), _parts(parameter)
    short = zip(sorted(one), sorted(other), strict=False)
    return len(one) == len(other) > 0 and all(a == b or _shortened(a, b) for a, b in short)


def _parts(name: str) -> list[str]:
    parts = [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)]
    return [part for part in parts if part not in _GENERAL]


def _shortened(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= 3 and (one.startswith(other) or other.startswith(one))


def _swapped(evidence: Evidence, call: Place, one: Any, other: Any) -> Iterator[Candidate]:
    first, second = call.at(one), call.at(other)
    edits = partial(changed, call.source, [(first.span, second.text), (second.span, first.text)])
    words: dict[str, Any] = {"new": f"{second.text}, {first.text}"}
    yield from evidence.made(edits, "swap-arguments", call, "swap", **words)
