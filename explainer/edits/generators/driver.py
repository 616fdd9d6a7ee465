"""Generic candidates for a family, from a recording of the failing program: the driver of the generators."""

from __future__ import annotations

import dataclasses
import importlib
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from explainer.diagnosis import FixSource
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, evidence_of
from explainer.edits.generators.tiers import TIERS

#: The tier of the generators that speak only where one thing can be meant. It goes before all others.
CERTAIN = -1
#: Families whose generators read the program's source; the others start from the torch call that failed.
WITHOUT_CALL = ("dataloader", "checkpoint", "api")
_log = logging.getLogger(__name__)
Generator = Callable[[Evidence], Iterator[Candidate]]


def found_in(evidence: Evidence, family: str, limit: int = 400) -> Iterator[Candidate]:
    """The candidates of a family's generators for what a recording shows, tier by tier."""
    if evidence.crash is None and family not in WITHOUT_CALL:
        return
    seen: set[Any] = set()
    for tier, generators in enumerate(generators_of(family), CERTAIN):
        for candidate in offered_by(generators, evidence):
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


def generators_of(family: str) -> list[list[Generator]]:
    """The generators of a family in tiers."""
    return [named(row) for row in TIERS.get(family, ())]


def named(names: str) -> list[Generator]:
    """The generators of a row of names, `sizes.arriving layout.structural`."""
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
    """The name of a generator as `tiers` has it."""
    function = getattr(generator, "func", generator)
    return f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__.lstrip('_')}"
