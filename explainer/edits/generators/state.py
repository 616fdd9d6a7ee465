"""Candidates for values given to every element or step: hidden states with their batch first, weights by channel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import argument_places


def viewed(evidence: Evidence) -> Iterator[int]:
    """How many features, or channels, would fill the view that failed: the product of what it makes of them."""
    crash = evidence.crash
    said = re.search(r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)", evidence.message)
    if crash is None or said is None or not crash.before or not argument_places(crash):
        return
    sizes, row = [int(number) for number in said[1].split(",")], crash.before[0][0]
    kept = len(row) - 2  # the places of a map behind its channels, or the steps before the features
    if len(row) < 2 or sizes[0] not in (-1, row[0]):
        return
    of_map = row[2:] == sizes[len(sizes) - kept :]
    whole = prod(sizes[1 : len(sizes) - kept] if of_map else sizes[kept + 1 :])
    if (of_map or row[1:-1] == sizes[1 : kept + 1]) and whole > 0 and whole != row[1 if of_map else -1]:
        yield whole


def shuffled(evidence: Evidence) -> Iterator[int]:
    """The channels that a failed pixel shuffle may have been meant to get: the factor once more, or rounded up."""
    crash = evidence.crash
    factor = crash.layer.value("upscale_factor") if crash is not None and crash.layer is not None else None
    if crash is None or not factor or not crash.before or len(crash.before[0][0]) < 3:
        return
    channels = crash.before[0][0][-3]
    if channels % factor == 0:
        yield channels * factor
    yield -(-channels // factor**2) * factor**2
