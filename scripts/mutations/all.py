"""Every operator, and the mutants that they make of a program, in an order that a seed decides."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from mutations import dtypes, graphs, inplace, layout, ranges, sizes
from mutations.mutant import Change, Mutant, broken
from mutations.programs import Program, Source

Operator = Callable[[Program, Source], Iterator[Change]]
#: What breaks code of any style.
ANYWHERE: tuple[Operator, ...] = (
    sizes.arguments,
    layout.dropped,
    layout.doubled,
    layout.dimensions,
    layout.joined,
    dtypes.dropped_casts,
    dtypes.added_casts,
    dtypes.other_dtypes,
    dtypes.on_meta,
    dtypes.not_moved,
    inplace.augmented,
    inplace.twins,
    inplace.inserted,
    graphs.cuts,
    graphs.grad_mode,
    graphs.dropped_detach,
    ranges.subscripts,
    ranges.longer,
)
OPERATORS: tuple[Operator, ...] = (
    *ANYWHERE,
    sizes.literals,
    sizes.swapped,
    inplace.weights,
    inplace.stepped,
    graphs.frozen,
    graphs.twice,
    graphs.not_scalar,
    ranges.shifted,
    ranges.unguarded,
    ranges.samples,
    ranges.saved,
    ranges.renamed,
    ranges.broadcast,
)


def mutants(program: Program, operators: Sequence[Operator] = OPERATORS) -> dict[str, list[Mutant]]:
    """All different mutants of a program, by kind."""
    found: dict[str, list[Mutant]] = {}
    seen = set()
    for source, change in (one for some in changes(program, operators).values() for one in some):
        mutant = broken(program, source, change)
        if mutant is not None and mutant.name not in seen:
            seen.add(mutant.name)
            found.setdefault(mutant.kind, []).append(mutant)
    return found


def changes(program: Program, operators: Sequence[Operator] = OPERATORS) -> dict[str, list[tuple[Source, Change]]]:
    """What can be broken in a program, by kind; some changes are none, or the same as others."""
    found: dict[str, list[tuple[Source, Change]]] = {}
    for operator in operators:
        for source in program.sources:
            for change in operator(program, source):
                found.setdefault(change.kind, []).append((source, change))
    return found


def drawn(
    all_programs: list[Program], seed: int, kind: str = "", operators: Sequence[Operator] = OPERATORS
) -> Iterator[Mutant]:
    """Mutants without end of the list: kinds and programs take turns, so that a first part is as mixed as the whole."""
    chance = random.Random(seed)
    queues, seen = [], set()
    for program in all_programs:
        for name, some in sorted(changes(program, operators).items()):
            if kind in name:
                chance.shuffle(some)
                queues.append((program, some))
    while queues:
        chance.shuffle(queues)
        for program, queue in queues:
            mutant = _next(program, queue, seen)
            if mutant is not None:
                seen.add(mutant.name)
                yield mutant
        queues = [(program, queue) for program, queue in queues if queue]


def _next(program: Program, queue: list[tuple[Source, Change]], seen: set[str]) -> Mutant | None:
    """The next mutant of a queue that is none of those seen."""
    while queue:
        mutant = broken(program, *queue.pop())
        if mutant is not None and mutant.name not in seen:
            return mutant
    return None
