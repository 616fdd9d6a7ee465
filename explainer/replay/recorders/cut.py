"""The recorder of cuts: which call took a tensor that requires grad and gave one that does not, upstream of a root."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from explainer.replay.reached import Reached
from explainer.replay.recorders.record import Site, here, name_of, tensors_in
from explainer.replay.recorders.values import those

_MOST = 8
#: Calls that read about a tensor and hand on none of its values.
_METADATA = frozenset(
    """
    size dim stride numel is_contiguous shape dtype device requires_grad grad_fn is_leaf ndim __len__ is_floating_point
    is_complex grad _version layout backward __repr__ zeros_like ones_like empty_like rand_like randn_like full_like
    new_zeros new_ones new_empty new_full register_hook retain_grad requires_grad_ nelement element_size type get_device
    is_cuda is_sparse is_quantized data_ptr storage untyped_storage __hash__ __format__ _is_view is_same_size is_nonzero
    __bool__ share_memory_ is_inference isfinite isnan
    """.split()  # noqa: SIM905
)
#: Calls that make a tensor of numbers or arrays.
_MAKERS = frozenset(["tensor", "as_tensor", "asarray", "FloatTensor", "Tensor"])
_LEAVES = frozenset(["item", "tolist", "numpy", "__array__", "__float__", "__int__", "cpu_numpy", "__index__"])


@dataclass
class _Cut:
    function: str
    site: Site
    enabled: bool
    inference: bool
    input: tuple[tuple[int, ...], str]
    many: bool = False
    remade: bool = False


class Traced(float):
    """A number read from a tensor, which keeps track of the cuts that it came through."""

    cuts: frozenset[int] = frozenset()

    def backward(self, *_: Any, **__: Any) -> None:
        """A number taken for a loss: here the program failed."""
        raise Reached([self])

    def _made(self, value: Any, other: Any) -> Any:
        if value is NotImplemented:
            return value
        return traced(value, self.cuts | getattr(other, "cuts", frozenset()))


def traced(value: float, cuts: frozenset[int]) -> Traced:
    """A number with its cuts."""
    number = Traced(value)
    number.cuts = cuts
    return number


def _operator(name: str) -> Any:
    plain = getattr(float, name)
    return lambda self, *other: self._made(plain(self, *other), other[0] if other else self)


for _sign in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "neg", "abs"):
    setattr(Traced, f"__{_sign}__", _operator(f"__{_sign}__"))


class Cut(TorchFunctionMode):
    """Watches where values leave the graph while a window runs; `result` names those that reached the roots."""

    def __init__(self, number: bool = False) -> None:
        super().__init__()
        self.number = number  # what backward was called on is no tensor
        self.cuts: list[_Cut] = []
        self.of: dict[int, frozenset[int]] = {}
        self.kept: list[Any] = []
        self.outside: list[int] = []

    def __enter__(self) -> Cut:
        self.patched = contextlib.ExitStack()
        for owner, name in ((torch, "from_numpy"), (torch.Tensor, "detach")):
            self.patched.enter_context(self._watched(owner, name))
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.patched.close()

    @contextlib.contextmanager
    def _watched(self, owner: Any, name: str) -> Iterator[None]:
        """`from_numpy` is invisible to function modes: its result takes over the cuts of what left for numpy."""
        plain = getattr(owner, name)
        if name == "from_numpy":

            def replaced(array: Any) -> Any:
                out = plain(array)
                self._carry(out, frozenset(self.outside))
                return out

            setattr(owner, name, replaced)
        try:
            yield
        finally:
            setattr(owner, name, plain)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note the call where a graph ends in it, and carry on the cuts that its inputs came through."""
        kwargs = kwargs or {}
        name = _name(func)
        out = func(*args, **kwargs)
        if name in _METADATA:
            return out
        inputs = list(tensors_in(args, kwargs))
        results = list(tensors_in(out))
        if any(result.requires_grad for result in results):
            return out
        came = self._came(inputs, args, kwargs, name)
        wanted = [tensor for tensor in inputs if tensor.requires_grad]
        if wanted and (results or name in _LEAVES) and not _same(results, inputs):
            self.cuts.append(_cut(name, wanted[0], args))
            came |= {len(self.cuts) - 1}
        if not came:
            return out
        if name in _MAKERS and results and not wanted:
            self.cuts.append(replace(_cut(name, results[0], args), remade=True))
            came |= {len(self.cuts) - 1}
        if name in ("numpy", "__array__", "tolist"):
            self.outside = [*dict.fromkeys([*self.outside, *came])]
        for result in results:
            self._carry(result, came)
        return traced(out, came) if type(out) is float else out

    def _came(self, inputs: list[Any], args: Any, kwargs: Any, name: str) -> frozenset[int]:
        came: frozenset[int] = frozenset()
        for tensor in inputs:
            came |= self.of.get(id(tensor), frozenset())
        for value in those((args, kwargs), Traced):
            came |= value.cuts
        if name in _MAKERS and not came and _from_outside(args):
            came |= frozenset(self.outside)
        return came

    def _carry(self, tensor: Any, cuts: frozenset[int]) -> None:
        if cuts:
            self.kept.append(tensor)  # its id stays its own
            self.of[id(tensor)] = self.of.get(id(tensor), frozenset()) | cuts

    def crashes(self, roots: list[Any]) -> bool:
        """Whether backward of these tensors fails: one of them has no graph."""
        return not all(root.requires_grad for root in roots)

    def result(self, roots: list[Any]) -> list[dict[str, Any]] | None:
        """The cuts that lie between the roots and what requires grad, the first that happened first."""
        found = sorted({index for root in roots for index in self._behind(root)})
        return [_described(self.cuts[index]) for index in found[:_MOST]] or None

    def _behind(self, root: Any) -> frozenset[int]:
        return root.cuts if isinstance(root, Traced) else self.of.get(id(root), frozenset())

    def unreached(self) -> list[dict[str, Any]] | None:
        """The cut that made a number of the loss where all numbers and arrays were read on one line; else None."""
        read = [one for one in self.cuts if one.function in _LEAVES]
        read = read or [one for one in self.cuts if one.function in ("detach", "data")]
        alone = len({one.site.frames[:1] for one in read}) == 1
        return [_described(read[0])] if self.number and alone else None


def _cut(name: str, tensor: Any, args: Any) -> _Cut:
    many = bool(args) and isinstance(args[0], (list, tuple))
    enabled, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    return _Cut(name, here(2), enabled, inference, (tuple(tensor.shape), _dtype(tensor)), many)


def _name(func: Any) -> str:
    """The function's name; of a property (`data.__get__`) the property's."""
    name = name_of(func)
    if func is torch.autograd.grad:
        return "autograd.grad"
    owner = getattr(func, "__self__", None)
    return str(getattr(owner, "__name__", name)) if name in ("__get__", "__set__") else name


def _same(results: list[Any], inputs: list[Any]) -> bool:
    return bool(results) and all(any(result is one for one in inputs) for result in results)


def _from_outside(args: Any) -> bool:
    """Whether a tensor is made of an array or of numbers, which may have come from a tensor."""
    numpy = sys.modules.get("numpy")
    first = args[0] if args else None
    if isinstance(first, (list, tuple)) and first:
        first = first[0]
    return isinstance(first, (float, *((numpy.ndarray, numpy.generic) if numpy is not None else ())))


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _described(cut: _Cut) -> dict[str, Any]:
    return {
        "function": cut.function, "enabled": cut.enabled, "inference": cut.inference,
        "shape": list(cut.input[0]), "dtype": cut.input[1], "many": cut.many, "remade": cut.remade,
        **cut.site.data(),
    }  # fmt: skip
