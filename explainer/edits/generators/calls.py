"""Candidates for calls written otherwise than torch wants them: not called, called in one step, not unpacked."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from explainer.bindings import arguments_of, last_name
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_primary
from explainer.source import walked

#: Functions whose layer has another name than the function with a capital.
_LAYERS = {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU", "elu": "ELU", "selu": "SELU", "relu6": "ReLU6",
           "leaky_relu": "LeakyReLU", "celu": "CELU", "log_softmax": "LogSoftmax"}  # fmt: skip


def failing(evidence: Evidence) -> Iterator[tuple[Place, Any]]:
    """The expressions that were being evaluated in the program's frames, innermost first, each with its node."""
    for frame in reversed(evidence.frames):
        yield frame.place, frame.place.node


def failing_calls(evidence: Evidence) -> Iterator[tuple[Place, ast.Call]]:
    """The calls in the innermost failing expression, the outermost first."""
    for place, node in list(failing(evidence))[:1]:
        for one in walked(node):
            if isinstance(one, ast.Call):
                yield place.at(one), one


def uncalled(evidence: Evidence) -> Iterator[Candidate]:
    """A method without its parentheses, `net.parameters`; or a size read as if it were a call, `x.shape(0)`."""
    if not re.search(r"method|function|not callable", evidence.message):
        return
    for place, node in list(failing(evidence))[:1]:
        called = {id(one.func) for one in walked(node) if isinstance(one, ast.Call)}
        for one in walked(node):
            if isinstance(one, ast.Call) and _named(one.func) in ("shape", "T", "dtype", "device", "ndim") and one.args:
                new = f"{place.source.text(one.func)}[{place.source.text(one.args[0])}]"
                yield from _written(evidence, place.at(one), new)
            elif isinstance(one, ast.Call) and _named(one.func) in ("shape", "dtype", "device", "ndim", "T", "data"):
                yield from _written(evidence, place.at(one), place.source.text(one.func))
            elif isinstance(one, ast.Subscript) and _named(one.value) == "size":
                new = f"{place.source.text(one.value)}({place.source.text(one.slice)})"
                yield from _written(evidence, place.at(one), new)
            elif isinstance(one, ast.Attribute) and id(one) not in called and isinstance(one.ctx, ast.Load):
                yield from _written(evidence, place.at(one), f"{place.source.text(one)}()")


def built_first(evidence: Evidence) -> Iterator[Candidate]:
    """A loss or layer that is given tensors when it is made: `nn.MSELoss(a, b)` -> `nn.MSELoss()(a, b)`."""
    if "Boolean value of Tensor" not in evidence.message and "truth value" not in evidence.message:
        return
    for place, call in failing_calls(evidence):
        name, text = _named(call.func), place.source.text(call.func)
        if name[:1].isupper() and len(call.args) > 1:
            new = f"{text}(){place.text[len(text) :]}" if place.text.startswith(text) else ""
            yield from _written(evidence, place, new)


def together(evidence: Evidence) -> Iterator[Candidate]:
    """Tensors given one by one to what takes them in a tuple: `torch.cat(a, b)` -> `torch.cat((a, b))`."""
    if not re.search(r"(cat|stack|concat\w*|chain_matmul|block_diag|meshgrid)\(\)", evidence.message):
        return
    for place, call in failing_calls(evidence):
        tensors = [one for one in call.args if not _is_dimension(one)]
        if tensors and not any(isinstance(one, (ast.Starred, ast.List, ast.Tuple)) for one in tensors):
            texts = [place.source.text(one) for one in tensors]
            rest = [place.source.text(one) for one in call.args if _is_dimension(one)]
            rest += [place.source.text(one) for one in call.keywords]
            inside = ", ".join(texts) + ("," if len(texts) == 1 else "")
            new = ", ".join([f"({inside})", *rest])
            yield from _written(evidence, place, f"{place.source.text(call.func)}({new})")


def _is_dimension(node: ast.expr) -> bool:
    return isinstance(node, (ast.Constant, ast.UnaryOp))


def unpacked(evidence: Evidence) -> Iterator[Candidate]:
    """A list of layers unpacked for a Sequential, functions among its layers made layers, classes made instances."""
    if "is not a Module subclass" not in evidence.message:
        return
    for place, call in failing_calls(evidence):
        if _named(call.func) == "Sequential" and len(call.args) == 1 and not isinstance(call.args[0], ast.Starred):
            one = place.at(call.args[0])
            yield from _written(evidence, one, f"*{as_primary(one)}")
    for source in evidence.sources_seen():
        for node in source.nodes():
            for part in _listed(node):
                yield from _written(evidence, Place(source, part), _layer_of(source.text(part), evidence.message))


def _listed(node: ast.AST) -> list[ast.expr]:
    """The elements of calls, lists, tuples and dicts that are written as plain names."""
    parts = node.args if isinstance(node, ast.Call) else getattr(node, "elts", getattr(node, "values", []))
    return [one for one in parts if isinstance(one, (ast.Name, ast.Attribute))] if isinstance(parts, list) else []


def _layer_of(text: str, message: str) -> str:
    """The layer for a function or class that a message says is none; empty for other texts."""
    wrong, (package, _, name) = message.split(" is not a Module")[0].split(".")[-1], text.rpartition(".")
    if name != wrong:
        return ""
    if name[:1].isupper():
        return f"{text}()"
    layers = "nn" if package in ("F", "torch", "nn.functional") else "torch.nn"
    return f"{layers}.{_LAYERS.get(name, name.capitalize())}()"


def _named(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _written(evidence: Evidence, place: Place, new: str) -> Iterator[Candidate]:
    if new:
        yield from evidence.replaced(place, new, "replace", "rename", new=new, old=" ".join(place.text.split())[:60])


def exchanged(evidence: Evidence) -> Iterator[Candidate]:
    """Two arguments in the other order, where one has the name of the parameter that the other is given to."""
    for place, call in _calls_on_the_way(evidence):
        for i, j in _crossed(call.args, evidence.parameters(call)):
            one, other = place.source.text(call.args[i]), place.source.text(call.args[j])
            edits = partial(changed, place.source, [(place.source.span(call.args[i]), other),
                                                    (place.source.span(call.args[j]), one)])  # fmt: skip
            yield from evidence.made(edits, "swap-arguments", place.at(call), "rename", new=other, old=one)


def own_named(evidence: Evidence) -> Iterator[Candidate]:
    """`Forward(dim, inner, inner)` -> `Forward(dim, inner, dropout)`: what has the parameter's name in the caller."""
    for place, call in _calls_on_the_way(evidence):
        given = arguments_of(call, evidence.parameters(call))
        function = place.source.function_at(call.lineno)
        read = {last_name(one) for one in given.values()}
        known = {one.arg for one in walked(function) if isinstance(one, ast.arg)} if function is not None else set()
        for name, value in given.items():
            if name in known - read and isinstance(value, (ast.Name, ast.Attribute)):
                words: dict[str, Any] = {"new": name, "old": place.source.text(value)}
                yield from evidence.replaced(place.at(value), name, "replace", "rename", **words)


def _calls_on_the_way(evidence: Evidence) -> Iterator[tuple[Place, ast.Call]]:
    """The calls on the failing stack, innermost first, and those that built the layers on the way."""
    layers = [call.place for layer in evidence.layers_around() for call in layer.calls]
    for place in [*(frame.place for frame in reversed(evidence.frames)), *layers]:
        yield from ((place, one) for one in walked(place.node) if isinstance(one, ast.Call))


def _crossed(given: Sequence[ast.expr], parameters: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The pairs of places of which the second's argument is named as the first's parameter, whose own is not."""
    names = [last_name(one) for one in given]
    for i, j in itertools.permutations(range(min(len(names), len(parameters))), 2):
        if names[j] == parameters[i] != names[i] and parameters[j] not in (names[j], *names[:i], *names[i + 1 :]):
            yield i, j
