"""The catalogue as the rest sees it: symptoms and rules by id, and the symptom that an error shows."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Generic, TypeVar

from explainer.catalogue import compiled, sources
from explainer.catalogue.match import Index, Match, Words
from explainer.catalogue.problem import Problem
from explainer.catalogue.rule import Rule, rule
from explainer.catalogue.symptom import Symptom, symptom
from explainer.crash import Crash, Raised
from explainer.frozen import frozen

T = TypeVar("T")


class Parsed(Mapping[str, T], Generic[T]):
    """Ids to symptoms or rules, each parsed when it is first asked for."""

    def __init__(self, lines: Mapping[str, bytes], make: Callable[[Mapping[str, Any], str], T]):
        self._lines, self._make = lines, make
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            value = json.loads(self._lines[name])
            self._made[name] = self._make(value, value.pop("file"))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


@frozen
class Catalogue:
    """All symptoms and rules. `problems` names what was wrong with files that were left out."""

    symptoms: Mapping[str, Symptom]
    rules: Mapping[str, Rule]
    index: Index = field(repr=False)
    under: Mapping[str, Sequence[str]] = field(repr=False)
    problems: tuple[Problem, ...] = ()
    told: frozenset[str] = frozenset()

    def match(self, error: Crash | Raised) -> Match | None:
        """The symptom that an error shows, with what any of its wordings captures; None where torch says no such thing.

        What several capture is the best one's.
        """
        every = self.matches(error)
        first = next(every, None)
        if first is None or None not in first.captures.values():
            return first
        captures = dict(first.captures)
        for other in every:
            if other.symptom is first.symptom:
                captures.update((name, one) for name, one in other.captures.items() if captures[name] is None)
        return Match(first.symptom, captures)

    def matches(self, error: Crash | Raised) -> Iterator[Match]:
        """Every symptom whose pattern matches, best first."""
        for entry, captures in self.index.matches(error):
            found = self.symptoms[entry.symptom]
            yield Match(found, {**dict.fromkeys(found.captures), **captures})

    def knows(self, raised: Crash | Raised) -> bool:
        """Whether any symptom matches an error."""
        return next(self.index.matches(raised), None) is not None

    def rules_for(self, symptom_id: str, told: bool = False) -> tuple[Rule, ...]:
        """The rules that look for a cause of a symptom, retired ones left out; `told`: those that need no frames."""
        names = self.under.get(symptom_id, ())
        return tuple(self.rules[name] for name in names if not told or name in self.told)


def load(extra: tuple[Path, ...] = ()) -> Catalogue:
    """The catalogue with the packs that are installed and those in `extra`. Broken files are in `problems` only."""
    return _load(tuple(Path(folder).resolve() for folder in extra))


@functools.lru_cache(maxsize=8)
def _load(extra: tuple[Path, ...]) -> Catalogue:
    packs = [_builtin()]
    packs += [_extra(folder) for folder in (*(folder for _, folder in sources.installed()), *extra)]
    return catalogue_of(packs)


def _builtin() -> compiled.Pack:
    """The catalogue's own part; one that cannot be read never keeps an error from being shown."""
    try:
        return compiled.cached(sources.builtin())
    except Exception as error:
        said = f"the catalogue cannot be read ({type(error).__name__}: {error})"
        wrong = Problem(str(sources.builtin()), 0, "", said)
        return compiled.Pack(Words.of(()), {}, {}, {}, (wrong,))


def _extra(folder: Path) -> compiled.Pack:
    if not folder.is_dir():
        said = "is a file; --rules takes a folder" if folder.exists() else "there is no such folder"
        return compiled.Pack(Words.of(()), {}, {}, {}, (Problem(str(folder), 0, "", said),))
    from explainer.catalogue.packing import pack

    return pack(folder, strict=True)


def catalogue_of(packs: list[compiled.Pack]) -> Catalogue:
    """One catalogue of several packs; where two use an id, the earlier keeps it."""
    symptoms: Mapping[str, bytes] = {}
    rules: Mapping[str, bytes] = {}
    under: dict[str, tuple[str, ...]] = {}
    tables: list[Words] = []
    wrong: list[Problem] = []
    told: set[str] = set()
    for pack in packs:
        wrong += pack.problems
        taken = {name for name in (*pack.symptoms, *pack.rules) if name in symptoms or name in rules}
        wrong += [Problem(name, 0, "id", "is used by another pack; this file is left out") for name in sorted(taken)]
        symptoms, rules = _added(symptoms, pack.symptoms, taken), _added(rules, pack.rules, taken)
        tables.append(_without(pack.table, taken))
        for name, ids in pack.under.items():
            under[name] = (*under.get(name, ()), *(one for one in ids if one not in taken))
        told.update(name for name in pack.told if name not in taken)
    index = Index(tuple(tables))
    return Catalogue(Parsed(symptoms, symptom), Parsed(rules, rule), index, under, tuple(wrong), frozenset(told))


def _added(held: Mapping[str, bytes], more: Mapping[str, bytes], taken: set[str]) -> Mapping[str, bytes]:
    """Both together; the first pack's texts stay where they are, in its file."""
    return {**held, **{name: line for name, line in more.items() if name not in taken}} if held else more


def _without(table: Words, taken: set[str]) -> Words:
    return Words.of(entry for entry in table.entries if entry.symptom not in taken) if taken else table
