"""The two modes of the stand-in: what operators do with devices, and what Python asks of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from explainer.replay.standin.places import ANYWHERE, CPU, note, numbered, place, put, storages, tensors

#: Operators that take tensors of two devices: they copy, or want one argument on the CPU.
_ACROSS = ("copy_", "_copy_from", "_pack_padded_sequence", "set_", "_to_copy", "_local_scalar_dense")
#: Those whose indices may lie on the CPU.
_INDEXED = ("index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put")
#: The modes that are in force.
held: list[Any] = []
#: Something, while what runs would run in a fork.
forked: list[bool] = []
_TO = torch._C.TensorBase.to
#: What goes before the switches in the form of `x.to(...)` that names a device.
_PLACED = ("device", "dtype")
#: How many calls are under way by which the program makes tensors from nothing.
_making = [0]
#: The kind of device of the generator that the last call was given: operators get it without what it is said to be.
_drawing: list[str] = []


def enter(count: int) -> None:
    """Put both modes in force, and have torch's own Python functions ask them."""
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.") and name not in ("torch.overrides", "torch._tensor"):
            for check in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
                if check in vars(module):
                    setattr(module, check, _no)
    held.extend([Operators(), Calls(count)])
    for mode in held:
        mode.__enter__()


def leave() -> None:
    """Take them away, the last one first."""
    while held:
        held.pop().__exit__(None, None, None)


def _no(*_: Any) -> bool:
    """In the place of `has_torch_function`: the body of a function of torch's runs, and its calls meet the modes."""
    return False


class Operators(TorchDispatchMode):
    """Each operator's tensors must be on one device; what it makes is there too."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: torch would import its compiler for that, which takes seconds."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        given = list(tensors([*args, *kwargs.values()]))
        device = _met(func, given) if given else CPU if _making[0] else ANYWHERE
        if kwargs.get("device") is not None and kwargs["device"].type == "cuda":
            device, kwargs["device"] = numbered(kwargs["device"]), CPU
        _drawn_on(device, kwargs)
        result = func(*args, **kwargs)
        if device != CPU:
            own = storages(given)
            put([one for one in tensors(result) if not storages([one]) <= own], device)
        return result


def _met(func: Any, given: list[torch.Tensor]) -> torch.device:
    """The device on which an operator runs; RuntimeError where its tensors are on several."""
    name = func.__name__.partition(".")[0]
    places = [note(one) for one in given]
    if name in _ACROSS:
        return places[0]
    if name in _INDEXED:
        return _indexed(places)
    known = [one for one in places if one is not ANYWHERE]
    found = next((one for one in known if one.type == "cuda"), CPU if known else ANYWHERE)
    for one, where in zip(given, places, strict=True):
        if where is ANYWHERE:
            put(one, found)
        elif where != found and not (where == CPU and one.dim() == 0):
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {found} and {where}!"
            )
    return found


def _indexed(places: list[torch.device]) -> torch.device:
    first, *others = places
    if any(one not in (CPU, ANYWHERE, first) for one in others if first is not ANYWHERE):
        raise RuntimeError(f"indices should be either on {first} or on the same device as the indexed tensor ({first})")
    return first


class Calls(TorchFunctionMode):
    """What Python asks about devices, and the calls that name one."""

    def __init__(self, count: int):
        self.count, self.used = count, False
        super().__init__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, func = kwargs or {}, _own(func)
        special = _SPECIAL.get(_name(func))
        if special is not None and args and isinstance(args[0], torch.Tensor):
            return special(self, func, args, kwargs)
        device = kwargs.get("device") or _default(func)
        if kwargs.get("generator") is not None:
            _drawing[:] = [kwargs["generator"].device.type]
        if device is None or not _is_cuda(device):
            return _called(func, args, kwargs)
        self.must_exist(device)
        _drawn_on(numbered(device), kwargs)
        return put(_called(func, args, {**kwargs, "device": CPU}), numbered(device))

    def must_exist(self, device: Any) -> None:
        """RuntimeError for the number of a GPU that is not there, and in a fork of a process that has used one."""
        if forked and self.used:
            raise RuntimeError(
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
                "'spawn' start method"
            )
        self.used = self.used or not forked
        if numbered(device).index >= self.count:
            kind = getattr(torch, "AcceleratorError", RuntimeError)
            raise kind("CUDA error: invalid device ordinal")


def _called(func: Any, args: Any, kwargs: Any) -> Any:
    """What a call gives; one that is given no tensor makes them, and means the CPU where it names no device."""
    if next(tensors([*args, *kwargs.values()]), None) is not None:
        return func(*args, **kwargs)
    _making[0] += 1
    try:
        return func(*args, **kwargs)
    finally:
        _making[0] -= 1


def _default(func: Any) -> Any:
    """The default device, for what makes tensors: torch's own mode for that names it to operators of CUDA only."""
    context = getattr(getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None), "device_context", None)
    return context.device if context is not None and func in torch.utils._device._device_constructors() else None


def _drawn_on(device: torch.device, given: Any) -> None:
    """RuntimeError for random numbers on one device that a generator of another is to draw."""
    wanted = "cuda" if device.type == "cuda" else "cpu"
    of = _drawing.pop() if given.get("generator") is not None and _drawing else wanted
    if of != wanted:
        raise RuntimeError(f"Expected a '{wanted}' device type for generator but found '{of}'")


def _own(func: Any) -> Any:
    """Torch's own function, where a recorder stands in its place: that one has seen the call."""
    while hasattr(func, "__wrapped__"):
        func = func.__wrapped__
    return func


def _name(func: Any) -> str:
    """A function's name; of a property, with a dot before it."""
    name = getattr(func, "__name__", "")
    return f".{getattr(func.__self__, '__name__', '')}" if name == "__get__" else name


def _is_cuda(device: Any) -> bool:
    if isinstance(device, (str, torch.device)):
        return str(device).startswith("cuda")
    return isinstance(device, int) and not isinstance(device, bool)


# --- what is asked, and what moves


def _device_of(mode: Calls, func: Any, args: Any, kwargs: Any) -> Any:
    return place(args[0])


def _is_on_cuda(mode: Calls, func: Any, args: Any, kwargs: Any) -> bool:
    return place(args[0]).type == "cuda"


def _is_on_cpu(mode: Calls, func: Any, args: Any, kwargs: Any) -> bool:
    return place(args[0]).type == "cpu"


def _number(mode: Calls, func: Any, args: Any, kwargs: Any) -> int:
    found = place(args[0]).index
    return -1 if found is None else found


def _to(mode: Calls, func: Any, args: Any, kwargs: Any) -> Any:
    """`x.to(...)`: a copy where the device changes, as it is there."""
    tensor, asked = args[0], _asked(args[1:], kwargs)
    if asked is None:  # torch says what is wrong with them
        return func(*args, **kwargs)
    where = asked.pop("device", None)
    target = numbered(where) if where is not None else place(tensor)
    if target.type == "cuda":
        mode.must_exist(target)
    return _moved(func, tensor, target, asked)


def _asked(given: Any, named: Any) -> dict[str, Any] | None:
    """The arguments of `x.to(...)` by name, in whichever of its three forms they came; None where in none."""
    first = given[0] if given else None
    form = ("other",) if isinstance(first, torch.Tensor) else ("dtype",) if isinstance(first, torch.dtype) else _PLACED
    names = (*form, "non_blocking", "copy")
    if len(given) > len(names):
        return None
    asked = {**dict(zip(names, given, strict=False)), **named}
    other = asked.pop("other", None)
    if other is not None:
        asked.update(device=place(other), dtype=other.dtype)
    return {name: value for name, value in asked.items() if value is not None}


def _moved(func: Any, tensor: torch.Tensor, target: torch.device, asked: Any) -> Any:
    if place(tensor) == target:
        return put_beside(func(tensor, **asked), tensor) if asked else tensor
    if target.type not in ("cpu", "cuda"):
        return func(tensor, target, **asked)
    changed = func(tensor, CPU, **asked)
    copied = changed.clone() if changed.untyped_storage()._cdata == tensor.untyped_storage()._cdata else changed
    return put(copied, target)


def put_beside(result: Any, tensor: torch.Tensor) -> Any:
    """A result that is where the tensor is of which it was made."""
    return put(result, place(tensor)) if result is not tensor else result


def _cuda(mode: Calls, func: Any, args: Any, kwargs: Any) -> Any:
    given = [*args[1:], *kwargs.values()]
    device = next((one for one in given if one is not None and not isinstance(one, (bool, torch.memory_format))), 0)
    mode.must_exist(device)
    return _moved(_TO, args[0], numbered(device), {})


def _cpu(mode: Calls, func: Any, args: Any, kwargs: Any) -> Any:
    return _moved(_TO, args[0], CPU, {})


def _numpy(mode: Calls, func: Any, args: Any, kwargs: Any) -> Any:
    where = place(args[0])
    if where.type == "cuda":
        raise TypeError(
            f"can't convert {where} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    return func(*args, **kwargs)


def _beside(mode: Calls, func: Any, args: Any, kwargs: Any) -> Any:
    return put_beside(func(*args, **kwargs), args[0])


def _pinned(mode: Calls, func: Any, args: Any, kwargs: Any) -> Any:
    if place(args[0]).type == "cuda":
        kind = torch.Tensor.type(args[0]).replace("torch.", "torch.cuda.", 1)
        raise RuntimeError(f"cannot pin '{kind}' only dense CPU tensors can be pinned")
    return args[0]


def _backward(mode: Calls, func: Any, args: Any, kwargs: Any) -> Any:
    """With the modes in force, for hooks and functions of the user's."""
    tensor, *rest = args
    names = ("gradient", "retain_graph", "create_graph", "inputs")
    given = {**dict(zip(names, rest, strict=False)), **kwargs}
    with mode:
        return torch.autograd.backward(
            tensor,
            given.get("gradient"),
            given.get("retain_graph"),
            given.get("create_graph", False),
            inputs=given.get("inputs"),
        )


_SPECIAL: dict[str, Callable[[Calls, Any, Any, Any], Any]] = {
    ".device": _device_of,
    ".is_cuda": _is_on_cuda,
    ".is_cpu": _is_on_cpu,
    "get_device": _number,
    "to": _to,
    "cuda": _cuda,
    "cpu": _cpu,
    "numpy": _numpy,
    "__array__": _numpy,
    "__deepcopy__": _beside,
    "pin_memory": _pinned,
    "backward": _backward,
}
