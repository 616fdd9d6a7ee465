"""Two mistakes of one kind: behind an edit that moved the failure further on, the search for the second edit."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from explainer.diagnosis import Edit, FixSource
from explainer.edits.candidate import PAIRED, Candidate
from explainer.edits.changes import is_cast
from explainer.edits.evidence import Evidence, evidence_of
from explainer.edits.lines import EditError, applied, shown
from explainer.source import Source, parsed_source

#: How many first edits are followed, how many second ones each is tried with, and how many edits there may be.
FIRST, SECOND, MOST = 2, 16, 3
#: What may be a second edit of a family, the likeliest first.
Offered = Callable[[Evidence, str], Iterable[Candidate]]


def followed(checker: Any, family: str, offered: Offered) -> Iterator[Candidate]:
    """Candidates of two edits: behind each first one that moved the failure on, what is offered then."""
    for first in going_on(checker.moved):
        texts = checker.texts(first)
        run = checker.counted(checker.session.run(texts or {}, max(checker.left * 0.4, 0.1), record=True))
        recording = run.answer.get("recording")
        if texts and recording and run.error:
            folder = os.path.realpath(checker.program.folder)
            edited = {os.path.join(folder, below): text for below, text in texts.items()}
            sources = sources_with(edited, checker.scene.source)
            then = evidence_of(recording, checker, run.error["message"], sources)
            for both in chained(then, first, edited, family, offered):
                yield dataclasses.replace(both, tier=PAIRED)


def chained(
    evidence: Evidence, first: Candidate, texts: Mapping[str, str], family: str, offered: Offered
) -> Iterator[Candidate]:
    """Candidates that add a second edit to `first`. `evidence` and `texts` are of the program edited already."""
    family = "dtype" if is_cast(first) else family
    found = [one for one in offered(evidence, family) if not (one.literal and _changed(one) == _changed(first))]
    found.sort(key=lambda one: one.culprit.line != first.culprit.line or not one.literal)  # the rest of a row first
    for second in found[:SECOND]:
        edits = tuple(_both(first, second, texts))
        if edits and len(edits) <= MOST:
            title = f"{first.title}; {second.title}" if second.title != first.title else first.title
            literal, source = first.literal or second.literal, _source(first, second)
            yield dataclasses.replace(first, edits=edits, title=title, literal=literal, source=source)


def _changed(candidate: Candidate) -> tuple[str, int, int]:
    """The file, the line and the number of the word in it that a candidate changes first."""
    edit = candidate.edits[0]
    old, new = (re.findall(r"\w+", text or "") for text in (edit.before, edit.after))
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))
    return edit.file, edit.start_line, len(list(alike))


def _source(first: Candidate, second: Candidate) -> FixSource | None:
    if first.source is None or second.source is None:
        return first.source or second.source
    kind = "atom" if "atom" in (first.source.kind, second.source.kind) else first.source.kind
    return dataclasses.replace(first.source, kind=kind, name=f"{first.source.name} + {second.source.name}")


def _both(first: Candidate, second: Candidate, texts: Mapping[str, str]) -> Iterator[Edit]:
    files = dict.fromkeys([*(edit.file for edit in first.edits), *(edit.file for edit in second.edits)])
    for file in files:
        then = [edit for edit in second.edits if edit.file == file]
        edited = texts.get(os.path.realpath(file))
        if edited is None:
            yield from then
            continue
        try:
            yield from differing(file, _read(file), applied(edited, then))
        except (EditError, OSError, UnicodeDecodeError):
            return


def differing(file: str, before: str, after: str) -> Iterator[Edit]:
    """The edits that make one text of a file of another."""
    old, new = before.split("\n"), after.split("\n")
    for kind, start, end, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            was = "\n".join(old[start:end]) if end > start else None
            made = "\n".join(new[first:last]) if last > first else None
            yield Edit(shown(file), start + 1, end, was, made)


def sources_with(texts: Mapping[str, str], plain: Any) -> Any:
    """A reader of sources that gives edited files their edited text."""
    edited = {path: parsed_source(path, text) for path, text in texts.items()}

    def read(path: str) -> Source | None:
        return edited.get(os.path.realpath(path)) or plain(path)

    return read


def _read(file: str) -> str:
    import tokenize

    with tokenize.open(file) as opened:
        return opened.read()


def going_on(moved: Iterable[Candidate]) -> list[Candidate]:
    """The edits to follow: one a place, in the order in which they were tried."""
    places: dict[Any, Candidate] = {}
    for one in moved:
        places.setdefault((one.culprit.file, one.culprit.line, one.kind), one)
    return list(places.values())[:FIRST]
