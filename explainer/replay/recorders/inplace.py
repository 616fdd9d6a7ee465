"""The recorder of in-place writes: which operation kept a value for backward, and which line wrote over it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from explainer.replay.recorders.record import Site, here, name_of, nodes, tensors_in

_MOST = 12


@dataclass
class _Saved:
    """A tensor that autograd kept: as it was given to the pack hook, with the writes that came after."""

    tensor: Any
    version: int
    site: Site
    parameter: bool
    writes: list[_Write] = field(default_factory=list)


@dataclass
class _Write:
    function: str
    site: Site


class Inplace(TorchFunctionMode):
    """Watches versions and saved tensors while a window runs; `result` names what went stale on the root's graph.

    A function mode, not a dispatch mode: versions rise only after a dispatch mode has returned.
    """

    def __init__(self) -> None:
        super().__init__()
        self.saved: list[_Saved] = []
        self.by_storage: dict[int, list[int]] = {}
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack)
        self.read: list[int] = []

    def __enter__(self) -> Inplace:
        self.hooks.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.hooks.__exit__(*error)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compare the versions of all arguments before and after the call."""
        kwargs = kwargs or {}
        if name_of(func) == "__get__":
            return func(*args, **kwargs)
        given = [(tensor, _version(tensor)) for tensor in tensors_in(args, kwargs)]
        before = len(self.saved)
        out = func(*args, **kwargs)
        written = [tensor for tensor, version in given if _version(tensor) != version]
        if written:
            write = _Write(name_of(func), here())
            for storage in {_storage(tensor) for tensor in written}:
                for index in self.by_storage.get(storage, ()):
                    # What the call itself saved after its write is not stale.
                    if index < before:
                        self.saved[index].writes.append(write)
        return out

    def _pack(self, tensor: Any) -> int:
        index = len(self.saved)
        self.saved.append(_Saved(tensor, _version(tensor), here(), isinstance(tensor, torch.nn.Parameter)))
        self.by_storage.setdefault(_storage(tensor), []).append(index)
        return index

    def _unpack(self, index: int) -> Any:
        self.read.append(index)
        return self.saved[index].tensor

    def crashes(self, roots: list[Any]) -> bool:
        """Whether backward of these tensors meets a stale value."""
        return self.result(roots) is not None

    def result(self, roots: list[Any]) -> list[dict[str, Any]] | None:
        """The stale values that backward of the roots would meet, in the order in which it would; None where none."""
        stale = []
        for node in nodes(roots):
            for attribute, index in self._kept(node):
                if self.saved[index].writes and self._truly_stale(index):
                    stale.append((node, attribute, self.saved[index]))
        stale.sort(key=lambda one: -one[0]._sequence_nr())
        return [_described(*one) for one in stale[:_MOST]] or None

    def _kept(self, node: Any) -> list[tuple[str, int]]:
        """The records behind a node's saved values, by the name under which it keeps each."""
        kept = []
        for name in [name for name in dir(node) if name.startswith("_saved_")] or ["saved_tensors"]:
            self.read.clear()
            try:
                getattr(node, name, None)
            except RuntimeError:  # freed by a backward of the window itself
                continue
            kept += [(name.removeprefix("_saved_"), index) for index in self.read]
        return kept

    def _truly_stale(self, index: int) -> bool:
        """A write through `.data` does not count; of outputs autograd hands the hook a tensor without the counter."""
        record = self.saved[index]
        return record.tensor.grad_fn is None or _version(record.tensor) != record.version


class Stepped(Inplace):
    """The same with gradients of zero where the crash left none: those with which an optimizer stepped are cleared."""

    def see(self, frames: Any) -> None:
        """Give the parameters of the optimizers in the user's frames the gradients that they lack."""
        for optimizer in _optimizers(frames):
            for parameter in (one for group in optimizer.param_groups for one in group["params"]):
                if parameter.requires_grad and parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)


def _optimizers(frames: Any) -> list[torch.optim.Optimizer]:
    held = [value for frame in frames for value in frame.locals.values()]
    held += [value for one in held for value in getattr(one, "__dict__", {}).values()]
    return [one for one in held if isinstance(one, torch.optim.Optimizer)]


def _described(node: Any, attribute: str, record: _Saved) -> dict[str, Any]:
    first = record.writes[0]
    return {
        "node": node.name(), "attribute": attribute, "shape": list(record.tensor.shape),
        "dtype": str(record.tensor.dtype).removeprefix("torch."), "parameter": record.parameter,
        "holder": _holder(record), "kept": record.site.data(),
        "writes": [{"function": first.function, **first.site.data()}, *_later(record)],
    }  # fmt: skip


def _later(record: _Saved) -> list[dict[str, Any]]:
    """Later writes from other lines, each line once."""
    seen, later = {_line(record.writes[0])}, list[Any]()
    for write in record.writes[1:]:
        if _line(write) not in seen and len(later) < 5:
            seen.add(_line(write))
            later.append({"function": write.function, **write.site.data()})
    return later


def _line(write: _Write) -> tuple[str, int]:
    code, _, line = write.site.frames[0] if write.site.frames else (None, 0, 0)
    return (code.co_filename if code else "", line)


def _holder(record: _Saved) -> dict[str, str] | None:
    """The parameter or buffer whose memory was kept: looked for in the modules that were running."""
    storage = _storage(record.tensor)
    for module in reversed((*record.site.modules, *(m for write in record.writes[:3] for m in write.site.modules))):
        for kind in ("buffers", "parameters"):
            for name, held in getattr(module, f"named_{kind}")(recurse=False):
                if _storage(held) == storage:
                    return {"kind": kind.removesuffix("s"), "name": name, "type": type(module).__name__}
    return None


def _version(tensor: Any) -> int:
    return 0 if tensor.is_inference() else tensor._version


def _storage(tensor: Any) -> int:
    try:
        return tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):  # sparse, or without storage
        return id(tensor)
