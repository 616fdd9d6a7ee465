"""Generic candidates for a family, from a recording of the failing program: the driver of the generators."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, evidence_of

#: The tier of the generators that speak only where one thing can be meant. It goes before all others.
CERTAIN = -1
Generator = Callable[[Evidence], Iterator[Candidate]]


def search(scene: Any, family: str, limit: int = 400) -> Iterator[Candidate]:
    """Candidates of the generic generators for a family, best first; none without a recording of the program.

    Candidates of one tier are equally likely before they are run; a lower tier that holds is preferred to a higher.
    """
    evidence = recorded(scene)
    if evidence is not None:
        yield from found_in(evidence, family, limit)


def found_in(evidence: Evidence, family: str, limit: int = 400) -> Iterator[Candidate]:
    """The candidates of a family's generators for what a recording shows, tier by tier."""
    if evidence.crash is None and family != "dataloader":
        return
    seen: set[Any] = set()
    for tier, generators in enumerate(generators_of(family), CERTAIN):
        for candidate in _all(generators, evidence):
            if candidate.edits not in seen and len(seen) < limit:
                seen.add(candidate.edits)
                yield dataclasses.replace(candidate, tier=tier)


def recorded(scene: Any) -> Evidence | None:
    """The recording of an unedited run, read; None where the program cannot be run again."""
    return scene.once("recording", lambda: _recorded(scene))


def _recorded(scene: Any) -> Evidence | None:
    from explainer.replay.programs import checker
    from explainer.replay.trial import whole_program

    if not whole_program(scene):
        return None
    recording = checker(scene).record()
    return evidence_of(recording, scene) if recording else None


def generators_of(family: str) -> Sequence[Sequence[Generator]]:
    """The generators of a family in tiers."""
    from explainer.edits import (
        search_batch,
        search_collate,
        search_cropped,
        search_device,
        search_dtype,
        search_einsum,
        search_index,
        search_layout,
        search_literals,
        search_loops,
        search_padding,
        search_samples,
        search_sizes,
        search_state,
        search_view,
    )  # fmt: skip

    shape = [
        [search_sizes.named_norm, search_padding.fallen_short, search_state.batch_second, search_state.by_channel],
        [
            search_layout.structural,
            search_einsum.relettered,
            search_cropped.cropped,
            search_batch.reshaped,
            search_batch.resized_view,
            search_batch.created,
        ],
        [search_sizes.rounded, search_sizes.arriving],
        [
            search_layout.inserted,
            search_sizes.advanced,
            search_loops.carried,
            search_loops.counted_up,
            search_padding.strided,
            search_literals.one_off,
            search_literals.in_text,
        ],
        [search_padding.padded, search_sizes.factored],
        [search_layout.resized, search_sizes.expected, search_sizes.passed_down, search_index.dimensions],
        [search_layout.swapped],
        [search_literals.neighbours],
        [search_literals.swapped_sizes],
    ]
    dtype = [
        [search_dtype.loaded],
        [search_samples.cast_samples, search_dtype.structural],
        [search_dtype.casts],
        [search_dtype.other_casts, search_layout.swapped],
    ]
    return {
        "shape": shape,
        "view": [[], [search_view.copied, search_view.windows], *shape],
        "dtype": dtype,
        "unsupported": dtype,
        "amp": dtype,
        "index": [
            [],
            [search_samples.shortened, search_samples.counted_from_one],
            [
                search_index.dimensions,
                search_index.made,
                search_index.lengths,
                search_index.shifted,
                search_index.ignored,
            ],
            [search_index.ranged, search_index.terms],
            [search_index.inlined],
            [search_index.enlarged, search_index.lengthened],
            *shape[2:],
        ],
        "device": [
            [],
            [search_device.moved_layer, search_device.beside],
            [search_device.created],
            [search_device.used],
            [search_device.pinned],
        ],
        "dataloader": [[], [search_samples.shortened, search_collate.present, search_layout.structural]],
    }.get(family, [])


def _all(generators: Iterable[Generator], evidence: Evidence) -> Iterator[Candidate]:
    """The candidates of several generators; one that trips over unforeseen syntax yields no more."""
    for generator in generators:
        try:
            yield from generator(evidence)
        except (AttributeError, LookupError, TypeError, ValueError):
            continue
