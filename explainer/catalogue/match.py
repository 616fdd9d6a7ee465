"""From an error to its symptom: a few look-ups by rare words, then one or two patterns, compiled when first needed."""

from __future__ import annotations

import builtins
import functools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from typing import Any, NamedTuple

from explainer.catalogue.search import captured
from explainer.catalogue.symptom import Symptom
from explainer.crash import ALIASES, Crash, Raised
from explainer.frozen import frozen
from explainer.patterns import Pattern

#: More of a message than this is never looked at.
LONGEST = 50_000
#: When so many patterns came to no end in a message, no further ones of packs are tried.
ENDLESS = 5
_WORD = Pattern(r"\w+")
#: What `raised_in` holds where the user's own code must have raised.
USER = "<user>"
#: Frameworks whose messages may read like torch's. Files of numpy are not among them: it calls a tensor's methods.
_FRAMEWORKS = (
    "tensorflow|keras|jax|jaxlib|paddle|mxnet|cupy|cupy_backends|onnxruntime|mindspore|chainer|theano|xgboost|lightgbm"
)
_FOREIGN_TYPE = Pattern(rf"(?:{_FRAMEWORKS}|numpy|pandas|sklearn|cv2)\.")
#: What reads any object, a checkpoint or not.
_PICKLE = Pattern(r"\bpickle\.loads?\(")
_FOREIGN_FILE = Pattern(rf"(?:site|dist)-packages/(?:{_FRAMEWORKS})/")


@frozen
class Match:
    """The symptom that an error shows, and what its pattern captured: digits as ints, absent groups as None."""

    symptom: Symptom
    captures: Mapping[str, Any]


class Entry(NamedTuple):
    """What the index knows of one form of a pattern: where it belongs, what a message must hold, when it applies."""

    symptom: str
    family: str
    pattern: str
    runs: tuple[str, ...]
    words: tuple[str, ...]
    weight: int
    exception: tuple[str, ...]
    raised_in: tuple[str, ...] = ()
    runner: tuple[str, ...] = ()
    raised_at: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    foreign: bool = False


#: The entries that a word is looked up for, by the longest text that each must hold.
Row = Sequence[tuple[str, Sequence[Entry]]]


class Rows(dict[str, Row]):
    """The rows of a compiled file by their words, each parsed when it is first looked at."""

    def __init__(self, texts: Mapping[str, bytes]):
        self._texts = texts

    def __missing__(self, word: str) -> Row:
        found = json.loads(self._texts[word])
        self[word] = row = [(run, [Entry(*one) for one in those]) for run, those in found]
        return row


@frozen
class Words:
    """A pack's entries by the rarest word that a message must hold to match them; those without a whole word stand
    under the empty one.
    """

    words: KeysView[str]
    rows: Mapping[str, Row]

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Words:
        """The table of some entries."""
        entries = tuple(entries)
        count = Counter(word for entry in entries for word in set(entry.words))
        by_word: dict[str, dict[str, list[Entry]]] = {}
        for entry in entries:
            rarest = min(entry.words, key=lambda word: (count[word], -len(word), word), default="")
            by_word.setdefault(rarest, {}).setdefault(max(entry.runs, key=len, default=""), []).append(entry)
        rows = {word: list(row.items()) for word, row in by_word.items()}
        return cls(rows.keys(), rows)

    @property
    def entries(self) -> Iterator[Entry]:
        """All entries."""
        return (entry for word in self.words for _, those in self.rows[word] for entry in those)

    def candidates(self, low: str, words: set[str]) -> list[Entry]:
        """The entries that a lowercased message, which has these words and the empty one, may match."""
        rows = [self.rows[word] for word in words & self.words]
        found = [entry for row in rows for run, those in row if run in low for entry in those]
        return [entry for entry in found if len(entry.runs) < 2 or _contains(low, entry.runs)]


@frozen
class Index:
    """The patterns of all packs."""

    packs: tuple[Words, ...]

    def matches(self, error: Crash | Raised) -> Iterator[tuple[Entry, dict[str, Any]]]:
        """The patterns that match, best first.

        Those of the exception's own name, then those that ask for where it was raised, then the longest literal text.
        """
        if _foreign(error):
            return
        family = "dataloader" if "DataLoader worker" in error.message else "device-assert"
        for note in error.notes:
            yield from self._search(note, error, family)
        yield from self._search(error.message, error)

    def _search(self, text: str, error: Crash | Raised, family: str | None = None) -> Iterator[Any]:
        text = " ".join(text[:LONGEST].split())
        low = text.lower()
        names = kinds(error)
        found: list[tuple[Any, ...]] = []
        words = {"", *_WORD.findall(low)}
        for entry in (one for pack in self.packs for one in pack.candidates(low, words)):
            rank = _rank(entry, names)
            if not rank or (family is not None and entry.family != family):
                continue
            apart = bool(entry.runner or entry.raised_in or entry.raised_at or entry.below)
            if not apart or _from_there(entry, error):
                found.append((-rank, not apart, -entry.weight, entry.symptom, entry.pattern, len(found), entry))
        tried, endless = set(), 0
        for *_, pattern, _, entry in sorted(found):
            if pattern in tried or (entry.foreign and endless >= ENDLESS):
                continue
            tried.add(pattern)
            try:
                captures = captured(pattern, text, entry.foreign)
            except TimeoutError:
                endless, captures = endless + 1, None
            if captures is not None:
                yield entry, captures


def kinds(error: Crash | Raised) -> tuple[str, ...]:
    """The names an error goes by, its own first: aliases, and its base classes where they can be known."""
    live = error.error if isinstance(error, Raised) else getattr(error.live, "error", None)
    if live is not None:
        bases = [kind.__name__ for kind in type(live).__mro__ if kind not in (object, BaseException, Exception)]
        return tuple(dict.fromkeys([error.name, *bases, *(ALIASES[name] for name in bases if name in ALIASES)]))
    return _kinds(error.name)


@functools.lru_cache(maxsize=256)
def _kinds(name: str) -> tuple[str, ...]:
    names = [name, *([ALIASES[name]] if name in ALIASES else [])]
    kind = getattr(builtins, names[-1], None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        names += [base.__name__ for base in kind.__mro__[1:] if base not in (object, BaseException, Exception)]
    return tuple(dict.fromkeys(names))


def _rank(entry: Entry, names: tuple[str, ...]) -> int:
    """3: the exception's own name; 2: a name it also goes by, or no name is known; 1: any exception; 0: another one."""
    if names[0] in entry.exception:
        return 3
    if names[0] == "" or (len(names) > 1 and not set(names).isdisjoint(entry.exception)):
        return 2
    return int("any" in entry.exception)


def _contains(low: str, runs: tuple[str, ...]) -> bool:
    """Whether a text has all runs, one behind the other; most lack the first."""
    at = 0
    for run in runs:
        at = low.find(run, at)
        if at < 0:
            return False
        at += len(run)
    return True


def _from_there(entry: Entry, error: Crash | Raised) -> bool:
    if entry.runner and error.runner not in entry.runner:
        return False
    if entry.raised_at:
        code = error.frames[-1].code if error.frames else ""
        if not code or not any(_stands_in(part, code) for part in entry.raised_at):
            return False
    if entry.below and not any(part in _last_of_torch(error) for part in entry.below):
        return False
    if not entry.raised_in:
        return True
    if USER in entry.raised_in and error.frames and error.frames[-1].user:
        return True
    file = error.frames[-1].file.replace("\\", "/") if error.frames else ""
    return any(part in file for part in entry.raised_in)


def _last_of_torch(error: Crash | Raised) -> str:
    """The file of torch's innermost frame: what called the code that raised an error."""
    files = [frame.file.replace("\\", "/") for frame in error.frames if not frame.user]
    return next((file for file in reversed(files) if "torch/" in file), "")


def _stands_in(part: str, code: str) -> bool:
    """Whether a line of code holds a part, not the beginning of a longer name: `.grad`, but not of `.grad_fn`."""
    return re.search(re.escape(part) + (r"\b" if part[-1].isalnum() else ""), code) is not None


def _foreign(error: Crash | Raised) -> bool:
    """Whether another framework raised it: by its own type, in a file of its own; or `pickle`, called by the user."""
    if _FOREIGN_TYPE.match(error.type or error.message):
        return True
    file = error.frames[-1].file.replace("\\", "/") if error.frames else ""
    unpickled = _PICKLE.search(error.frames[-1].code) if error.frames and error.frames[-1].user else None
    if unpickled and not any("torch" in frame.file for frame in error.frames):
        return True
    return bool(_FOREIGN_FILE.search(file)) and "torch" not in file
