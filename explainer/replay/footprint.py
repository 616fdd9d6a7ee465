"""What a forward keeps for backward, layer by layer: the model run again without data, in a sandboxed child.

All tensors are on the meta device, which has shapes but no memory, so that neither weights nor activations are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from explainer.wrappers import named_modules

#: Functions that move a tensor to another device, which a tensor without data must not follow.
_MOVES = ("cuda", "cpu", "xpu", "pin_memory")
#: More tensors than this are not counted.
MOST = 100_000


class Meta(TorchFunctionMode):
    """Makes every operation work on tensors without data, whatever device its operands or arguments name."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run a function of torch's with its operands, and where it asks for a device, on meta."""
        name = getattr(function, "__name__", "")
        if name in _MOVES:
            return args[0]
        args, kwargs = tree_map(without_data, args), tree_map(without_data, kwargs or {})
        if "device" in kwargs or name in _FACTORIES:
            kwargs["device"] = "meta"
        return function(*args, **kwargs)


_FACTORIES = (
    "zeros", "ones", "empty", "full", "rand", "randn", "randint", "arange", "linspace", "eye", "randperm", "tensor",
    "tril_indices", "triu_indices", "as_tensor", "scalar_tensor",
)  # fmt: skip


def without_data(value: Any) -> Any:
    """A tensor of the same shape, strides and dtype on meta; devices become meta; all else as it is."""
    if isinstance(value, torch.device):
        return torch.device("meta")
    if not isinstance(value, torch.Tensor) or value.device.type == "meta":
        return value
    made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return made.requires_grad_(value.requires_grad)


def measured(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Bytes that a call of a module keeps for backward: `bytes`, the largest `layers`, and `more` for twice the batch.

    `batch` is the size of the first dimension that the tensors among the arguments share; None where they share none,
    and then, or where the batch cannot be doubled, `more` is None.
    """
    total, layers = _kept(module, args, kwargs)
    sizes = {value.shape[0] for value in _tensors((args, kwargs)) if value.dim()}
    batch = sizes.pop() if len(sizes) == 1 else None
    more = None
    if batch:
        try:
            more, _ = _kept(module, *tree_map(lambda value: _doubled(value, batch), (args, kwargs)))
        except Exception:  # a batch size that is written down somewhere
            more = None
    largest = sorted(layers.items(), key=lambda one: -one[1])[:5]
    return {"bytes": total, "layers": largest, "batch": batch, "more": more}


def _tensors(values: Any) -> list[Any]:
    found: list[Any] = []
    tree_map(lambda value: found.append(value) if isinstance(value, torch.Tensor) else None, values)
    return found


def _doubled(value: Any, batch: int) -> Any:
    if not isinstance(value, torch.Tensor) or not value.dim() or value.shape[0] != batch:
        return value
    made = torch.empty((2 * batch, *value.shape[1:]), dtype=value.dtype, device="meta")
    return made.requires_grad_(value.requires_grad)


def _kept(module: Any, args: Any, kwargs: Any) -> tuple[int, dict[str, int]]:
    """Bytes kept by one call, in all and by the path of the layer at work."""
    mine = {_storage(value) for value in _emptied(module)}
    seen: dict[Any, Any] = {}
    layers: dict[str, int] = {}

    with _paths(module) as path:

        def keep(tensor: Any) -> Any:
            key = _storage(tensor)
            if key not in mine and key not in seen and len(seen) < MOST:
                seen[key] = tensor.untyped_storage()
                layers[path()] = layers.get(path(), 0) + tensor.untyped_storage().nbytes()
            return tensor

        args, kwargs = tree_map(without_data, (args, kwargs))
        with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), Meta():
            result = module(*args, **kwargs)
    del result
    return sum(layers.values()), layers


#: The weights that stand-ins took the place of: freeing memory of a GPU would be a call that a fork must not make.
_held: list[Any] = []


def _emptied(root: Any) -> list[Any]:
    """Put stand-ins without data in the place of a module's parameters and buffers; returns the stand-ins."""
    made: dict[int, Any] = {}
    for module in root.modules():
        for store in (module._parameters, module._buffers):
            for name, value in store.items():
                if value is not None:
                    _held.append(value)
                    store[name] = made.setdefault(id(value), without_data(value))
    return list(made.values())


def _storage(tensor: Any) -> int:
    return tensor.untyped_storage()._cdata


@contextmanager
def _paths(root: Any) -> Iterator[Callable[[], str]]:
    """Yields what tells the path of the innermost layer that is at work."""
    names = {id(module): name for name, module in named_modules(root)}
    stack = [""]
    before = torch.nn.modules.module.register_module_forward_pre_hook(
        lambda module, _: stack.append(names.get(id(module), stack[-1]))
    )
    after = torch.nn.modules.module.register_module_forward_hook(lambda *_: stack.__delitem__(-1))
    try:
        yield lambda: stack[-1]
    finally:
        before.remove()
        after.remove()
