"""Which sentences torch's own files hold: a Bloom filter of the runs of words that no other package's messages have.

`ngrams.bin` is made by `scripts/ngrams.py` from the wheels of several versions. It says whose a sentence is, no more.
"""

from __future__ import annotations

import functools
import hashlib
import os

from explainer.patterns import Pattern

#: So many words are a run; a run sets so many bits, in a filter of so many bits a run.
RUN, BITS, WIDTH = 4, 6, 10
FILE = "ngrams.bin"
_WORD = Pattern(r"[A-Za-z_]+|\{[^{}]*\}|%[-\d.]*(?:\(\w+\))?[sdrifgxlu]+|\d+")


def runs(text: str, whole: bool = True) -> list[str]:
    """The runs of words of a message, or of a template, in which no number and no placeholder stands.

    What is `whole` has a beginning and an end, which are words too.
    """
    words = [word.lower() if word[0].isalpha() or word[0] == "_" else "" for word in _WORD.findall(text)]
    words = ["^", *words, "$"] if whole else words
    parts = (words[at : at + RUN] for at in range(len(words) - RUN + 1))
    return [" ".join(part) for part in parts if "" not in part]


def places(run: str, size: int) -> list[int]:
    """The bits of a filter of `size` bits that a run sets."""
    digest = int.from_bytes(hashlib.blake2b(run.encode(), digest_size=8).digest(), "big")
    first, step = digest >> 32, digest & 0xFFFFFFFF | 1
    return [(first + at * step) % size for at in range(BITS)]


@functools.cache
def _table() -> bytes:
    try:
        with open(os.path.join(os.path.dirname(__file__), FILE), "rb") as file:
            return file.read()
    except OSError:  # without the table the words alone decide
        return b""


def known(text: str) -> tuple[int, int]:
    """How many of a message's runs torch's files hold, and how many it has."""
    table, found = _table(), set(runs(text))
    held = sum(all(table[at >> 3] >> (at & 7) & 1 for at in places(run, 8 * len(table))) for run in found if table)
    return held, len(found)
