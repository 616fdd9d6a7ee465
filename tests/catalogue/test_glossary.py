"""The glossary of the docs is kept: the catalogue uses its Korean and Chinese words and none that it rules out."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from explainer.authoring.guides import FOLDER
from explainer.catalogue import sources

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
pytestmark = pytest.mark.skipif(sources.builtin() != ROOT / "rules", reason="only a checkout has docs")


def rows() -> list[list[str]]:
    lines = [line for line in GLOSSARY.read_text("utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@functools.cache
def texts() -> dict[str, str]:
    """Every file that holds Korean and Chinese sentences, without its line breaks' indentation."""
    files = [*sources.files(ROOT / "rules"), *FOLDER.glob("*.yaml")]
    return {path.name: " ".join(path.read_text("utf-8").split()) for path in files}


def test_no_text_uses_a_word_that_the_glossary_rules_out():
    ruled_out = [word for row in rows() for word in row[3].split(", ") if word]
    assert len(ruled_out) > 10
    assert [(name, word) for name, text in texts().items() for word in ruled_out if word in text] == []


def test_every_word_of_the_glossary_is_one_that_texts_use():
    """A glossary of words that nobody uses would fix nothing."""
    everything = "\n".join(texts().values())
    words = [row[column].split(", ")[0] for row in rows() for column in (1, 2)]
    assert [word for word in words if word not in everything] == []
