"""From a folder of YAML files to a pack: each file checked, its patterns' literal text found."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from explainer.catalogue import sources
from explainer.catalogue.compiled import Pack
from explainer.catalogue.document import Document, read
from explainer.catalogue.literals import literals
from explainer.catalogue.match import Entry, Words
from explainer.catalogue.problem import Problem, Unreadable
from explainer.catalogue.rule import TOLD
from explainer.catalogue.schema import problems
from explainer.catalogue.schemas import RULE, SYMPTOM
from explainer.sized import size_of

#: Files of a pack, their bytes, and the characters of a pattern: several times those of the catalogue's own.
MOST_FILES, MOST_BYTES, LONGEST = 3000, 16_000_000, 4000


def pack(folder: Path, strict: bool = False) -> Pack:
    """Read a folder's YAML files. Broken ones are left out and named; `strict` also compiles every pattern.

    What such a strict pack's patterns may take is bounded by a clock, see `search`.
    """
    found: list[Document] = []
    paths = sources.files(folder)
    wrong = _of_size(paths, folder)
    for path in paths if not wrong else ():
        try:
            found.append(one(path, folder, strict))
        except Unreadable as error:
            wrong += error.problems
    return packed(found, wrong, strict)


def _of_size(paths: list[Path], folder: Path) -> list[Problem]:
    if len(paths) > MOST_FILES:
        return [Problem(str(folder), 0, "", f"has {len(paths)} files; a pack has at most {MOST_FILES}")]
    size = sum(size_of(str(path)) or 0 for path in paths)
    return [Problem(str(folder), 0, "", f"has {size} bytes; a pack has at most {MOST_BYTES}")] * (size > MOST_BYTES)


def one(path: Path, folder: Path, strict: bool = True) -> Document:
    """One checked rule file. Raises Unreadable with all its problems."""
    document = read(path, _name(path, folder))
    kind = SYMPTOM if is_symptom(path) else RULE
    wrong = problems(document, kind)
    if not wrong:
        wrong = _of_id(document, path) + (_of_patterns(document, strict) if kind is SYMPTOM else [])
    if wrong:
        raise Unreadable(*wrong)
    document.value["file"] = document.file
    return document


def is_symptom(path: Path) -> bool:
    """Whether a file is a symptom: those lie in a folder `symptoms`."""
    return path.parent.name == "symptoms"


def _name(path: Path, folder: Path) -> str:
    return f"{folder.name}/{path.relative_to(folder).as_posix()}"


def _of_id(document: Document, path: Path) -> list[Problem]:
    wrong = []
    if document.value["id"] != path.stem:
        wrong.append(document.problem(("id",), f"is {document.value['id']!r}, but the file is called {path.name}"))
    return wrong


def _of_patterns(document: Document, strict: bool) -> list[Problem]:
    wrong = []
    for place, message in enumerate(document.value["messages"]):
        try:
            if len(message["pattern"]) > LONGEST:
                raise ValueError(f"it has {len(message['pattern'])} characters, at most {LONGEST} are allowed")
            literals(message["pattern"])
            if strict:
                _compile(message["pattern"])
        except (ValueError, RecursionError) as error:
            wrong.append(document.problem(("messages", place, "pattern"), f"is no pattern: {error}"))
    return wrong


def _compile(pattern: str) -> None:
    import regex

    try:
        regex.compile(pattern, regex.DOTALL)
    except (regex.error, RecursionError, MemoryError, OverflowError) as error:
        raise ValueError(str(error)) from None


def packed(documents: Iterable[Document], wrong: list[Problem], foreign: bool = False) -> Pack:
    """The pack of checked files; the patterns of a `foreign` one are not trusted."""
    symptoms: dict[str, bytes] = {}
    rules: dict[str, bytes] = {}
    under: dict[str, tuple[str, ...]] = {}
    told: list[str] = []
    entries: list[Entry] = []
    for document in documents:
        value, symptom = document.value, "messages" in document.value
        if value["id"] in symptoms or value["id"] in rules:
            wrong.append(document.problem(("id",), f"{value['id']!r} is used by another file too"))
            continue
        (symptoms if symptom else rules)[value["id"]] = json.dumps(value, ensure_ascii=False).encode()
        if symptom:
            entries += _entries(value, foreign)
        elif value["status"] != "retired":
            for name in value["symptoms"]:
                under[name] = (*under.get(name, ()), value["id"])
            told += [value["id"]] if _is_told(value) else []
    return Pack(Words.of(entries), symptoms, rules, under, tuple(wrong), told)


def _is_told(value: dict[str, Any]) -> bool:
    """Whether a rule may hold without frames: the first of the facts that it requires is of the message alone."""
    required = (fact["probe"] for fact in value["facts"].values() if not fact.get("optional"))
    return next(required, TOLD[0]) in TOLD


def _entries(value: dict[str, Any], foreign: bool) -> list[Entry]:
    circumstances = ("exception", "raised_in", "runner", "raised_at", "below")
    when = {name: tuple(value.get(name, ())) for name in circumstances}
    found = []
    for message in value["messages"]:
        pattern = message["pattern"]
        for form in literals(pattern):
            found.append(
                Entry(
                    value["id"], value["family"], pattern, form.runs, form.words, form.weight, **when, foreign=foreign
                )
            )
    return found
