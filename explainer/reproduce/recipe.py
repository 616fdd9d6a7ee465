"""What a repro needs to know of a value: metadata, frozen and plain, taken from a live object."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.probes.values import is_module, is_tensor, torch_module

#: How many entries of a list, and how many levels of lists, are looked at.
ENTRIES, LEVELS = 64, 4
#: Integer tensors of more elements than this keep their range to themselves.
RANGED = 10**7
_SAID = Pattern(r"[\w .,>*-]{0,60}")


@frozen
class Tensor:
    """A tensor's metadata. `low` and `high` are the range of an integer tensor on the CPU, None where unknown.

    `stride` is in elements and None where the tensor is contiguous. `leaf` tells a leaf from a result.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    device: str = "cpu"
    stride: tuple[int, ...] | None = None
    grad: bool = False
    leaf: bool = True
    parameter: bool = False
    low: int | None = None
    high: int | None = None
    layout: str = "strided"

    @property
    def bytes(self) -> int:
        """About how much memory a tensor of this shape takes, with 8 bytes an element."""
        return 8 * math.prod(self.shape)


@frozen
class Plain:
    """A value whose source is known: an int, a slice, a dtype, `None`."""

    source: str


@frozen
class Items:
    """A tuple, list or dict; `keys` are the sources of a dict's keys."""

    kind: str
    items: tuple[Any, ...]
    keys: tuple[str, ...] = ()


@frozen
class Layer:
    """A layer of torch: the source of its constructor, and tensors that its arguments name."""

    source: str


Recipe = Tensor | Plain | Items | Layer


def recipe_of(value: Any, level: int = 0) -> Recipe | None:
    """The recipe of a live value; None where metadata does not suffice to make one like it. Runs no user code."""
    if is_tensor(value):
        return tensor_recipe(value)
    if is_module(value):
        from explainer.reproduce.layers import layer_source

        source = layer_source(value)
        return Layer(source) if source else None
    if type(value) in (tuple, list, dict) or type(value).__name__ == "Size":
        return _items(value, level)
    source = plain_source(value)
    return Plain(source) if source is not None else None


def tensor_recipe(tensor: Any) -> Tensor | None:
    """A tensor's metadata, and the range of an integer tensor on the CPU; None for a nested or quantized one."""
    torch = torch_module()
    if tensor.is_nested or tensor.is_quantized or type(tensor).__name__.startswith("Uninitialized"):
        return None
    strided = tensor.layout == torch.strided
    low, high = _range(tensor) if strided else (None, None)
    stride = tuple(tensor.stride()) if strided and not tensor.is_contiguous() else None
    return Tensor(
        tuple(int(n) for n in tensor.shape), str(tensor.dtype).removeprefix("torch."), str(tensor.device), stride,
        bool(tensor.requires_grad), bool(tensor.is_leaf), isinstance(tensor, torch.nn.Parameter), low, high,
        str(tensor.layout).removeprefix("torch."),
    )  # fmt: skip


def _range(tensor: Any) -> tuple[int | None, int | None]:
    """Smallest and largest value of an integer tensor on the CPU, the only data that is ever looked at."""
    torch = torch_module()
    plain = tensor.dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
    if not plain or tensor.device.type != "cpu" or not 0 < tensor.numel() <= RANGED:
        return None, None
    low, high = torch.aminmax(tensor.detach())
    return int(low), int(high)


def _items(value: Any, level: int) -> Items | None:
    if len(value) > ENTRIES or level >= LEVELS:
        return None
    keys: list[Any] = []
    if type(value) is dict:
        keys = [plain_source(key) for key in value]
        value = list(value.values())
        kind = "dict"
    else:
        kind = "list" if type(value) is list else "tuple"
    items = tuple(recipe_of(item, level + 1) for item in value)
    return None if None in items or None in keys else Items(kind, items, tuple(keys))


def plain_source(value: Any) -> str | None:
    """The source of a plain argument: numbers, flags, dtypes, devices, slices, short words; None for all else."""
    if value is None or value is Ellipsis or type(value) in (bool, int, complex):
        return "..." if value is Ellipsis else repr(value)
    if type(value) is float:
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if type(value) is str:
        return f'"{value}"' if _SAID.fullmatch(value) else None
    if type(value) is slice:
        return _slice(value)
    if type(value).__name__ in ("dtype", "layout", "memory_format") and type(value).__module__ == "torch":
        return str(value)
    if type(value).__name__ == "device" and type(value).__module__ == "torch":
        return f'torch.device("{value}")'
    return None


def _slice(value: slice) -> str | None:
    parts = [plain_source(part) for part in (value.start, value.stop, value.step)]
    return None if None in parts else f"slice({', '.join(str(part) for part in parts)})"


def encoded(recipe: Recipe | None) -> Any:
    """A recipe as JSON data."""
    if isinstance(recipe, Items):
        return ["Items", {**asdict(recipe), "items": [encoded(item) for item in recipe.items]}]
    return None if recipe is None else [type(recipe).__name__, asdict(recipe)]


def decoded(data: Any) -> Recipe | None:
    """The recipe that `encoded` made JSON of."""
    if data is None:
        return None
    kind, fields = data
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    if kind == "Items":
        fields["items"] = tuple(decoded(item) for item in fields["items"])
    return {"Tensor": Tensor, "Plain": Plain, "Items": Items, "Layer": Layer}[kind](**fields)


def tensors_of(recipes: Mapping[str, Recipe] | Sequence[Recipe]) -> list[Tensor]:
    """All tensors among recipes, those in lists too."""
    found: list[Tensor] = []
    for one in recipes.values() if isinstance(recipes, Mapping) else recipes:
        if isinstance(one, Tensor):
            found.append(one)
        elif isinstance(one, Items):
            found += tensors_of(one.items)
    return found
