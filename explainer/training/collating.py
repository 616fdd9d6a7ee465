"""Whether a program's own `collate_fn` keeps together what belongs to one sample, told by the values themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence

from explainer.training.deep import unseen

#: Batches of a loader that are compared; batches larger than that are not.
_BATCHES, _ROWS = 4, 256
#: How many of its first values tell a sample from others.
_VALUES = 512
#: One part of every sample, as flat values; None where it is nothing that has numbers.
Values = list[torch.Tensor]


def install(watcher: Any, iterator: Any) -> None:
    """Compare the first batches that an iterator in this process makes with the samples that they are made of."""
    fetcher = getattr(iterator, "_dataset_fetcher", None)
    own: Any = getattr(fetcher, "collate_fn", None)
    code = getattr(own, "__code__", None)
    if fetcher is None or code is None or "site-packages" in code.co_filename:
        return
    compared = watcher.collated.setdefault(code, [])

    def collate(samples: Any) -> Any:
        batch = own(samples)
        if len(compared) < _BATCHES and torch.is_grad_enabled():
            try:
                with unseen():
                    compared.append(taken_apart(samples, batch))
            except (RuntimeError, TypeError, ValueError, LookupError):  # samples of different kinds, no plain numbers
                compared.append(None)
            except Exception as error:
                watcher.failed(error)
        return batch

    if len(compared) < _BATCHES:
        fetcher.collate_fn = collate


def taken_apart(samples: Any, batch: Any) -> tuple[Any, Any] | None:
    """The places in a batch of two parts of the samples that do not stand in one order; None where all do.

    A part that the batch holds twice, as mixing samples asks for, is not looked at.
    """
    if not isinstance(samples, (list, tuple)) or not 2 < len(samples) <= _ROWS:
        return None
    known = [values for values in _parts(samples) if values is not None]
    found: dict[int, list[tuple[Any, list[int], Values]]] = {}
    for place, out in batch.items() if isinstance(batch, dict) else enumerate(batch) if _listed(batch) else ():
        for rows in _rows(out, len(samples)):
            for number, values in enumerate(known):
                order = _order(rows, values)
                if order is not None:
                    found.setdefault(number, []).append((place, order, rows))
    return _parted({number: outs[0] for number, outs in found.items() if len(outs) == 1}, known)


def _parted(single: dict[int, tuple[Any, list[int], Values]], known: list[Values]) -> tuple[Any, Any] | None:
    """Two parts of which one says whose row is whose, and the other has rows of other samples there."""
    for number, (place, order, _) in single.items():
        for other, (beside, _, rows) in single.items():
            shown = zip(rows, order, strict=True)
            together = other == number or all(_begins(row, known[other][at]) for row, at in shown)
            if not together and _distinct(known[number]):
                return place, beside
    return None


def _distinct(values: Values) -> bool:
    return not any(_begins(one, other) for at, one in enumerate(values) for other in values[:at])


def _order(rows: Values, values: Values) -> list[int] | None:
    """Which sample each row shows, that of the same number where several would do; None where a row shows none."""
    left, order = set(range(len(values))), []
    for at, row in enumerate(rows):
        fits = next((one for one in (at, *sorted(left)) if one in left and _begins(row, values[one])), None)
        if fits is None:
            return None
        left.remove(fits)
        order.append(fits)
    return order


def _begins(row: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether a row shows a sample's values, and what pads them: one value."""
    many = value.numel()
    return 0 < many <= row.numel() and torch.equal(row[:many], value) and bool((row[many:] == row[-1]).all())


def _parts(samples: Any) -> Iterator[Values | None]:
    first = samples[0]
    keys: Any = first.keys() if isinstance(first, dict) else range(len(first)) if _listed(first) else ()
    for key in keys:
        values = [_flat(one[key]) for one in samples]
        yield None if any(one is None for one in values) else values  # type: ignore[misc]


def _rows(out: Any, many: int) -> Iterator[Values]:
    """What a batch shows of each sample: along its first dimension, or along the second."""
    if isinstance(out, PackedSequence):
        out = torch.nn.utils.rnn.unpack_sequence(out)
    if isinstance(out, torch.Tensor) and not out.is_complex():
        if out.dim() and len(out) == many:
            yield [_values(one) for one in out]
        elif out.dim() > 1 and out.shape[1] == many:
            yield [_values(out[:, at]) for at in range(many)]
    elif _listed(out) and len(out) == many:
        flat = [_flat(one) for one in out]
        if not any(one is None for one in flat):
            yield flat  # type: ignore[misc]


def _listed(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not isinstance(value, PackedSequence)


def _flat(value: Any) -> torch.Tensor | None:
    try:
        made = value if isinstance(value, torch.Tensor) else torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return None
    return _values(made) if made.is_cpu and not made.is_complex() else None


def _values(held: torch.Tensor) -> torch.Tensor:
    return held.detach().reshape(-1)[:_VALUES].double()
