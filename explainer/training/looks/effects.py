"""Calls whose effect is lost: results that nobody takes, additions to one entry of which only the last one stays."""

from __future__ import annotations

import dis
import functools
import types

import torch

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep

#: Operations that are there in place too, under their name with an underscore; `detach` and the like change no value.
TWINS = tuple(
    name for name in dir(torch.Tensor)
    if not name.startswith("_") and hasattr(torch.Tensor, f"{name}_") and name not in ("detach", "requires_grad")
)  # fmt: skip
#: More indices than this are not looked through.
_MOST = 1 << 20


@looks(*TWINS)
def result_dropped(deep: Deep, call: Call) -> None:
    """`weight.lerp(other, 0.1)` as a statement: what it computes goes nowhere."""
    owner = call.args[0] if call.args else None
    if call.site and call.out is not owner:
        frame = call.site[0]
        if _dropped(frame.code, frame.lasti):
            weights = isinstance(owner, torch.nn.Parameter) and call.out.grad_fn is None  # which are to be set
            deep.watcher.notes.saw("result-dropped", call.site, name=call.name, weights=weights)


@functools.lru_cache(4096)
def _dropped(code: types.CodeType, lasti: int) -> bool:
    """Whether what the instruction hands back is thrown away by the next one."""
    row = (dis.opname[one] for one in code.co_code[lasti + 2 :: 2])  # taking all of it apart would take far longer
    return next((name for name in row if name != "CACHE"), "") == "POP_TOP"


@looks("__setitem__")
def additions_lost(deep: Deep, call: Call) -> None:
    """`total[index] += value` where an index stands more than once: each is set, and only the last one stays."""
    index = call.args[1] if len(call.args) == 3 else None
    columns = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(one, torch.Tensor) and one.dtype in (torch.int64, torch.int32) and one.dim() == 1
               for one in columns) or len({len(one) for one in columns}) != 1:  # fmt: skip
        return
    rows = len(columns[0])
    if not 1 < rows < _MOST:
        return
    apart = len(torch.unique(torch.stack(columns), dim=1)[0])
    if apart < rows:
        total, value = call.args[0], call.args[2]
        alike = isinstance(value, torch.Tensor) and len(value) == rows if getattr(value, "ndim", 0) else False
        row = alike and len(columns) == 1 and value.dim() == total.dim()
        deep.watcher.notes.saw("additions-lost", call.site, rows=rows, apart=apart, row=row)
