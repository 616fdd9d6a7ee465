"""The constructor call that makes a layer like a live one, from the layer's own plain attributes."""

from __future__ import annotations

import inspect
from typing import Any

from explainer.probes.values import MISSING, fields_of

#: Flags that the presence of a parameter tells.
_PRESENT = {"bias": ("bias", "in_proj_bias"), "add_bias_kv": ("bias_k",), "elementwise_affine": ("weight",)}
_RECURRENT = (
    ("input_size", inspect.Parameter.empty), ("hidden_size", inspect.Parameter.empty), ("num_layers", 1),
    ("nonlinearity", "tanh"), ("bias", True), ("batch_first", False), ("dropout", 0.0), ("bidirectional", False),
    ("proj_size", 0),
)  # fmt: skip
_NEVER = ("device", "dtype", "size_average", "reduce", "self", "args", "kwargs")


def torch_class(module: Any) -> type | None:
    """The class of torch's own that a layer is, or is derived from; None for a layer that only the user has."""
    for kind in type(module).__mro__:
        if kind.__module__.startswith("torch.nn.modules."):
            return kind if kind.__module__.rsplit(".", 1)[-1] not in ("module", "container") else None
    return None


def layer_source(module: Any) -> str | None:
    """`nn.Linear(400, 120)`, with `.to(...)` and `.eval()` where the layer is not as made; None for other layers.

    Tensors among the arguments (class weights) become ones. Buffers and trained values are left out.
    """
    kind = torch_class(module)
    if kind is None:
        return None
    given = _arguments(module, kind)
    if given is None:
        return None
    return f"nn.{kind.__name__}({given}){_moved(module)}{'' if module.training else '.eval()'}"


def _arguments(module: Any, kind: type) -> str | None:
    """The constructor's arguments: required ones by position, others by name where they differ from the default."""
    said = []
    for name, parameter in _parameters(kind).items():
        if name in _NEVER or name.startswith("_"):
            continue
        value = _value(module, name)
        required = parameter.default is inspect.Parameter.empty
        source = _source(value, name != "normalized_shape")
        if source is None and required:
            return None
        if source is not None and required:
            said.append(source)
        elif source is not None and not _same(value, parameter.default):
            said.append(f"{name}={source}")
    return ", ".join(said)


def _parameters(kind: type) -> dict[str, inspect.Parameter]:
    """The constructor's parameters; those of recurrent layers, which take `*args`, as documented."""
    if kind.__module__.endswith(".rnn") and hasattr(kind, "flatten_parameters"):
        kind_of = inspect.Parameter.KEYWORD_ONLY
        return {name: inspect.Parameter(name, kind_of, default=value) for name, value in _RECURRENT}
    return dict(inspect.signature(kind).parameters)


def _value(module: Any, name: str) -> Any:
    own = fields_of(module)
    parameters = {**own.get("_parameters", {}), **own.get("_buffers", {})}
    for present in _PRESENT.get(name, ()):
        if present in parameters:
            return parameters[present] is not None
    if name in own:
        return own[name]
    return parameters.get(name, MISSING)


def _source(value: Any, repeated: bool = True) -> str | None:
    from explainer.probes.values import is_tensor
    from explainer.reproduce.recipe import plain_source

    if value is MISSING:
        return None
    if is_tensor(value):
        return f"torch.ones({', '.join(str(size) for size in value.shape) or '()'})"
    if type(value) in (tuple, list) and value:
        return _sizes(value, repeated)
    return plain_source(value)


def _sizes(value: Any, repeated: bool) -> str | None:
    """A tuple; one number where all are the same (a kernel of (3, 3)), unless it would mean something else."""
    if type(value[0]) is int and (len(value) == 1 or (repeated and len(set(value)) == 1)):
        return str(value[0])
    parts = [_source(part) for part in value]
    return None if None in parts else f"({', '.join(str(part) for part in parts)}{',' if len(parts) == 1 else ''})"


def _same(value: Any, default: Any) -> bool:
    if type(value) in (tuple, list) and type(default) is int:
        return all(part == default for part in value)
    return type(value) is type(default) and value == default


def _moved(module: Any) -> str:
    first = next((p for p in fields_of(module).get("_parameters", {}).values() if p is not None), None)
    if first is None:
        return ""
    device, dtype = str(first.device).removesuffix(":0"), str(first.dtype)
    words = [f'"{device}"'] if device != "cpu" else []
    words += [dtype] if dtype != "torch.float32" else []
    return f".to({', '.join(words)})" if words else ""
