"""Checks a folder of rules as `explain rules check` does: what is wrong with each file, its line named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from explainer.authoring import rules, symptoms, texts
from explainer.authoring.texts import Found
from explainer.catalogue import Catalogue, Problem, sources
from explainer.catalogue.compiled import Pack
from explainer.catalogue.document import Document, Path_
from explainer.catalogue.load import catalogue_of, load
from explainer.catalogue.packing import one, packed
from explainer.catalogue.problem import Unreadable


def check(folder: Path) -> list[Problem]:
    """Everything that is wrong with the rule files of a folder, by file and line. Examples are not run."""
    documents, wrong = read_all(folder)
    catalogue = catalogue_for(folder, documents)
    for document in documents:
        wrong += _of(document, catalogue)
    return sorted(dict.fromkeys(wrong), key=lambda problem: (problem.file, problem.line))


def read_all(folder: Path) -> tuple[list[Document], list[Problem]]:
    """The files of a folder that pass their schema, and what is wrong with the others."""
    documents: list[Document] = []
    wrong: list[Problem] = []
    for path in sources.files(folder):
        try:
            documents.append(one(path, folder))
        except Unreadable as error:
            wrong += error.problems
    return documents, wrong


def catalogue_for(folder: Path, documents: list[Document]) -> Catalogue:
    """The catalogue in which a folder is judged: itself where it is the builtin one, else both."""
    pack: Pack = packed(documents, [])
    if folder.resolve() == sources.builtin().resolve():
        return catalogue_of([pack])
    return load((folder.resolve(),))


def _of(document: Document, catalogue: Catalogue) -> Iterator[Problem]:
    name, is_symptom = document.value["id"], "messages" in document.value
    found = [*texts.problems(document.value), *_unfinished(document.value)]
    if is_symptom and name in catalogue.symptoms:
        found += symptoms.problems(catalogue.symptoms[name], catalogue)
    elif name in catalogue.rules:
        found += rules.problems(catalogue.rules[name], catalogue)
    for way, text in found:
        yield document.problem(way, text)


def _unfinished(value: Any, way: Path_ = ()) -> Found:
    """What a skeleton left to be written."""
    if isinstance(value, str):
        if "TODO" in value:
            yield way, "still says TODO"
        return
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in below:
        yield from _unfinished(item, (*way, step))
