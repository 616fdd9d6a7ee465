"""The JSON document of the reports."""

from __future__ import annotations

import json
from collections.abc import Sequence

from explainer.diagnosis import Report, document
from explainer.patterns import Pattern

#: What `json.dumps` leaves and a terminal would act on: DEL, C1 controls, bidirectional marks, lone surrogates.
_UNSAFE = Pattern("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def render(reports: Sequence[Report]) -> str:
    """The document, indented, ending with a newline; every character that a terminal acts on is escaped."""
    text = json.dumps(document(tuple(reports)), ensure_ascii=False, indent=2)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text) + "\n"
