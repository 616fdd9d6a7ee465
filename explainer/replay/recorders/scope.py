"""What a recorded frame can name: its sizes, by the source text that reads them."""

from __future__ import annotations

import sys
from typing import Any

from explainer.replay.recorders.values import described, is_number, is_tensor

#: What a layer of torch's says of the size of what it gives.
_GIVEN = ("out_features", "out_channels", "hidden_size", "embedding_dim", "embed_dim", "num_features")
#: The most entries of a list of sizes that are looked at one by one.
_MOST_ENTRIES = 8


def scope(frame: Any) -> dict[str, Any]:
    """What a frame can name: integers, lengths, shapes, kinds; locals, globals its code mentions, their fields."""
    mentioned = {name: frame.f_globals[name] for name in frame.f_code.co_names if name in frame.f_globals}
    constants = {name: value for name, value in frame.f_globals.items() if is_number(value)}
    names = {**frame.f_locals, **mentioned, **constants}
    found: dict[str, Any] = {}
    for name, value in names.items():
        if name.startswith("__") or len(found) > 300:
            continue
        found.update(_told(name, value))
    return found


def _told(name: str, value: Any) -> dict[str, Any]:
    """What a value and its fields name; nothing of one whose own code raises when it is looked at."""
    try:
        found = _named(name, value)
        for key, inner in _fields(name, value):
            found.update(_named(key, inner))
            loaded = type(value) is dict and not is_tensor(inner)  # what a file keeps: `state["config"]["width"]`
            sized = _are_settings(inner) or _are_sizes(inner) or isinstance(inner, sys.modules["torch"].nn.Module)
            if loaded or sized:  # `self.cfg.width`, `teacher.widths[0]`, `self.encoder.width`
                kept = ((deep, one) for deep, one in _read_of(key, inner) if is_number(one) or type(one) is str)
                found.update(row for deep, one in kept for row in _named(deep, one).items())
    except Exception:
        return {}
    return found


def _read_of(key: str, inner: Any) -> list[tuple[str, Any]]:
    """The fields of what an object holds; of torch's own layers what they give, which is read of them at times."""
    found = _fields(key, inner)
    if not type(inner).__module__.startswith("torch."):
        return found
    return [(deep, one) for deep, one in found if deep.rpartition(".")[2] in _GIVEN]


def _are_settings(value: Any) -> bool:
    """Whether an object holds numbers and texts, as configurations do, and no tensors or layers."""
    held = _own_fields(value).values()
    plain = sum(is_number(one) or isinstance(one, (str, float, bool)) for one in held)
    return plain > 1 and 2 * plain >= len(held)


def _are_sizes(value: Any) -> bool:
    return type(value) in (list, tuple) and len(value) <= _MOST_ENTRIES and all(map(is_number, value))


def _named(name: str, value: Any) -> dict[str, Any]:
    if is_number(value):
        return {name: int(value)}
    if is_tensor(value):
        return {name: described(value)}
    kind = {f"type({name})": _kind(value)} if name.isidentifier() and value is not None else {}
    if isinstance(value, (list, tuple, dict, str)) or _is_torchs_dataset(value):
        return {f"len({name})": len(value), **kind}
    return kind


def _is_torchs_dataset(value: Any) -> bool:
    """Whether a value is a subset, or a dataset of tensors, which only counts what it holds."""
    return type(value).__module__ == "torch.utils.data.dataset" and hasattr(type(value), "__len__")


def _kind(value: Any) -> str:
    """What a value is in its use: any layer is a module, any callable without a type of its own a function."""
    if isinstance(value, sys.modules["torch"].nn.Module):
        return "Module"
    if isinstance(value, float):
        return "number"
    if isinstance(value, (list, tuple)):
        return "sequence"
    return type(value).__name__ if not isinstance(value, type) else "class"


def _own_fields(value: Any) -> dict[str, Any]:
    """The fields of an object; none where it has no place for any. A bound method says that it has, and has not."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def _fields(name: str, value: Any) -> list[tuple[str, Any]]:
    """The fields of a plain object or dict by the source that names them; asks no property."""
    if _are_sizes(value):
        return [(f"{name}[{index}]", one) for index, one in enumerate(value)]
    if type(value) is dict:
        return [(f'{name}["{key}"]', one) for key, one in list(value.items())[:50] if isinstance(key, str)]
    if isinstance(value, (type(sys), int)):  # a number of ours carries its tree
        return []
    if isinstance(value, type):  # settings kept in a class
        return [(f"{name}.{key}", one) for key, one in list(vars(value).items())[:60] if is_number(one)]
    fields = _own_fields(value)
    shared = {key: one for key, one in vars(type(value)).items() if is_number(one)}  # settings of a class, made once
    held = {key: one for kind in ("_buffers", "_parameters", "_modules") for key, one in fields.get(kind, {}).items()}
    fields = {**shared, **fields, **held}
    return [(f"{name}.{key}", one) for key, one in list(fields.items())[:60] if not str(key).startswith("_")]
