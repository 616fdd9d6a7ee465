"""Candidates for helpers that compute sizes and whose defaults a layer does not have: `out_size(n, kernel=5)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Layer
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.edits.sites import layers_hit
from explainer.source import Source, called

#: What a size depends on, by the beginning of the name that a helper gives it.
_MEANT = {"kernel_size": ("kernel", "k"), "stride": ("stride", "s"), "padding": ("pad", "p"), "dilation": ("dil", "d")}


def given_as_built(evidence: Evidence) -> Iterator[Candidate]:
    """`out(out(w))` -> `out(out(w), kernel=3, stride=1)` where the second convolution is built like that.

    Each call of such a helper stands for one layer, the innermost for the first.
    """
    for layer, _ in layers_hit(evidence):
        if not layer.calls:
            continue
        source = layer.calls[0].place.source
        for helper, chains in _chains(source, layer):
            built = _built(evidence, layer)
            changes = [change for calls in chains for change in _given(source, helper, calls, built)]
            if changes and all(len(calls) == len(built) for calls in chains):
                first = Place(source, chains[0][-1])
                edits = partial(changed, source, changes)
                yield from evidence.made(edits, "set-argument", first, "as-layer", helper=helper.name)


def _chains(source: Source, layer: Layer) -> Iterator[tuple[ast.FunctionDef, list[list[ast.Call]]]]:
    """Helpers with defaults for a window, and their nested calls where the layer is built, the innermost call first."""
    scope = source.function_at(layer.calls[0].place.node.lineno)
    for helper in (one for one in source.nodes() if isinstance(one, ast.FunctionDef) and _defaults(one)):
        inside = (one for one in ast.walk(scope) if isinstance(one, ast.Call)) if scope is not None else ()
        calls = [one for one in inside if called(one) == helper.name]
        if calls:
            yield helper, _nested(calls) if len(_nested(calls)) < len(calls) else _in_turn(calls)


def _nested(calls: list[ast.Call]) -> list[list[ast.Call]]:
    """`out(out(w))`: each outermost call with those inside it, the innermost first."""
    inner = {id(one) for call in calls for one in ast.walk(call) if one is not call}
    return [[one for one in ast.walk(call) if one in calls][::-1] for call in calls if id(call) not in inner]


def _in_turn(calls: list[ast.Call]) -> list[list[ast.Call]]:
    """`w = out(w)`, line by line: the calls of one name."""
    groups: dict[str, list[ast.Call]] = {}
    for call in sorted(calls, key=lambda one: one.lineno):
        groups.setdefault(ast.unparse(call.args[0]) if call.args else "", []).append(call)
    return list(groups.values())


def _defaults(helper: ast.FunctionDef) -> dict[str, tuple[str, int]]:
    """The parameters of a helper that stand for a layer's argument, with its name there and their default."""
    names = helper.args.args[len(helper.args.args) - len(helper.args.defaults) :]
    found = {}
    for parameter, default in zip(names, helper.args.defaults, strict=True):
        for argument, heads in _MEANT.items():
            alike = parameter.arg == heads[1] or parameter.arg.startswith(heads[0])
            if alike and isinstance(default, ast.Constant) and type(default.value) is int:
                found[parameter.arg] = argument, default.value
    return found


def _built(evidence: Evidence, layer: Layer) -> list[Layer]:
    """The convolutions that are built in the same function, in their order."""
    scope = layer.calls[0].place.source.function_at(layer.calls[0].place.node.lineno)
    at = lambda one: one.calls[0].place  # noqa: E731
    found = [one for one in evidence.layers if one.type.startswith("Conv") and one.calls]
    beside = [one for one in found if at(one).source.function_at(at(one).node.lineno) is scope]
    return sorted(beside, key=lambda one: at(one).node.lineno)


def _given(source: Source, helper: ast.FunctionDef, calls: list[ast.Call], built: list[Layer]) -> Iterator[Any]:
    """For each call and its layer: what the layer has otherwise than the helper's defaults, behind the argument."""
    for call, layer in zip(calls, built, strict=False):
        if len(call.args) > 1 or call.keywords:
            continue
        odd = {
            name: layer.value(argument)
            for name, (argument, default) in _defaults(helper).items()
            if layer.value(argument) not in (None, default)
        }
        words = "".join(f", {name}={value}" for name, value in odd.items())
        if words:
            yield Place(source, call.args[0]).end, words
