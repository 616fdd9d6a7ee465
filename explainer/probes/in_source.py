"""Of a text beside its source: the layer that a message's sizes fit, where the source builds it, and who calls it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.bindings import arguments_of, last_name, sets
from explainer.crash import Frame
from explainer.facts import Settings, SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source

#: The first parameters of the layers whose sizes messages give, in order.
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "Linear": ("in_features", "out_features"),
    "Conv1d": ("in_channels", "out_channels", "kernel_size"),
    "Conv2d": ("in_channels", "out_channels", "kernel_size"),
    "Conv3d": ("in_channels", "out_channels", "kernel_size"),
    "RNN": ("input_size", "hidden_size"),
    "LSTM": ("input_size", "hidden_size"),
    "GRU": ("input_size", "hidden_size"),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"), ("num_features",)),
    **dict.fromkeys(("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"), ("num_features",)),
    "LayerNorm": ("normalized_shape",),
    "GroupNorm": ("num_groups", "num_channels"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "EmbeddingBag": ("num_embeddings", "embedding_dim"),
}
_ARITHMETIC: Mapping[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


@frozen
class Built:
    """A constructor call that may be meant. `exact`: all of the sizes are known, and fit."""

    source: Source
    call: ast.Call
    name: str
    attribute: str
    exact: bool


@probe
def layer_in_source(scene: Scene, type: Any, sizes: Mapping[str, str]) -> SpanFact | None:
    """The one layer of a `type` that the source builds with the `sizes` (parameter -> capture) of a pasted message.

    `detail.name` is what the model calls it, `detail.arguments` the source text of its sizes, `detail.values` those
    that are known. A layer that the failing line names goes before others, and where the message gives no sizes it has
    to name it. None where several could be meant, where that layer's sizes are not known, and where the line failed
    itself, not a module that it calls.
    """
    frames = _frames(scene) if scene.live is None else []
    wanted = {name: number for name, capture in sizes.items() if (number := _captured(scene, capture)) is not None}
    if not frames or len(wanted) != len(sizes) or scene.crash.stack[-1].user:
        return None
    types, (source, frame) = (type,) if isinstance(type, str) else tuple(type), frames[-1]
    owner = source.class_at(frame.line)
    within = list(_built(source, owner, types, wanted)) if owner is not None else []
    called = _called(source, frame.line)
    named = [one for one in within if one.attribute in called]
    if not wanted:
        return _fact(_only(named))
    if not any(one.exact for one in named) and _unknown(source, owner, types, wanted, called):
        return None
    everywhere = [one for each in _sources(frames) for one in _built(each, each.tree, types, wanted)]
    return _fact(_only(named) or (_only(within) if not named else None) or (None if within else _only(everywhere)))


def _fact(found: Built | None) -> SpanFact | None:
    if found is None:
        return None
    given = _arguments(found.call)
    texts = Settings(tuple((name, found.source.text(node)) for name, node in given.items()))
    numbers = [(name, _value(found.source, node)) for name, node in given.items()]
    values = Settings(tuple((name, number) for name, number in numbers if number is not None))
    return span_fact(found.source, found.call, found.name, name=found.name, arguments=texts, values=values)


@probe
def caller_in_source(scene: Scene) -> SpanFact | None:
    """The user's line that led to the one that failed, of a pasted traceback whose source lies here."""
    frames = _frames(scene) if scene.live is None else []
    if len(frames) < 2:
        return None
    source, frame = frames[-2]
    statement = source.statement_at(frame.line)
    simple = statement is not None and statement.lineno == statement.end_lineno
    return SpanFact(source.span(statement), source.text(statement)) if statement is not None and simple else None


def _frames(scene: Scene) -> list[tuple[Source, Frame]]:
    """The user's frames, each with its source, up to the first whose line no longer reads the same; innermost last."""
    found: list[tuple[Source, Frame]] = []
    for frame in reversed([one for one in scene.crash.stack if one.user]):
        source = scene.frame_source(frame)
        if source is None or source.tree is None:
            break
        found.insert(0, (source, frame))
    return found


def _sources(frames: list[tuple[Source, Frame]]) -> list[Source]:
    return list({source.file: source for source, _ in frames}.values())


def _captured(scene: Scene, capture: str) -> int | None:
    """A number that the message gave: `inner2`, or one of a list as `weight.0`."""
    name, _, index = capture.partition(".")
    value = scene.captures.get(name)
    if index and isinstance(value, str):
        parts = value.split(",")
        value = parts[int(index)].strip() if int(index) < len(parts) else None
    return int(str(value)) if str(value).isdigit() else None


def _called(source: Source, line: int) -> set[str]:
    """The attributes of `self` that a line names."""
    statement = source.statement_at(line)
    names = (node for node in ast.walk(statement) if isinstance(node, ast.Attribute)) if statement else ()
    return {node.attr for node in names if isinstance(node.value, ast.Name) and node.value.id == "self"}


def _built(
    source: Source, within: ast.AST | None, types: tuple[str, ...], wanted: Mapping[str, int]
) -> Iterator[Built]:
    for node in ast.walk(within) if within is not None else ():
        if not isinstance(node, ast.Call) or last_name(node.func) not in types:
            continue
        known = _known(source, node, wanted)
        if (known or not wanted) and all(wanted[name] == value for name, value in known.items()):
            attribute, name = _name(source, node)
            yield Built(source, node, name, attribute, len(known) == len(wanted))


def _unknown(
    source: Source, within: ast.AST | None, types: tuple[str, ...], wanted: Mapping[str, int], called: set[str]
) -> bool:
    """Whether the source tells no size of a layer that is `called`: the one meant, for all that is known."""
    layers = (one for one in ast.walk(within) if isinstance(one, ast.Call)) if within is not None else ()
    layers = (one for one in layers if last_name(one.func) in types and _name(source, one)[0] in called)
    return any(not _known(source, one, wanted) for one in layers)


def _known(source: Source, call: ast.Call, wanted: Mapping[str, int]) -> dict[str, int]:
    """Those of the sizes of a layer that the source tells."""
    given = {name: _value(source, value) for name, value in _arguments(call).items() if name in wanted}
    return {name: value for name, value in given.items() if value is not None}


def _arguments(call: ast.Call) -> dict[str, ast.expr]:
    return arguments_of(call, list(PARAMETERS[last_name(call.func)]))


def _only(found: list[Built]) -> Built | None:
    """The one that fits exactly, else the one that may fit; None where there are several."""
    exact = [one for one in found if one.exact]
    best = exact or found
    return best[0] if len(best) == 1 else None


def _name(source: Source, call: ast.Call) -> tuple[str, str]:
    """The attribute or variable that holds a layer, and the layer's name: `head[2]` of a Sequential's third.

    Where another call takes the layer, what it makes of it is not known: `head` alone.
    """
    inside, node, parent = "", call, source.parent_of(call)
    while isinstance(parent, (ast.Call, ast.List)):
        row = parent.args if isinstance(parent, ast.Call) else parent.elts
        if isinstance(parent, ast.Call) and last_name(parent.func) not in ("Sequential", "ModuleList"):
            inside = ""
        elif not any(isinstance(one, ast.Starred) for one in row) and node in row and len(row) > 1:
            inside = f"[{row.index(node)}]{inside}"
        node, parent = parent, source.parent_of(parent)  # type: ignore[assignment]
    target = parent.targets[0] if isinstance(parent, ast.Assign) else getattr(parent, "target", None)
    name = last_name(target) if target is not None else ""
    return name, f"{name}{inside}" if name else source.text(call.func)


def _value(source: Source, node: ast.expr) -> int | None:
    """The number that an expression of constants is; None where it takes more than the source says to know."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) == 1:  # a shape of one dimension
        return _value(source, node.elts[0])
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = _value(source, node.left), _value(source, node.right)
        both = left is not None and right is not None and not (right == 0 and isinstance(node.op, ast.FloorDiv))
        return _ARITHMETIC[type(node.op)](left, right) if both else None
    if isinstance(node, ast.Name) and isinstance(source.tree, ast.Module):
        given = [one.value for one in source.tree.body if isinstance(one, ast.Assign) and sets(one, node.id)]
        constant = given[0] if len(given) == 1 else None
        return constant.value if isinstance(constant, ast.Constant) and isinstance(constant.value, int) else None
    return None
