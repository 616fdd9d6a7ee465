"""Short messages are searched without `regex`, with the same result, and never for long."""

from __future__ import annotations

import subprocess
import sys

import pytest
import regex

from explainer.catalogue import load, search
from explainer.catalogue.search import SHORT, captured, number, plain

WORDINGS = [
    (message.pattern, " ".join(message.says.split())) for one in load().symptoms.values() for message in one.messages
]


def test_both_engines_capture_the_same_of_every_recorded_wording() -> None:
    of_re = [(pattern, says) for pattern, says in WORDINGS if plain(pattern) is not None]
    assert len(of_re) > 0.8 * len(WORDINGS)
    for pattern, says in of_re:
        found = regex.search(pattern, says, regex.DOTALL)
        expected = {name: number(item) for name, item in found.groupdict().items()} if found else None
        assert captured(pattern, says) == expected, pattern


@pytest.mark.parametrize(
    "pattern",
    [
        r"(\w+ )+x",  # repetitions that nest
        r"(?:a|b)*c",
        r"of the .*a.*b.*c",  # three that multiply
        r"\w+ of \w+",  # two, and the beginning may lie anywhere
        r"\p{Han}+",  # what only `regex` has
        r"(?<name>x)",
        r"[[:alpha:]]",
        r"[a--b]",
        r"(?|a|b)",
        r"(?>a+)b",
        r"a(",  # no pattern at all
    ],
)
def test_patterns_that_re_reads_otherwise_or_searches_for_long_are_left_to_regex(pattern: str) -> None:
    assert plain(pattern) is None


@pytest.mark.parametrize(
    "pattern", [r"\(\+ x\)+", r"[^)]* of (?:a|b)? (?P<n>-?\d+)\.$", r"of the \S+ and \w+ \d+", r"(?P<a>\d+)x(?P<b>\d+)"]
)
def test_plain_patterns_are_those_of_re(pattern: str) -> None:
    assert plain(pattern) is not None


def test_a_repetition_without_end_is_given_up_in_long_and_in_short_texts() -> None:
    for length in (SHORT - 1, SHORT + 1):
        with pytest.raises(TimeoutError):
            captured(r"(a+)+b", "a" * length)


def test_patterns_of_other_packs_are_not_left_to_re(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no timeout: `a*a*a*a*b` takes as many steps as it has letters, to the power of four."""
    monkeypatch.setattr(search, "plain", lambda pattern: pytest.fail("re was asked"))
    assert search.captured(r"of (?P<n>\d+)", "1 of 7", foreign=True) == {"n": 7}


def test_a_short_message_is_matched_without_regex() -> None:
    code = """
import sys
from explainer.catalogue import load
from explainer.crash import Raised
error = Raised("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (4x3 and 5x6)")
assert load().match(error) is not None
print("regex" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
