"""Edits of a call's arguments and of literals: set-, swap- and drop-argument, replace, replace-literal."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from collections.abc import Sequence
from typing import Any

from explainer.diagnosis import Edit, Span
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place
from explainer.source import called

_CONV = ("in_channels", "out_channels", "kernel_size", "stride", "padding")
#: Parameters of torch's calls that have no Python signature, or whose signature is `*args`; also where torch is absent.
POSITIONS = {
    "Linear": ("in_features", "out_features", "bias"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "Conv1d": _CONV,
    "Conv2d": _CONV,
    "Conv3d": _CONV,
    "BatchNorm1d": ("num_features",),
    "BatchNorm2d": ("num_features",),
    "LayerNorm": ("normalized_shape",),
    "GroupNorm": ("num_groups", "num_channels"),
    "RNN": ("input_size", "hidden_size", "num_layers"),
    "LSTM": ("input_size", "hidden_size", "num_layers"),
    "GRU": ("input_size", "hidden_size", "num_layers"),
    "MultiheadAttention": ("embed_dim", "num_heads"),
    "softmax": ("input", "dim"),
    "log_softmax": ("input", "dim"),
    "cat": ("tensors", "dim"),
    "stack": ("tensors", "dim"),
    "sum": ("input", "dim"),
    "mean": ("input", "dim"),
    "argmax": ("input", "dim"),
    "squeeze": ("input", "dim"),
    "unsqueeze": ("input", "dim"),
    "select": ("input", "dim", "index"),
    "gather": ("input", "dim", "index"),
    "scatter_": ("input", "dim", "index"),
    "flatten": ("input", "start_dim", "end_dim"),
    "transpose": ("input", "dim0", "dim1"),
    "chunk": ("input", "chunks", "dim"),
    "split": ("input", "size", "dim"),
    "one_hot": ("input", "num_classes"),
}


def literal(value: Any) -> str:
    """A value as source: numbers, tuples, names and expressions. EditError for anything else."""
    if isinstance(value, str):
        try:
            ast.parse(value, mode="eval")
        except SyntaxError:
            raise EditError(f"{value!r} is no expression") from None
        return value
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return repr(type(value)(value))
    raise EditError(f"a {type(value).__name__} has no literal")


def set_argument(
    call: Place, argument: str | int, to: Any, parameters: Sequence[str] | None = None
) -> tuple[Edit, ...]:
    """Give one argument of a call another value, adding it as a keyword where it is not given yet.

    `parameters` are the called function's parameter names without `self`; else its signature, if torch's, is asked.
    """
    found = argument_node(call, argument, parameters)
    if found is not None:
        return changed(call.source, [(call.source.span(found), literal(to))])
    if isinstance(argument, int):
        raise EditError(f"the call has no argument {argument}")
    return add_argument(call, f"{argument}={literal(to)}")


def swap_arguments(call: Place, first: str, second: str) -> tuple[Edit, ...]:
    """Exchange what two parameters of a call are given. EditError where one is not given, or both are the same."""
    nodes = [argument_node(call, name) for name in (first, second)]
    spans = [call.source.span(node) for node in nodes if node is not None]
    texts = [call.source.text(node) for node in nodes if node is not None]
    if len(spans) < 2 or texts[0] == texts[1]:
        raise EditError(f"the call does not give {first} and {second} different values")
    return changed(call.source, list(zip(spans, reversed(texts), strict=True)))


def add_argument(call: Place, text: str) -> tuple[Edit, ...]:
    """One more argument at the end of a call."""
    node, span = _call(call), call.span
    given = [call.source.span(part) for part in (*node.args, *(word.value for word in node.keywords))]
    end = _point(span, span.end_line, (span.end_column or 1) - 1)
    if not given:
        return changed(call.source, [(end, text)])
    last = max(given, key=lambda one: (one.end_line or 0, one.end_column or 0))
    between = _between(call, last, end)
    if ")" not in between:
        return changed(call.source, [(_point(span, last.end_line, last.end_column), f", {text}")])
    return changed(call.source, [(end, text if between.rstrip().endswith(",") else f", {text}")])


def argument_node(call: Place, argument: str | int, parameters: Sequence[str] | None = None) -> ast.expr | None:
    """The expression given for a parameter, by name or position (the receiver not counted); None where not given."""
    node = _call(call)
    starred = next((i for i, part in enumerate(node.args) if isinstance(part, ast.Starred)), len(node.args))
    if isinstance(argument, int):
        return node.args[argument] if argument < starred else None
    for word in node.keywords:
        if word.arg == argument:
            return word.value
    names = list(parameters) if parameters is not None else parameters_of(call)
    at = names.index(argument) if argument in names else None
    return node.args[at] if at is not None and at < starred else None


def parameters_of(call: Place) -> list[str]:
    """The parameter names of a called function of torch or of the same file; empty where unknown."""
    node = _call(call)
    name = called(node)
    own = _own_parameters(call, name)
    if own is not None:
        return own
    if name in POSITIONS:
        names = list(POSITIONS[name])
        return names if names[0] not in ("input", "tensors") or _is_function(node) else names[1:]
    return _signature(name)


def _is_function(node: ast.Call) -> bool:
    """Whether `torch.softmax(x)` or `F.softmax(x)` stands here, not `x.softmax()`."""
    return _dotted(node.func).rsplit(".", 1)[0] in ("torch", "F", "torch.nn.functional", "nn.functional", "")


def _signature(name: str) -> list[str]:
    for home in ("torch.nn", "torch.nn.functional", "torch"):
        function = getattr(sys.modules.get(home), name, None)
        try:
            if function is not None:
                return list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            continue
    return []


def replace(at: Place, to: Any) -> tuple[Edit, ...]:
    """Put other source in an expression's place; a literal printed over an expression keeps the rest of the line."""
    return changed(at.source, [(at.span, literal(to))])


def drop_argument(call: Place, argument: str) -> tuple[Edit, ...]:
    """Take keyword arguments out of a call: one, or those of several names with commas that it has."""
    node = _call(call)
    names = {name.strip() for name in argument.split(",")}
    dropped = [word for word in node.keywords if word.arg in names]
    if not dropped:
        raise EditError(f"the call has no argument {argument}")
    kept = [call.source.text(part) for part in (*node.args, *node.keywords) if part not in dropped]
    return changed(call.source, [(call.span, f"{call.source.text(node.func)}({', '.join(kept)})")])


def _call(place: Place) -> ast.Call:
    if not isinstance(place.node, ast.Call):
        raise EditError("no call stands here")
    return place.node


def _own_parameters(call: Place, name: str) -> list[str] | None:
    """Parameters of the function or class of this name in the same file."""
    for node in call.source.nodes():
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return [one.arg for one in node.args.args if one.arg != "self"]
        if isinstance(node, ast.ClassDef) and node.name == name:
            made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
            return [one.arg for one in made.args.args[1:]] if made else None
    return None


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return getattr(node, "id", "")


def _between(call: Place, last: Span, end: Span) -> str:
    """The source between the last argument and the closing parenthesis."""
    lines = list(call.source.lines[(last.end_line or 1) - 1 : end.line])
    lines[-1] = lines[-1][: (end.column or 1) - 1]
    lines[0] = lines[0][(last.end_column or 1) - 1 :]
    return "\n".join(lines)


def _point(span: Span, line: int | None, column: int | None) -> Span:
    return dataclasses.replace(span, line=line or 0, column=column, end_line=line, end_column=column)
