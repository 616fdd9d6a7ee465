"""Every operator, and the mutants that they make of a program, in an order that a seed decides."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from mutations import dtypes, graphs, inplace, layout, ranges, sizes
from mutations.mutant import Change, Mutant, broken
from mutations.programs import Program, Source

Operator = Callable[[Program, Source], Iterator[Change]]
OPERATORS: tuple[Operator, ...] = (
    sizes.literals,
    sizes.arguments,
    sizes.swapped,
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
    inplace.weights,
    inplace.stepped,
    graphs.cuts,
    graphs.grad_mode,
    graphs.frozen,
    graphs.dropped_detach,
    graphs.twice,
    graphs.not_scalar,
    ranges.shifted,
    ranges.subscripts,
    ranges.longer,
    ranges.unguarded,
    ranges.samples,
    ranges.saved,
    ranges.renamed,
    ranges.broadcast,
)


def mutants(program: Program) -> dict[str, list[Mutant]]:
    """All different mutants of a program, by kind."""
    found: dict[str, list[Mutant]] = {}
    seen = set()
    for operator in OPERATORS:
        for source in program.sources:
            for change in operator(program, source):
                mutant = broken(program, source, change)
                if mutant is not None and mutant.name not in seen:
                    seen.add(mutant.name)
                    found.setdefault(mutant.kind, []).append(mutant)
    return found


def drawn(all_programs: list[Program], seed: int, kind: str = "") -> Iterator[Mutant]:
    """Mutants without end of the list: kinds and programs take turns, so that a first part is as mixed as the whole."""
    chance = random.Random(seed)
    queues = []
    for program in all_programs:
        for name, some in sorted(mutants(program).items()):
            if kind in name:
                chance.shuffle(some)
                queues.append(some)
    while queues:
        chance.shuffle(queues)
        for queue in queues:
            yield queue.pop()
        queues = [queue for queue in queues if queue]
