"""What may wrongly stand in the place of a right argument: `corrupt.py` makes wrong calls from it.

Every value is given as a function that makes it, since many cannot be made of a given sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Make = Callable[[], Any]


def spoiled(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Callable[[], Arguments]]:
    """The arguments of a call with one of them spoiled, left out, or one too many."""
    for place, value in enumerate(args):
        for make in instead(value):
            yield lambda place=place, make=make: ((*args[:place], make(), *args[place + 1 :]), kwargs)
    for name, value in kwargs.items():
        for make in instead(value):
            yield lambda name=name, make=make: (args, {**kwargs, name: make()})
    yield from map(_just, [(args[:-1], kwargs), ((*args, 1), kwargs), ((), kwargs)])
    yield from (_just((args, {**kwargs, **extra})) for extra in _extras())


def instead(value: Any) -> Iterator[Make]:
    """Values of another dtype, rank, size, layout, sign or type."""
    import torch

    yield from map(_just, [None, "a", -1, 1.5])
    if isinstance(value, torch.Tensor):
        yield from _tensors(value.detach())
    elif isinstance(value, bool):
        yield _just(2)
    elif isinstance(value, int):
        yield from map(_just, [0, -100, 100, value + 1, 1 << 40, value + 0.5, (value, value), []])
    elif isinstance(value, float):
        yield from map(_just, [0.0, -2.5, 7.0, float("nan"), float("inf"), 1j])
    elif isinstance(value, str):
        yield from map(_just, ["nope", "", 1])
    elif isinstance(value, torch.dtype):
        yield from map(_just, [torch.int8, torch.float16, torch.complex64, torch.bool])
    elif isinstance(value, (list, tuple)):
        yield from _lists(value)


def _tensors(value: Any) -> Iterator[Make]:
    yield from _dtypes(value)
    yield from _ranks(value)
    yield from _sizes(value)
    yield from _values(value)
    yield from _layouts(value)


def _dtypes(value: Any) -> Iterator[Make]:
    import torch

    names = "int32 int64 bool float16 float64 complex64 uint16"
    yield from (lambda name=name: value.to(getattr(torch, name)) for name in names.split())


def _ranks(value: Any) -> Iterator[Make]:
    yield from (lambda: value.unsqueeze(0), lambda: value[None, None, None], lambda: value[0], lambda: value.flatten())
    yield from (lambda: value.new_ones(()), lambda: value.new_ones((1,) * 7), lambda: value.expand(3, *value.shape))


def _sizes(value: Any) -> Iterator[Make]:
    yield from (lambda: value[..., :-1], lambda: value[:-1], lambda: value[:0], lambda: value.new_empty(0))
    yield from (lambda: value.new_ones(7), lambda: value.new_ones(5, 3), lambda: value.mT)
    yield from (lambda: value.repeat(2, *[1] * (value.dim() - 1)), lambda: value.repeat(*[1] * (value.dim() - 1), 3))


def _values(value: Any) -> Iterator[Make]:
    yield from (lambda: -value.abs() - 9, lambda: value * 0, lambda: value + 1000, value.tolist, value.numpy)


def _layouts(value: Any) -> Iterator[Make]:
    import torch

    yield from (lambda: value.to("meta"), value.to_sparse, value.to_sparse_csr, lambda: value.float().requires_grad_())
    yield lambda: torch.quantize_per_tensor(value.float(), 0.1, 0, torch.quint8)
    yield lambda: torch.nested.nested_tensor([value.float(), value.float()])


def _lists(value: Any) -> Iterator[Make]:
    kind = type(value)
    yield from map(_just, [kind(), kind(value[:-1]), kind([*value, *value[:1]]), kind([*value[:1], *value[:1]])])
    for make in instead(value[0] if value else 1):
        yield lambda make=make: kind([make(), *value[1:]])


def _extras() -> Iterator[dict[str, Any]]:
    """Keywords that many operators know and that are wrong for nearly all of them."""
    import torch

    outs = (torch.empty(2, dtype=torch.int8), torch.empty(9, 9).t(), 1, torch.empty(1).expand(4))
    yield from ({"dim": one} for one in (100, -100, 1.5, (0, 0), (0, 1, 2, 3, 4, 5), "a", ()))
    yield from ({"out": one} for one in outs)
    yield from ({"dtype": one} for one in (torch.int8, torch.complex64, "float", torch.quint8))
    yield from ({"device": "nowhere"}, {"reduction": "all"}, {"nope": 1}, {"keepdim": "a"})
    yield {"layout": torch.sparse_csr}


def _just(value: Any) -> Make:
    return lambda: value
