"""Tensors and other values as facts: metadata only, so that a dead CUDA context or a meta tensor does no harm."""

from __future__ import annotations

from typing import Any

from explainer.diagnosis import Span
from explainer.facts import ModuleFact, Settings, TensorFact, ValueFact
from explainer.probes.values import fields_of, is_module, is_tensor, torch_module
from explainer.wrappers import class_of

#: Constructor settings worth a row, in the order of their constructors; other plain attributes follow.
FIRST = (
    "in_features",
    "out_features",
    "in_channels",
    "out_channels",
    "num_embeddings",
    "embedding_dim",
    "num_features",
    "normalized_shape",
    "num_channels",
    "num_groups",
    "input_size",
    "hidden_size",
    "bidirectional",
    "num_layers",
    "embed_dim",
    "num_heads",
    "kernel_size",
    "stride",
    "padding",
    "dilation",
    "groups",
    "output_padding",
    "batch_first",
    "bidirectional",
    "num_layers",
    "head_dim",
    "d_model",
    "reduction",
    "ignore_index",
    "start_dim",
    "end_dim",
    "scale_factor",
    "upscale_factor",
)


def fact_of(name: str, value: Any, span: Span | None = None) -> Any:
    """A value as a fact: tensor, module, plain value, or merely its type."""
    if is_tensor(value):
        return tensor_fact(name, value, span)
    if is_module(value):
        return module_fact(name, value, span)
    return ValueFact(name, type(value).__name__, _plain(value), span)


def tensor_fact(name: str, tensor: Any, span: Span | None = None) -> TensorFact:
    """A tensor's metadata. Never reads data; on a dead CUDA context this is all that still works."""
    torch = torch_module()
    node = _quiet(lambda: tensor.grad_fn)
    strided = tensor.layout == torch.strided
    return TensorFact(
        name,
        tuple(int(n) for n in tensor.shape),
        short(tensor.dtype),
        str(tensor.device),
        bool(tensor.requires_grad),
        bool(tensor.is_leaf),
        type(node).__name__ if node is not None else None,
        isinstance(tensor, torch.nn.Parameter),
        bool(_quiet(tensor.is_contiguous)) if strided else True,
        tuple(tensor.stride()) if strided else (),
        tensor.numel() * tensor.element_size(),
        span,
        "DTensor" if type(tensor).__name__ == "DTensor" else "",
    )


def module_fact(name: str, module: Any, span: Span | None = None, path: str = "", root: str = "") -> ModuleFact:
    """A layer's configuration from its own plain attributes, and where its first parameter lies."""
    own = fields_of(module)
    first = next((p for p in (own.get("_parameters") or {}).values() if p is not None), None)
    device, dtype = (str(first.device), short(first.dtype)) if first is not None else (None, None)
    short_name = name.rsplit(".", 1)[-1] if name.startswith("self.") else name
    training = bool(own.get("training", True))
    return ModuleFact(short_name, class_of(module).__name__, path, root, settings(own), training, device, dtype, span)


#: What tells something of an RNN only where it is not as usual.
TELLING = {"bidirectional": False, "num_layers": 1}


def settings(own: dict[str, Any]) -> Settings:
    """The plain attributes of a layer, the well-known ones first; private ones and flags of the base class left out."""
    plain = {
        name: _plain(value)
        for name, value in own.items()
        if not name.startswith("_") and name not in ("training", "call_super_init") and _plain(value) is not None
    }
    first = [name for name in FIRST if name in plain and (name not in TELLING or plain[name] != TELLING[name])]
    order = dict.fromkeys([*first, *plain])
    return Settings(tuple((name, plain[name]) for name in order))


def short(dtype: Any) -> str:
    """`float32` of `torch.float32`."""
    return str(dtype).removeprefix("torch.")


def _plain(value: Any) -> Any:
    """Ints, floats, bools, dtypes, short tuples of them, and a short identifier-like string; None for all else."""
    if type(value) in (int, float, bool):
        return value
    if type(value) is str and len(value) <= 40 and value.replace("_", "").replace("-", "").isalnum():
        return value
    if type(value) in (tuple, list) or type(value).__name__ == "Size":
        items = tuple(_plain(item) for item in tuple(value)[:9])
        return items if len(items) <= 8 and None not in items else None
    if type(value).__name__ == "dtype":
        return short(value)
    return None


def _quiet(read: Any) -> Any:
    try:
        return read()
    except Exception:
        return None
