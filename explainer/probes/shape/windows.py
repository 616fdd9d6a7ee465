"""Layers that need room in their input: windows larger than the map, batches of one under batch normalisation."""

from __future__ import annotations

from typing import Any

from explainer.facts import Settings, SpanFact
from explainer.probes import probe
from explainer.probes.dataloader.datasets import loader_of
from explainer.probes.dataloader.loops import loader_in_loop, made_by
from explainer.probes.module import below_user, root_module
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_tensor


@probe
def sliding_window(scene: Scene) -> Settings | None:
    """The first dimension in which a convolution's or pooling's window is larger than its padded input.

    `axis` counts from 0 with the batch; `reach` is the window's extent, dilation included: dilation * (kernel - 1) + 1.
    Gives `kernel`, `dilation`, `padding`, `size`, `padded` of that dimension, and how many spatial `dims` there are.
    """
    found = below_user(scene)
    layer, args = (found[-1].module, found[-1].args) if found else (None, ())
    kind = type(layer).__name__
    if not kind.startswith(("Conv", "MaxPool", "AvgPool")) or "Transpose" in kind or not args or not is_tensor(args[0]):
        return None
    own, dims, shape = fields_of(layer), int(kind[-2]), tuple(int(n) for n in args[0].shape)
    named = ("kernel_size", "dilation", "padding")
    each = [_each(own.get(name, 1 if name == "dilation" else 0), dims) for name in named]
    if None in each or len(shape) not in (dims + 1, dims + 2) or own.get("ceil_mode"):
        return None
    for place, (kernel, dilation, padding) in enumerate(zip(*each, strict=True)):
        axis = len(shape) - dims + place
        reach, padded = dilation * (kernel - 1) + 1, shape[axis] + 2 * padding
        if reach > padded:
            values = {"axis": axis, "kernel": kernel, "dilation": dilation, "padding": padding, "dims": dims}
            return Settings(tuple({**values, "size": shape[axis], "padded": padded, "reach": reach}.items()))
    return None


def _each(value: Any, dims: int) -> tuple[int, ...] | None:
    """A setting for each spatial dimension; None for padding given in words."""
    if type(value) is int:
        return (value,) * dims
    return tuple(value) if type(value) is tuple and len(value) == dims else None


@probe
def last_batch(scene: Scene) -> SpanFact | None:
    """The DataLoader call that made the loader in use, whose dataset leaves one sample for the last batch.

    `detail`: `samples`, `batch_size`; None unless the stack, a loop or a frame's variables show which loader it is.
    """
    loader = loader_of(scene) or loader_in_loop(scene)
    own = fields_of(loader) if loader is not None else {}
    size, dataset = own.get("batch_size"), own.get("dataset")
    if type(size) is not int or size < 2 or own.get("drop_last"):
        return None
    samples = _samples(dataset)
    if samples is None or samples % size != 1:
        return None
    made = made_by(scene, loader)
    return span_fact(*made, samples=samples, batch_size=size) if made is not None else None


def _samples(dataset: Any) -> int | None:
    """How many samples a dataset of torch's own holds; None for others, whose `__len__` is the user's code."""
    own, kind = fields_of(dataset), type(dataset).__name__
    if kind == "TensorDataset" and own.get("tensors"):
        return len(own["tensors"][0])
    if kind == "Subset" and type(own.get("indices")) in (list, tuple, range):
        return len(own["indices"])
    return None


@probe
def samples_in_columns(scene: Scene, of: Any = None) -> Settings | None:
    """What shows that a layer's input has its features before its samples or steps.

    Of a matrix another tensor of the user's frames with as many rows as the input has columns (`kind` labels), of three
    dimensions a Conv1d of the model with as many output channels as dimension 1 (`kind` conv). Gives its `name`.
    """
    tensor: Any = scene.objects.get(of.name) if of is not None else None
    root = root_module(scene)
    if not is_tensor(tensor) or tensor.dim() not in (2, 3) or scene.live is None:
        return None
    if tensor.dim() == 3:
        layers = {path: one for path, one in _layers(root) if type(one).__name__ == "Conv1d"}
        made = [path for path, one in layers.items() if fields_of(one).get("out_channels") == tensor.shape[1]]
        return Settings((("kind", "conv"), ("name", made[-1]))) if made else None
    rows, columns = tensor.shape
    for frame in scene.live.user:
        for name, value in frame.locals.items():
            if is_tensor(value) and value.dim() in (1, 2) and value.shape[0] == columns and columns not in (rows, 1):
                return Settings((("kind", "labels"), ("name", name)))
    return None


def _layers(root: Any) -> list[tuple[str, Any]]:
    """All layers below a module with their paths, each once."""
    found, stack, seen = [], [("", root)] if root is not None else [], set()
    while stack:
        path, one = stack.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        found.append((path, one))
        children = fields_of(one).get("_modules") or {}
        stack += [(f"{path}.{name}" if path else name, child) for name, child in children.items()]
    return found
