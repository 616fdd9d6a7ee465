"""Whether a script's error is the error that it is to reproduce."""

from __future__ import annotations

from explainer.catalogue import Catalogue
from explainer.crash import ALIASES, Crash, Raised
from explainer.patterns import Pattern

#: What torch adds to a message and does not belong to the error itself.
_TAIL = Pattern(r"\(Triggered internally|Exception raised from|Hint: |Compile with `?TORCH_USE_CUDA_DSA")
_NUMBER = Pattern(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def said(message: str) -> str:
    """A message without what varies: numbers, spacing, torch's hints."""
    return _NUMBER.sub("0", without_tail(message))


def without_tail(message: str) -> str:
    """A message on one line, without torch's hints."""
    text = " ".join(message.split())
    found = _TAIL.search(text)
    return (text[: found.start()] if found else text).strip()


#: How near an error comes: the very same, the same but for numbers, the same symptom in other words, another one.
SAME, BUT_NUMBERS, SYMPTOM, OTHER = 3, 2, 1, 0


def rank(crash: Crash, symptom: str | None, other: dict[str, str], catalogue: Catalogue) -> int:
    """How near the error of a script (its `type` and `message`) comes to a crash."""
    if not other["type"] or _known(crash.type) != _known(other["type"]):
        return OTHER
    if said(crash.message) == said(other["message"]):
        return SAME if without_tail(crash.message) == without_tail(other["message"]) else BUT_NUMBERS
    match = catalogue.match(Raised(other["type"], other["message"])) if symptom else None
    return SYMPTOM if match is not None and match.symptom.id == symptom and match.symptom.specific else OTHER


def _known(kind: str) -> str:
    name = kind.rsplit(".", 1)[-1]
    return ALIASES.get(name, name)
