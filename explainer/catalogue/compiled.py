"""The compiled catalogue: one file of JSON lines, the index first, so that loading reads texts only when asked."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from explainer.catalogue import sources
from explainer.catalogue.document import Document, read
from explainer.catalogue.literals import literals
from explainer.catalogue.match import Entry
from explainer.catalogue.problem import Problem, Unreadable
from explainer.catalogue.rule import SCHEMA as RULE
from explainer.catalogue.schema import problems
from explainer.catalogue.symptom import SCHEMA as SYMPTOM

#: Raise it whenever what is written changes: older files are then written anew.
FORMAT = 1


@dataclass(frozen=True)
class Pack:
    """One folder of rules: patterns, each file's value by id as JSON, and what is wrong with those left out."""

    entries: tuple[Entry, ...]
    symptoms: dict[str, bytes]
    rules: dict[str, bytes]
    under: dict[str, tuple[str, ...]]
    problems: tuple[Problem, ...] = ()


def pack(folder: Path, strict: bool = False) -> Pack:
    """Read a folder's YAML files. Broken ones are left out and named; `strict` also compiles every pattern."""
    found, wrong = [], []
    for path in sources.files(folder):
        try:
            found.append(one(path, folder, strict))
        except Unreadable as error:
            wrong += error.problems
    return _packed(found, wrong)


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
            literals(message["pattern"])
            if strict:
                _compile(message["pattern"])
        except ValueError as error:
            wrong.append(document.problem(("messages", place, "pattern"), f"is no pattern: {error}"))
    return wrong


def _compile(pattern: str) -> None:
    import regex

    try:
        regex.compile(pattern, regex.DOTALL)
    except (regex.error, RecursionError) as error:
        raise ValueError(str(error)) from None


def _packed(documents: Iterable[Document], wrong: list[Problem]) -> Pack:
    symptoms: dict[str, bytes] = {}
    rules: dict[str, bytes] = {}
    under: dict[str, tuple[str, ...]] = {}
    entries: list[Entry] = []
    for document in documents:
        value, symptom = document.value, "messages" in document.value
        if value["id"] in symptoms or value["id"] in rules:
            wrong.append(document.problem(("id",), f"{value['id']!r} is used by another file too"))
            continue
        (symptoms if symptom else rules)[value["id"]] = json.dumps(value, ensure_ascii=False).encode()
        if symptom:
            entries += _entries(value)
        elif value["status"] != "retired":
            for name in value["symptoms"]:
                under[name] = (*under.get(name, ()), value["id"])
    return Pack(tuple(entries), symptoms, rules, under, tuple(wrong))


def _entries(value: dict[str, Any]) -> list[Entry]:
    when = {name: tuple(value.get(name, ())) for name in ("exception", "raised_in", "runner")}
    found = []
    for message in value["messages"]:
        must = literals(message["pattern"])
        found.append(Entry(value["id"], value["family"], message["pattern"], must.runs, must.words, must.weight, **when))
    return found


# -- the file -------------------------------------------------------------------------------------------------------


def dump(made: Pack, key: str = "") -> bytes:
    """The pack as one file: a line with the index, then a line a symptom and a rule."""
    index = {
        "format": FORMAT, "key": key, "symptoms": list(made.symptoms), "rules": list(made.rules), "under": made.under,
        "entries": [list(asdict(entry).values()) for entry in made.entries],
        "problems": [list(asdict(problem).values()) for problem in made.problems],
    }  # fmt: skip
    lines = [json.dumps(index, ensure_ascii=False).encode(), *made.symptoms.values(), *made.rules.values()]
    return b"\n".join(lines)


def parse(data: bytes, key: str | None = None) -> Pack | None:
    """The pack of a compiled file; None where it is of another format, or was made of other files than `key` says."""
    first, *lines = data.split(b"\n")
    try:
        index = json.loads(first)
        if index["format"] != FORMAT or (key is not None and index["key"] != key):
            return None
        entries = tuple(Entry(*(tuple(v) if isinstance(v, list) else v for v in row)) for row in index["entries"])
        names = (*index["symptoms"], *index["rules"])
        if len(names) != len(lines):
            return None
    except (ValueError, KeyError, TypeError):
        return None
    by_name = dict(zip(names, lines, strict=True))
    under = {name: tuple(ids) for name, ids in index["under"].items()}
    wrong = tuple(Problem(*row) for row in index["problems"])
    kinds = ({name: by_name[name] for name in index[kind]} for kind in ("symptoms", "rules"))
    return Pack(entries, *kinds, under, wrong)


def cached(folder: Path) -> Pack:
    """A folder's pack, from the wheel's compiled file or the user's cache where those are as new as the files."""
    shipped = folder / sources.COMPILED
    if shipped.is_file() and (made := parse(shipped.read_bytes())) is not None:
        return made
    key = _key(folder)
    place = cache_folder() / f"{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}.jsonl"
    try:
        if (made := parse(place.read_bytes(), key)) is not None:
            return made
    except OSError:
        pass
    made = pack(folder)
    _keep(place, dump(made, key))
    return made


def _key(folder: Path) -> str:
    """What changes whenever a file of a folder does: names, times and sizes."""
    digest = hashlib.sha256(f"{FORMAT}".encode())
    for path in sources.files(folder):
        status = path.stat()
        digest.update(f"{path.name}\0{status.st_mtime_ns}\0{status.st_size}\n".encode())
    return digest.hexdigest()


def cache_folder() -> Path:
    """The user's cache folder for compiled catalogues."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "torch-explainer"
    default = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or default) / "torch-explainer"


def _keep(place: Path, data: bytes) -> None:
    """Write a cache file whole or not at all; a cache that cannot be written is no error."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, place)
    except OSError:
        pass
