"""Edits of how a layer is made: a class beside it that gives one part of what it returns, another normalisation."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit
from explainer.edits.lines import EditError, changed, inserted, joined
from explainer.edits.place import Place, replaced_each
from explainer.source import called, holds


def first_output(call: Place, part: str) -> tuple[Edit, ...]:
    """`nn.GRU(...)` -> `OutputOfGRU(...)`, a subclass whose `forward` gives one part. Names of parameters stay."""
    node, source = call.node, call.source
    if not isinstance(node, ast.Call):
        raise EditError("no layer is made here")
    layer = source.text(node.func)
    name = f"OutputOf{layer.rpartition('.')[2]}"
    if any(isinstance(one, ast.ClassDef) and one.name == name for one in source.nodes()):
        raise EditError(f"the file has a class {name} already")
    text = f"class {name}({layer}):\n    def forward(self, *args):\n        return super().forward(*args){part}\n\n"
    used = changed(source, [(source.span(node.func), name)])
    return joined(source, inserted(source, _top(call), text), used)


def group_norms(each: tuple[Place, ...], groups: str) -> tuple[Edit, ...]:
    """`nn.BatchNorm2d(width)` -> `nn.GroupNorm(4, width)` for several at once, also of different files."""
    return replaced_each(each, lambda place: _grouped(place, groups))


def _grouped(place: Place, groups: str) -> str:
    node = place.node
    if not isinstance(node, ast.Call) or not called(node).startswith("BatchNorm"):
        raise EditError("no batch normalisation is made here")
    width = node.args[0] if node.args else next((w.value for w in node.keywords if w.arg == "num_features"), None)
    if width is None:
        raise EditError("its number of channels does not stand here")
    head = place.source.text(node.func).rpartition(".")[0] or "torch.nn"
    return f"{head}.GroupNorm({groups}, {place.source.text(width)})"


def _top(call: Place) -> int:
    """The first line of the outermost statement that holds a call, its decorators included."""
    line = call.span.line
    body = call.source.tree.body if call.source.tree is not None else []
    top = next((one for one in body if holds(one, line)), None)
    if top is None:
        raise EditError("no statement holds this call")
    return min([top.lineno, *(one.lineno for one in getattr(top, "decorator_list", []))])
