"""Generic candidates for a family, from a recording of the failing program: the driver of the generators."""

from __future__ import annotations

import dataclasses
import importlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from explainer.diagnosis import FixSource
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, evidence_of

#: Families whose generators read the program's source; the others start from the torch call that failed.
WITHOUT_CALL = ("dataloader", "checkpoint", "api")
#: The generators of each family, `module.function`, with a tier each: the lower, the surer.
_SHAPE = {
    "calls.exchanged": -1,
    "upstream.undone": -1,
    "sizes.other_end": -1,
    "layout.steps_first": -1,
    "directions.joined": -1,
    "collate.filled": 0,
    "collate.collated": 0,
    "squeezed.columns": -1,
    "view.outgrown": 0,
    "squeezed.squeezed": 0,
    "layers.around": -1,
    "layers.over_channels": 0,
    "layout.channels_first": 0,
    "batch.reshaped": 0,
    "batch.resized_view": 0,
    "batch.created": 0,
    "ordered.read_early": -1,
    "ordered.computed_early": 0,
    "joined.caught_up": 0,
    "joined.batches": 0,
    "beside.step_missing": 0,
    "padding.short": 1,
    "padding.upsized": 1,
    "padding.long": 1,
    "calls.own_named": 1,
    "sizes.named_out": 1,
    "counted.one_more": 1,
    "counted.one_too_many": 1,
    "sizes.advanced": 1,
    "sizes.arriving": 1,
    "upstream.untransposed": 2,
    "layout.inserted": 2,
    "literals.one_off": 2,
    "literals.built": 1,
    "padding.padded": 3,
    "batch.left_out": 3,
    "sizes.expected": 4,
    "sizes.own_layers": 4,
}
_DTYPE = {
    "dtype.complex_weights": -1,
    "dtype.filled": -1,
    "dtype.started": -1,
    "dtype.structural": 0,
    "dtype.registered": 0,
    "converted.converted": 1,
    "casts.entering": 1,
}
GENERATORS: Mapping[str, Mapping[str, int]] = {
    "shape": _SHAPE,
    "view": {"view.copied": 0, "view.windows": 0, **_SHAPE},
    "dtype": _DTYPE,
    "unsupported": _DTYPE,
    "amp": _DTYPE,
    "index": {
        "ordered.read_early": -1,
        "ordered.computed_early": -1,
        "squeezed.columns": -1,
        "signs.as_classes": -1,
        "signs.marked": -1,
        "casts.as_index": 0,
        "counted.behind_start": 0,
        "index.ignored": -1,
        "index.told_to_ignore": -1,
        "counts.distinct": -1,
        "index.made": 1,
        "index.lengths": 1,
        "index.shifted": 1,
        "index.ranged": 2,
        "index.enlarged": 3,
        **{name: tier + 3 for name, tier in _SHAPE.items() if tier > 0},
    },
    "autograd": {"dtype.magnitudes": -1},
    "device": {"device.nested": -1, "device.together": -1, "device.created": 0},
    "oom": {
        "pairs.unfolded": -1,
        "pairs.distances": -1,
        "counts.sparse": -1,
        "counts.numbered": 0,
        "pairs.row_by_row": 0,
        "counts.largest": 1,
        "counts.factors": 1,
    },
    "dataloader": {
        "datasets.counted_alike": -1,
        "datasets.measured": -1,
        "datasets.deeper": -1,
        "datasets.named": -1,
        "datasets.present": -1,
        "datasets.as_tensors": -1,
        "collate.padded_lists": 0,
        "beside.step_missing": 0,
        "collate.plain_parts": 1,
        "collate.filled": 0,
        "collate.collated": 1,
        "loading.drawn_there": 0,
        "loading.in_batches": 0,
        "loading.in_this_process": 0,
        "loading.of_subset": 1,
        "loading.per_sample": 1,
        "collate.kept": 2,
    },
    "api": {
        "calls.exchanged": -1,
        "calls.own_named": -1,
        "calls.built_first": -1,
        "calls.together": -1,
        "calls.unpacked": -1,
        "loading.per_sample": 0,
        "calls.uncalled": 0,
    },
    "checkpoint": {
        "saved.with_buffers": -1,
        "saved.cached_apart": -1,
        "saved.folder_made": -1,
        "saved.saved_key": -1,
        "saved.method_called": -1,
        "saved.saved_path": -1,
        "loading.plain_values": 0,
        "loading.fitting": 0,
        "loading.entry": 0,
    },
}
_log = logging.getLogger(__name__)
Generator = Callable[[Evidence], Iterator[Candidate]]


def found_in(evidence: Evidence, family: str, limit: int = 400) -> Iterator[Candidate]:
    """The candidates of a family's generators for what a recording shows, the surest first."""
    if evidence.crash is None and family not in WITHOUT_CALL:
        return
    seen: set[Any] = set()
    for name, tier in GENERATORS.get(family, {}).items():
        for candidate in offered_by(named(name), evidence):
            if candidate.edits not in seen and len(seen) < limit:
                seen.add(candidate.edits)
                yield dataclasses.replace(candidate, tier=tier)


def recorded(scene: Any) -> Evidence | None:
    """The recording of an unedited run, read; None where the program cannot be run again."""
    return scene.once("recording", lambda: _recorded(scene))


def _recorded(scene: Any) -> Evidence | None:
    from explainer.replay.programs import checker
    from explainer.replay.trial import whole_program, whole_script

    if not (whole_program(scene) or whole_script(scene)):
        return None
    made = checker(scene)
    recording = made.record()
    return evidence_of(recording, made) if recording else None


def named(names: str) -> list[Generator]:
    """The generators of some names, `dtype.structural casts.entering`."""
    return [_generator(name) for name in names.split()]


def _generator(name: str) -> Generator:
    module, function = name.split(".")
    found: Generator = getattr(importlib.import_module(f"explainer.edits.generators.{module}"), function)
    return found


def offered_by(generators: Iterable[Generator], evidence: Evidence) -> Iterator[Candidate]:
    """The candidates of several generators; one that trips over unforeseen syntax yields no more."""
    for generator in generators:
        source = FixSource("generator", _name(generator))
        try:
            for one in generator(evidence):
                yield dataclasses.replace(one, source=source.at(one.culprit))
        except (ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError, ValueError):
            _log.debug("%s gave up", generator.__name__, exc_info=True)


def _name(generator: Any) -> str:
    """The name of a generator as `GENERATORS` has it."""
    function = getattr(generator, "func", generator)
    return f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__.lstrip('_')}"
