"""Loops that average all that a state dict holds, when they come to what counts: `num_batches_tracked` is int64."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.edits.kinds.averaged import using
from explainer.edits.place import Place
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import operands
from explainer.probes.places import enclosing, span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import fields_of, is_module, is_tensor, read
from explainer.source import Source

_STATE = ("state_dict()", "buffers()")
_NAMED = (ast.Name, ast.Attribute, ast.Subscript)
Entry = tuple[str, Any]


@probe
def averaged_entry(scene: Scene) -> SpanFact | None:
    """The loop over a model's state in which the failing call is given an entry that is not floating point.

    `detail`: `key` the entry's name, `layer` and `type` whose it is ("" unknown), `value` the entry's source in
    the failing statement, `other` that of the entry which goes into it, "" where none or several could be meant.
    """
    frame, failing = scene.user_frame, scene.failing
    first = next((one for one in operands(scene) if is_tensor(one.value)), None)
    if frame is None or failing is None or first is None or first.value.is_floating_point():
        return None
    for around in reversed(scene.live.user if scene.live is not None else []):
        for source, loop in _loops(around):
            found = _entry(around, source, loop, first.value)
            if found is not None:
                key, model = found
                layer, _, name = key.rpartition(".")
                about = {"key": key, "layer": layer, "type": _kind(model, layer), "entry": name, "value": first.name}
                return span_fact(source, loop.iter, **about, other=_other(failing.source, frame, first))
    return None


def _loops(frame: LiveFrame) -> Iterator[tuple[Source, ast.For]]:
    failing = frame.failing()
    if failing is not None:
        yield from ((failing.source, one) for one in enclosing(failing.source, frame.line, (ast.For,)))


def _entry(frame: LiveFrame, source: Source, loop: ast.For, value: Any) -> Entry | None:
    """The name of the entry that a loop has come to, with the model that has it (None where none is in sight)."""
    models = [one for one in _models(frame) if _same(one, value) is not None]
    keys = [key for key in _targets(frame, loop) if type(key) is str]
    text = source.text(loop.iter)
    if any(one in text for one in _STATE):
        names = [*keys[:1], *(_same(one, value) for one in models)]
        return (str(names[0]), _owner(frame, names[0])) if names else None
    own = [key for key in keys if any(_is_state(one, key) for one in _variables(frame))]
    return (own[0], _owner(frame, own[0])) if own else None


def _targets(frame: LiveFrame, loop: ast.For) -> Iterator[Any]:
    for node in ast.walk(loop.target):
        if isinstance(node, ast.Name):
            yield read(node, frame.frame)


def _models(frame: LiveFrame) -> Iterator[Any]:
    return filter(is_module, _variables(frame))


def _variables(frame: LiveFrame) -> Iterator[Any]:
    """What a frame's variables hold, and the fields of its `self`."""
    yield from [*frame.locals.values(), *fields_of(frame.locals.get("self")).values()]


def _owner(frame: LiveFrame, key: Any) -> Any:
    layer = str(key).rpartition(".")[0]
    return next((one for one in _models(frame) if _at(one, layer) is not None), None)


def _at(module: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        module = (fields_of(module).get("_modules") or {}).get(name)
        if module is None:
            return None
    return module


def _kind(model: Any, layer: str) -> str:
    found = _at(model, layer) if model is not None else None
    return type(found).__name__ if found is not None else ""


def _same(module: Any, value: Any, path: str = "", depth: int = 0) -> str | None:
    """The name of the buffer of a module whose memory a tensor is."""
    own = fields_of(module)
    for name, one in (own.get("_buffers") or {}).items():
        if (
            is_tensor(one)
            and one.shape == value.shape
            and one.dtype == value.dtype
            and one.data_ptr() == value.data_ptr()
        ):
            return path + name
    for name, layer in (own.get("_modules") or {}).items() if depth < 20 else ():
        found = _same(layer, value, f"{path}{name}.", depth + 1) if layer is not None else None
        if found is not None:
            return found
    return None


def _is_state(table: Any, key: str) -> bool:
    """Whether a variable holds tensors by name, floating-point ones too, and one that is not under this name."""
    if type(table) in (list, tuple):
        return bool(table) and _is_state(table[0], key)
    if not isinstance(table, Mapping) or not isinstance(table, dict) or not is_tensor(dict.get(table, key)):
        return False
    values = [one for one in dict.values(table) if is_tensor(one)]
    return not dict.__getitem__(table, key).is_floating_point() and any(one.is_floating_point() for one in values)


def _other(source: Source, frame: LiveFrame, first: Any) -> str:
    """The source of the only other entry of this size and dtype in the failing statement and those behind it."""
    statement = source.statement_at(frame.line)
    parts = using(Place(source, statement), first.name) if statement is not None else []
    found = {}
    for node in (one for part in parts for one in ast.walk(part)):
        value = read(node, frame.frame) if isinstance(node, _NAMED) else None
        if is_tensor(value) and (value.shape, value.dtype) == (first.value.shape, first.value.dtype):
            found[source.text(node)] = value
    found.pop(first.name, None)
    return next(iter(found)) if len(found) == 1 else ""
