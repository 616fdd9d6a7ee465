"""Titles of the search's candidates: each has one text, in all languages, with the same values filled in."""

from __future__ import annotations

import string

import pytest

from explainer.edits.titles import TITLES


@pytest.mark.parametrize("name", TITLES)
def test_a_title_names_the_same_values_in_each_language(name: str) -> None:
    fields = {language: _fields(text) for language, text in TITLES[name].items()}
    assert set(fields) == {"en", "ko", "zh"}
    assert fields["ko"] == fields["zh"] == fields["en"]


def _fields(text: str) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(text) if field}
