"""Candidates that compute in floating point what takes no other dtype, and give the result the dtype that came."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.lines import changed
from explainer.edits.place import as_primary
from explainer.edits.search_dtype import CASTS
from explainer.edits.slices import editable, operands

#: Calls whose results hold none but the values that they were given, so that whole numbers stay whole.
_CHOOSING = (
    "interpolate", "upsample", "max_pool", "adaptive_max_pool", "pad", "grid_sample", "unfold", "fold", "median",
    "kthvalue", "cummax", "cummin", "amax", "amin", "flip", "roll",
)  # fmt: skip
#: Dtypes in which a processor leaves some calls out.
_SHORT = ("float16", "bfloat16")


def there_and_back(evidence: Evidence) -> Iterator[Candidate]:
    """`F.interpolate(mask, size)` -> `F.interpolate(mask.float(), size).long()`: class ids that must stay whole."""
    crash, every = evidence.crash, operands(evidence)
    call, first = (crash.place, every[0]) if crash is not None and every else (None, None)
    if crash is None or call is None or first is None or first.place is None or not editable(call):
        return
    method = CASTS.get(first.dtype, f"to(torch.{first.dtype})")
    chooses = crash.function.startswith(_CHOOSING) and not first.dtype.startswith(("float", "complex"))
    if chooses or first.dtype in _SHORT:
        changes = [(first.place.span, f"{as_primary(first.place)}.float()"), (call.end, f".{method}")]
        edits = partial(changed, call.source, changes)
        yield from evidence.made(edits, "cast", call, "there-and-back", what=first.text[:48], method=method)
