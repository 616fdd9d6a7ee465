"""What torch says to wrong calls that are made from right ones: one argument of a sample of its tests is spoiled.

Each operator runs in a forked child with limits of time and memory; what it had raised until one ended it is kept.
`harvest.py --spoil` uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from apart import Call, child, limit
from spoil import Arguments, spoiled

from explainer.crash import Raised

#: Seconds of processor time, and bytes of address space beyond the parent's, that one operator may take.
SECONDS, BYTES = 10, 6 << 30
SAMPLES = 2
Sample = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def of_operator(info: Any) -> Iterator[Sample]:
    """The sample inputs of an `OpInfo`, with its function and its in-place variant."""
    import torch

    dtype = next((one for one in (torch.float32, torch.int64, torch.bool) if one in info.dtypes), torch.float32)
    for number, one in enumerate(info.sample_inputs("cpu", dtype)):
        yield info.op, (one.input, *one.args), dict(one.kwargs)
        if number == 0 and info.inplace_variant:
            yield info.inplace_variant, (one.input, *one.args), dict(one.kwargs)


def of_module(info: Any) -> Iterator[Sample]:
    """The sample inputs of a `ModuleInfo`: its constructor, and a call of what that made."""
    import torch

    settings = {"device": "cpu", "dtype": torch.float32, "requires_grad": False, "training": True}
    for one in info.module_inputs_func(info, **settings):
        made, call = one.constructor_input, one.forward_input
        yield info.module_cls, made.args, made.kwargs
        if call is not None:
            yield info.module_cls(*made.args, **made.kwargs), call.args, call.kwargs


def chosen(samples: Iterator[Sample]) -> list[Sample]:
    """The first samples, and of the next ones that with the most keywords; none where they cannot be made."""
    try:
        given = list(islice(samples, 40))
    except Exception:
        return []
    return given[:SAMPLES] + sorted(given[SAMPLES:], key=lambda one: len(one[2]))[-1:]


def errors(samples: Iterator[Sample]) -> Iterator[Raised]:
    """The distinct errors of spoiled samples, until one ends their child process."""
    rows, _ = child(lambda: _calls(samples), seconds=2 * SECONDS)
    yield from {(error.type, error.message): error for _, error in rows if error is not None}.values()


def _calls(samples: Iterator[Sample]) -> Iterator[Call]:
    """The spoiled calls; run in the child, which they bound. Wrong arguments that cannot be made are no case."""
    limit(SECONDS, BYTES)
    for function, args, kwargs in chosen(samples):
        for arguments in spoiled(args, kwargs):
            try:
                given = arguments()
            except Exception:
                continue
            if _has_self(function, given):
                yield "", lambda function=function, given=given: function(*given[0], **given[1])


def _has_self(function: Callable[..., Any], given: Arguments) -> bool:
    """Whether a method of tensors still gets a tensor to act on."""
    import torch

    return type(function).__name__ != "method_descriptor" or isinstance(next(iter(given[0]), None), torch.Tensor)
