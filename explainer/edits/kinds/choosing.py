"""Edits that take CUDA only where there is one."""

from __future__ import annotations

import ast

from explainer.diagnosis import Edit, Span
from explainer.edits.borrowed import imports_end
from explainer.edits.imports import with_imports
from explainer.edits.kinds.inplace import wrap_block
from explainer.edits.lines import EditError, changed, inserted, joined
from explainer.edits.place import Place, by_file
from explainer.source import Source

_ASKED = "torch.cuda.is_available()"
_CHOICE = f'"cuda" if {_ASKED} else "cpu"'


def choose_device(at: Place | None = None, each: tuple[Place, ...] = ()) -> tuple[Edit, ...]:
    """`"cuda"` -> `"cuda" if torch.cuda.is_available() else "cpu"`, `x.cuda()` -> `x.to(device)`; several at once.

    `device` is bound at the top of a file that has more than one such call.
    """
    edits: list[Edit] = []
    places = (at, *each) if at is not None else each
    for source, own in by_file(places):
        made = _of_file(source, own)
        edits += made if source is places[0].source else with_imports(source, made)  # the first file's are seen to
    return tuple(edits)


def _of_file(source: Source, places: list[Place]) -> tuple[Edit, ...]:
    methods = [one for one in places if _is_method(one.node)]
    acts = [one for one in places if isinstance(one.node, ast.Call) and one not in methods]
    names = [one for one in places if not isinstance(one.node, ast.Call)]
    name = _free(source) if len(methods) > 1 else ""
    changes = [_moved(one, name or _CHOICE) for one in methods]
    changes += list(dict.fromkeys(_chosen(one) for one in names))
    groups = [changed(source, changes)] if changes else []
    groups += [wrap_block(one, f"if {_ASKED}:") for one in acts]
    if name:
        line = max(imports_end(source), 1)
        groups.append(inserted(source, line, f"\n{name} = torch.device({_CHOICE})"))
    return joined(source, *groups)


def _is_method(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cuda"


def _moved(call: Place, device: str) -> tuple[Span, str]:
    """`x.cuda(non_blocking=True)` -> `x.to(device, non_blocking=True)`."""
    node = call.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        raise EditError("no call of cuda stands here")
    rest = [f"{word.arg}={call.source.text(word.value)}" for word in node.keywords if word.arg != "device"]
    owner = call.source.text(node.func)[: -len("cuda")].rstrip()
    return call.span, f"{owner}to({', '.join([device, *rest])})"


def _chosen(place: Place) -> tuple[Span, str]:
    """The change that makes a device's name depend on CUDA: in the test of the choice it stands in, else a choice."""
    node, outer = place.node, place.parent()
    made, around = node, outer
    while isinstance(around, ast.Call) and place.source.text(around.func) == "torch.device":
        made, around = around, place.at(around).parent()
    if isinstance(around, ast.IfExp):
        node, outer = made, around
    if isinstance(outer, ast.IfExp) and node is not outer.test:
        test = place.source.text(outer.test)
        either = isinstance(outer.test, (ast.IfExp, ast.Lambda, ast.BoolOp))
        test = f"({test})" if either else test
        more = f"and {_ASKED}" if node is outer.body else f"or not {_ASKED}"
        return place.source.span(outer.test), f"{test} {more}"
    if isinstance(outer, ast.BinOp):
        node = outer
    text = f'{place.source.text(node)} if {_ASKED} else "cpu"'
    inner = place.at(node).parent()
    free = isinstance(inner, (ast.Assign, ast.AnnAssign, ast.Call, ast.keyword, ast.Dict, ast.arguments, ast.Return))
    return place.source.span(node), text if free else f"({text})"


def _free(source: Source) -> str:
    """A name for the device that a file does not bind yet."""
    stored = {one.id for one in source.nodes() if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    stored |= {one.arg for one in source.nodes() if isinstance(one, ast.arg)}
    return next(name for name in ("device", "DEVICE", "chosen_device") if name not in stored)
