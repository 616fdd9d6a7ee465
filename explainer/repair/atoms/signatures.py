"""What a call may be given too: parameters of torch's functions and layers, and of the program's own."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.bindings import fields_of, only_value
from explainer.dimensions import DIMENSIONS, MODULES
from explainer.edits.evidence import Evidence
from explainer.source import Source, called, of_self, walked

#: Where functions and layers of torch's are looked for by their last name.
_PLACES = ("torch.nn", "torch.nn.functional", "torch.nn.utils.rnn", "torch.linalg", "torch")
#: What decides nothing of shape, and what is no argument.
_APART = ("out", "layout", "pin_memory", "generator", "memory_format", "device", "names", "inplace", "requires_grad")
#: What keeps a graph where it is asked to: that hides why it is needed twice.
_GRAPHS = ("backward", "grad")
#: A parameter whose default is not known here.
UNKNOWN = object()
Parameters = Mapping[str, Any]


def lacking(node: ast.Call, evidence: Evidence) -> dict[str, Any]:
    """The parameters that a call may be given too, by name, with their defaults."""
    if called(node) in _GRAPHS:
        return {}
    found = _of_program(node, evidence) or _of_torch(node)
    known = {word.arg for word in node.keywords}
    return {name: default for name, default in found.items() if name not in known and name not in _APART}


def optional(node: ast.Call, source: Source) -> list[str]:
    """The parameters of a layer's `forward` in order, the layer one of torch's: those of tensors that may be left out.

    In the place of any other stands an empty text.
    """
    owner = source.class_at(node.lineno)
    made = only_value(owner, ast.unparse(node.func)) if of_self(node.func) else None
    kind = getattr(sys.modules.get("torch.nn"), called(made), None) if isinstance(made, ast.Call) else None
    if not isinstance(kind, type):
        return []
    own = list(inspect.signature(kind.forward).parameters.values())[1:]  # type: ignore[attr-defined]
    return [one.name if one.default is None and "Tensor" in str(one.annotation) else "" for one in own]


def left_alone(node: ast.Call, name: str, evidence: Evidence) -> bool:
    """Whether none of several calls of a function of the program gives a parameter, which was made for one of them."""
    calls = [one.node for one in evidence.calls_of(called(node)) if isinstance(one.node, ast.Call)]
    own = name in _of_program(node, evidence)
    return own and len(calls) > 1 and all(name in lacking(one, evidence) for one in calls)


def _of_program(node: ast.Call, evidence: Evidence) -> dict[str, Any]:
    """Those of the one function or class of the program that has a call's name."""
    found = evidence.defined(called(node))
    if len(found) != 1 or _root(node.func) in MODULES:
        return {}
    function = found[0].node
    if isinstance(function, ast.ClassDef):
        made = [one for one in function.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        fields = list(fields_of(function).items())[len(node.args) :]
        given = {name: _plain(default) for name, default in fields if default is not None}
        return dict(_given(made[0], node, skip=1)) if made else given
    if not isinstance(function, ast.FunctionDef):
        return {}
    method = isinstance(node.func, ast.Attribute) and function.args.args[:1] and function.args.args[0].arg == "self"
    return dict(_given(function, node, skip=int(bool(method))))


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def said(name: str, evidence: Evidence) -> list[str]:
    """The texts that the program compares with whatever has a name: what a mode of that name may be."""
    if evidence.modes is None:
        evidence.modes = {}
        for node in (node for source in evidence.sources_seen() for node in source.nodes()):
            if isinstance(node, ast.Compare):
                constants = (one.value for one in walked(node) if isinstance(one, ast.Constant))
                texts = [one for one in constants if isinstance(one, str)]
                for one in (node.left, *node.comparators):
                    if isinstance(one, (ast.Attribute, ast.Name)):
                        evidence.modes.setdefault(ast.unparse(one).rpartition(".")[2], []).extend(texts)
    return list(dict.fromkeys(evidence.modes.get(name, [])))


def _given(function: ast.FunctionDef, node: ast.Call, skip: int) -> Iterator[tuple[str, Any]]:
    words, defaults = function.args.args, function.args.defaults
    first = len(words) - len(defaults)
    for at, one in enumerate(words):
        if at >= max(skip + len(node.args), first):
            yield one.arg, _plain(defaults[at - first])
    for one, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if default is not None:
            yield one.arg, _plain(default)


def _plain(node: ast.expr) -> Any:
    return node.value if isinstance(node, ast.Constant) else UNKNOWN


def _of_torch(node: ast.Call) -> dict[str, Any]:
    torch = sys.modules.get("torch")
    if torch is None or (isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)):
        return {}
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    last = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else None
    if last == "fft":  # whose operators are called so, too
        return _of_schemas(f"fft_{called(node)}", len(node.args))
    of_module = isinstance(node.func, ast.Name) or last in MODULES
    if of_module:
        known = _signature(called(node))
        if known is not None:
            return dict(list(known.items())[len(node.args) :])
    return _of_schemas(called(node), len(node.args) + int(not of_module))


@functools.cache
def _signature(name: str) -> Parameters | None:
    """The parameters of a Python function or a layer of torch's, those of its bases where it hands them on."""
    for place in _PLACES:
        found = getattr(sys.modules.get(place), name, None)
        if isinstance(found, type):
            return _of_class(found)
        if inspect.isfunction(found):
            return {one.name: one.default for one in inspect.signature(found).parameters.values()}
    return None


def _of_class(found: type) -> Parameters:
    words: dict[str, Any] = {}
    for one in found.__mro__:
        made = vars(one).get("__init__")
        if not inspect.isfunction(made):
            continue
        own = list(inspect.signature(made).parameters.values())[1:]
        plain = {word.name: word.default for word in own if word.kind not in (word.VAR_POSITIONAL, word.VAR_KEYWORD)}
        words.update({name: default for name, default in plain.items() if name not in words})
        if not any(word.kind is word.VAR_KEYWORD for word in own):
            break
    return words


@functools.cache
def _of_schemas(name: str, given: int) -> dict[str, Any]:
    """Those of an operator's overloads, behind so many that are given; dimensions that only some overloads have too."""
    torch: Any = sys.modules["torch"]
    found: dict[str, Any] = {}
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        for one in [one for at, one in enumerate(schema.arguments) if at >= given or one.kwarg_only]:
            sized = "int" in str(one.type) or "bool" in str(one.type)
            if sized and (one.name in DIMENSIONS or one.has_default_value()):
                found.setdefault(one.name, one.default_value if one.has_default_value() else UNKNOWN)
    return found
