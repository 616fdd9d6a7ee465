"""Candidates for what has one entry for each sample where a join or a `gather` needs one for each place of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.search_batch import CREATORS
from explainer.edits.search_literals import solved_in
from explainer.edits.slices import chain, operands


def table_for(evidence: Evidence) -> Iterator[Candidate]:
    """`zeros(1, (image // patch) ** 2 + 1, dim)` added to more rows: the number from which its size follows."""
    every = operands(evidence)
    for own, other in itertools.permutations(every[:2], 2):
        made = next((step for step in chain(evidence, own.start, 6) if step.function in CREATORS), None)
        apart = [b for a, b in zip(own.shape, other.shape, strict=False) if a != b and a > 1]
        if made is None or len(apart) != 1 or len(own.shape) != len(other.shape) or apart[0] not in evidence.said:
            continue
        for tree in made.numbers:
            if tree[0] == "op" and int(tree[-1]) in own.shape and int(tree[-1]) in evidence.said:
                found = solved_in(evidence, tree, apart[0], "size")
                yield from (one for one in found if one.culprit.code != "1")  # the 1 for one token more stays
