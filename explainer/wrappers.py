"""Modules that torch puts around a model (DDP, FSDP, its compiler), which no name of a layer or parameter shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

#: What the wrappers of torch hold, by their class (torch/distributed/checkpoint/state_dict.py, `_get_fqns`).
_HELD = {
    "DataParallel": "module",
    "DistributedDataParallel": "module",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "OptimizedModule": "_orig_mod",
    "ActivationWrapper": "_checkpoint_wrapped_module",
}
#: Parts of names that only wrappers add.
_ADDED = {one for one in _HELD.values() if one.startswith("_")}


def held(module: Any) -> Any:
    """The module that a wrapper of torch's was put around; None for any other module."""
    names = (_HELD.get(kind.__name__) for kind in type(module).__mro__ if kind.__module__.startswith("torch."))
    name = next((one for one in names if one), None)
    return _layers(module).get(name) if name is not None else None


def bare(module: Any) -> Any:
    """A module without the wrappers around it."""
    while (inner := held(module)) is not None:
        module = inner
    return module


def levels(module: Any) -> int:
    """How many wrappers are around a module."""
    inner = held(module)
    return 0 if inner is None else 1 + levels(inner)


def named_modules(root: Any) -> Iterator[tuple[str, Any]]:
    """A module and those below it with their paths, wrappers too, each under the path of what it holds."""
    yield from _named("", root, set())


def named_parameters(root: Any) -> Iterator[tuple[str, Any]]:
    """The parameters of a module and of those below it, by the names that the model without its wrappers has."""
    for path, module in named_modules(root):
        own: Mapping[str, Any] = module.__dict__.get("_parameters") or {}
        yield from ((_parameter(path, name, one, module), one) for name, one in own.items() if one is not None)


def class_of(module: Any) -> type:
    """The class that the program gave a module: FSDP puts one of its own before it."""
    kinds = type(module).__mro__
    return kinds[2] if len(kinds) > 2 and kinds[1].__name__ == "FSDPModule" else type(module)


def class_name(module: Any) -> str:
    """The class of a module without the wrappers around it."""
    return class_of(bare(module)).__name__


def _parameter(path: str, name: str, parameter: Any, module: Any) -> str:
    """A parameter's name. Of one that FSDP made of several: what their names have in common, else their module's."""
    own: Mapping[str, Any] = getattr(parameter, "__dict__", {})
    if own.get("_is_flat_param"):
        rows = [[one for one in each.split(".") if one not in _ADDED] for each in own["_fqns"]]
        name = ".".join(row[0] for row in takewhile(lambda row: len(set(row)) == 1, zip(*rows)))  # noqa: B905
    return ".".join(filter(None, (path, name))) or class_name(module)


def _named(path: str, module: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    if id(module) in seen:
        return
    seen.add(id(module))
    yield path, module
    inner = held(module)
    if inner is not None:
        yield from _named(path, inner, seen)
        return
    for name, child in list(_layers(module).items()):
        if child is not None:
            yield from _named(f"{path}.{name}" if path else name, child, seen)


def _layers(module: Any) -> Mapping[str, Any]:
    return getattr(module, "__dict__", {}).get("_modules") or {}
