"""What watching has noted: plain data and weak references, so that nothing of the program is kept alive."""

from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import field
from typing import Any, NamedTuple

from explainer.frozen import frozen, mutable
from explainer.training.sites import Site, key

#: Events that are kept in full; later ones are only counted.
_EVENTS = 600


@frozen
class Event:
    """Something that the training loop did: `backward`, `step`, `zero`, `clip`, `rate` (a scheduler's step)."""

    name: str
    site: Site
    optimizer: int | None = None
    data: Any = None


@frozen
class Seen:
    """A structural fact that was seen at a place of the user's source, and how often."""

    kind: str
    site: Site
    data: dict[str, Any]


class Mode(NamedTuple):
    """One call of a model. `active` of its `moded` layers, which behave otherwise in evaluation, were training.

    `told`: `train()` was called since the last step, so that its mode is meant.
    """

    learning: bool
    training: bool
    active: int
    moded: int
    site: Site
    evaluation: bool
    fingerprint: Any
    step: int
    told: bool


class ByIdentity:
    """What is known of objects, while they live: an object's own hash may not be asked for before it is built."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Any, Any]] = {}

    def get(self, of: Any, default: Any = None) -> Any:
        """What is known of an object."""
        held = self._held.get(id(of))
        return held[1] if held is not None and held[0]() is of else default

    def set(self, of: Any, value: Any) -> None:
        """Note a value."""
        number, held = id(of), self._held
        held[number] = (weakref.ref(of, lambda _: held.pop(number, None)), value)

    def living(self) -> list[Any]:
        """The objects that are still there."""
        found = [ref() for ref, _ in list(self._held.values())]
        return [one for one in found if one is not None]


@mutable
class Optimizing:
    """One optimizer of the program. `rates` are stretches (rate, steps), `lost` counts steps without any gradient.

    `last` is the number of all steps by its own last one.
    """

    number: int
    kind: str
    site: Site
    of: Any
    name: str | None = None
    steps: int = 0
    last: int = 0
    stepped_at: Site = ()
    zeroed: int = 0
    zeroed_at: Site = ()
    looked: int = 0
    stale: int = 0
    lost: int = 0
    rates: list[list[float]] = field(default_factory=list)
    measures: list[dict[str, float]] = field(default_factory=list)
    reached: bool = False
    backward_at: Site = ()
    settings: dict[str, Any] = field(default_factory=dict)


@mutable
class Notes:
    """Everything noted of one run."""

    events: list[Event] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    optimizers: list[Optimizing] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    loss_sites: list[int] = field(default_factory=list)
    backwards: dict[Any, Site] = field(default_factory=dict)
    seen: dict[Any, Seen] = field(default_factory=dict)
    times: Counter[Any] = field(default_factory=Counter)
    built: Any = field(default_factory=lambda: ByIdentity())
    roots: dict[int, Any] = field(default_factory=dict)
    modes: list[tuple[int, bool, bool]] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    unwatched: set[str] = field(default_factory=set)
    batches: dict[Any, list[Any]] = field(default_factory=dict)
    schedulers: list[dict[str, Any]] = field(default_factory=list)
    loaders: dict[int, dict[str, Any]] = field(default_factory=dict)
    seconds: float = 0.0

    def event(self, name: str, site: Site, optimizer: int | None = None, data: Any = None) -> None:
        """Note an event."""
        self.counts[name] += 1
        if len(self.events) < _EVENTS:
            self.events.append(Event(name, site, optimizer, data))

    def saw(self, kind: str, site: Site, **data: Any) -> None:
        """Note a fact; the first of a place keeps its data, the others count."""
        place = (kind, key(site), data.pop("of", None))
        self.times[place] += 1
        if place not in self.seen and len(self.seen) < 400:
            self.seen[place] = Seen(kind, site, data)

    def of(self, kind: str) -> list[tuple[Seen, int]]:
        """The facts of a kind with how often each was seen."""
        return [(seen, self.times[place]) for place, seen in self.seen.items() if seen.kind == kind]

    @property
    def full(self) -> bool:
        """Whether events are only counted by now."""
        return len(self.events) >= _EVENTS

    @property
    def steps(self) -> int:
        """Optimizer steps taken; backwards where no optimizer takes any."""
        return self.counts["step"] or self.counts["backward"] or self.counts["grad"]
