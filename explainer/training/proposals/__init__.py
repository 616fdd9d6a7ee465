"""Edits that are worth a trial where training learns little and no structural fact says why: thresholds only choose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.training.finding import Finding, ready
from explainer.training.proposals.cuts import cut_graph
from explainer.training.proposals.rates import rates
from explainer.training.proposals.scales import scaled_inputs, scaled_targets
from explainer.training.proposals.schedules import by_hand, schedules
from explainer.training.proposals.shared import shared_layers
from explainer.training.proposals.short import short_passes, used_up
from explainer.training.proposals.starts import carried_states, initialisations
from explainer.training.proposals.through import rounded
from explainer.training.proposals.uncalled import linear_runs, uncalled_layers
from explainer.training.proposals.units import dead_units

#: The most telling first: a rate that is too large comes before the units that it has killed.
_PROPOSALS = (
    cut_graph,
    rounded,
    short_passes,
    used_up,
    shared_layers,
    uncalled_layers,
    linear_runs,
    schedules,
    by_hand,
    carried_states,
    scaled_targets,
    scaled_inputs,
    initialisations,
    rates,
    dead_units,
)


def proposals(watcher: Any) -> Iterator[Finding]:
    """Findings to be confirmed by a trial, most likely first."""
    for one in _PROPOSALS:
        try:
            yield from map(ready, one(watcher))
        except Exception as error:
            watcher.failed(error)
