"""Checks symptoms: patterns on their own wordings, near misses and hostile texts, and words on all that matches."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.authoring.texts import NUMBERS, Found
from explainer.authoring.variants import variants
from explainer.catalogue import Catalogue, Symptom
from explainer.catalogue.bounds import WordsError
from explainer.catalogue.document import Path_
from explainer.catalogue.literals import literals
from explainer.catalogue.match import LONGEST, USER
from explainer.catalogue.search import SHORT, number, plain
from explainer.catalogue.words import words
from explainer.crash import Frame, Raised

#: A pattern without this much literal text would be tried on nearly every message.
LEAST_LITERAL = 6
#: A hostile text may take a pattern this long, in seconds.
SLOW = 0.5
FILLERS = {
    "digits": "1" * 1000, "words": "ab " * 400, "lists": "1, " * 400, "brackets": "([" * 500, "dots": "a.b." * 250,
}  # fmt: skip
UNKNOWN = {"function": None, "code": None, "file": None, "line": None, "runner": None, "asks": None}


def problems(one: Symptom, catalogue: Catalogue) -> Found:
    """What is wrong with a symptom, beside its schema; `catalogue` must hold it."""
    for place, message in enumerate(one.messages):
        way = ("messages", place)
        least = 0 if one.runner or one.raised_in or one.raised_at or one.below else LEAST_LITERAL
        yield from (((*way, "pattern"), text) for text in _of_pattern(message.pattern, least))
        yield from (((*way, "says"), text) for text in _of_says(one, message.says, catalogue))
        yield from _of_words(one, message.pattern, message.says)
    for place, text in enumerate(one.near_misses):
        kind, colon, said = text.partition(": ")
        if not colon or " " in kind:
            yield ("near_misses", place), 'has the form "Type: message"'
        elif any(match.symptom.id == one.id for match in catalogue.matches(raised(one, said, kind))):
            yield ("near_misses", place), "matches this symptom"


def raised(one: Symptom, says: str, kind: str | None = None) -> Raised:
    """The error that says a wording, in the circumstances that the symptom asks for."""
    kind = kind or ("RuntimeError" if one.exception[0] == "any" else one.exception[0])
    file = f"/{one.raised_in[0].strip('/')}/module.py" if one.raised_in else "main.py"
    code, own = one.raised_at[0] if one.raised_at else "", USER in one.raised_in
    frames: tuple[Frame, ...] = (Frame("main.py" if own else file, 1, code=code, user=own),)
    frames = frames if one.raised_in or one.raised_at else ()
    frames = (*(Frame(f"/{part.strip('/')}/module.py", 1) for part in one.below[:1]), *frames)
    return Raised(kind, says, frames, runner=one.runner[0] if one.runner else None)


def _of_pattern(pattern: str, least: int) -> Iterator[str]:
    forms = literals(pattern)
    weight = min(form.weight for form in forms)
    if weight < least:
        yield f"holds {weight} literal characters outside groups that may be absent; at least {least}"
    if "  " in pattern:
        yield "holds two spaces in a row; white space is collapsed before the search"
    for name, text in (item for form in forms[:3] for item in hostile(form.runs).items()):
        spent = _seconds(pattern, text)
        if spent > SLOW:
            yield f"takes more than {spent:.1f} s on {name}; no nested or overlapping repetition"


def hostile(runs: tuple[str, ...]) -> dict[str, str]:
    """Texts that hold all that a match holds, and do not match: much filler after every run, a NUL before the last.

    Without the last run `regex` would see at once that there is no match.
    """
    *begun, last = runs or ("",)
    made = {name: "".join(run + filler for run in begun or [last]) for name, filler in FILLERS.items()}
    return {f"a text of many {name}": f"{text}\0{last}"[:LONGEST] for name, text in made.items()}


def _seconds(pattern: str, text: str) -> float:
    """How long a search takes; where `re` searches short texts, the longer of the two."""
    return max(_seconds_of_regex(pattern, text), _seconds_of_re(pattern, text[:SHORT]))


def _seconds_of_re(pattern: str, text: str) -> float:
    ready = plain(pattern)
    began = time.thread_time()
    if ready is not None:
        ready.search(text)
    return time.thread_time() - began


def _seconds_of_regex(pattern: str, text: str) -> float:
    import regex

    try:
        ready = regex.compile(pattern, regex.DOTALL | regex.IGNORECASE)
    except regex.error:
        return 0.0
    began = time.thread_time()
    try:
        ready.search(text, timeout=1)
    except TimeoutError:
        return 1.0
    return time.thread_time() - began


def _of_says(one: Symptom, says: str, catalogue: Catalogue) -> Iterator[str]:
    found = catalogue.match(raised(one, says))
    if found is None:
        yield "is matched by no pattern"
    elif found.symptom.id != one.id:
        yield f"is answered by {found.symptom.id} first"


def _of_words(one: Symptom, pattern: str, says: str) -> Found:
    """Renders every text: with what the wording captures, and as every other form of the pattern would have it."""
    import regex

    try:
        found = regex.search(pattern, " ".join(says.split()), regex.DOTALL)
    except regex.error:
        return
    if found is None:
        yield ("messages",), f"the pattern {pattern[:60]!r} does not match its own `says`"
        return
    given = {name: number(item) for name, item in found.groupdict().items()}
    stands_in = {name: 1 if name in NUMBERS.findall(pattern) else "x" for name in given}
    for form in ({}, *variants(pattern)):
        there = {name: given[name] or stands_in[name] if here else None for name, here in form.items()}
        captures = {**dict.fromkeys(one.captures), **given, **there}
        yield from _rendered(one, {"m": captures, "crash": {"type": one.exception[0], "message": says, **UNKNOWN}})


def _rendered(one: Symptom, names: Mapping[str, Any]) -> Found:
    texts: list[tuple[Path_, Mapping[str, Any]]] = [(("text", field), said) for field, said in one.text.items()]
    texts += [(("fixes", place, "title"), fix["title"]) for place, fix in enumerate(one.fixes)]
    for way, by_language in texts:
        for language, text in by_language.items():
            for each in text if isinstance(text, (list, tuple)) else [text]:
                try:
                    said = words(each, names)
                except WordsError as error:
                    yield (*way, language), str(error)
                    continue
                yield from (((*way, language), wrong) for wrong in _of_headline(said) if way == ("text", "headline"))


def _of_headline(said: str) -> Iterator[str]:
    if said.endswith((".", "。", "!", "?", "？")):
        yield "a headline has no full stop and asks no question"
    if len(said) > 140:
        yield f"a headline has about 90 characters, this one {len(said)}"
