"""What `explain run --why` prints: what became of each candidate edit, and why the first fix is first."""

from __future__ import annotations

import os
from collections.abc import Iterator

from explainer.decisions import Decision, Trace
from explainer.locale import word
from explainer.render.visible import cut, one_line, padded, visible

#: Cells of the columns for what became of a candidate, what made it, and where.
_ENDED, _BY, _AT = 10, 30, 18


def to_str(trace: Trace, language: str = "en", width: int = 100) -> str:
    """The decisions as lines of at most `width` cells; ends with a newline."""
    lines = [
        word("why_title", language),
        *(f"  {name}: {word(ended, language)}" for name, ended in trace.rules.items()),
        "  " + word("why_counts", language, **trace.counts()),
        *(f"  {word(remark, language)}" for remark in trace.remarks),
        *(line for one in trace.candidates.values() for line in _candidate(one, language)),
    ]
    if trace.first:
        lines.append("  " + word("why_first", language, reason=word(trace.first, language)))
    return "".join(f"{cut(visible(line), width)}\n" for line in lines)


def _candidate(one: Decision, language: str) -> Iterator[str]:
    source = one.candidate.source
    made = f"{source.kind} {source.name}" if source else "-"
    place = f"{os.path.relpath(source.file)}:{source.line}" if source and source.file else ""
    ended = padded(word(f"why_{one.outcome}", language), _ENDED)
    yield f"  {ended} {padded(made, _BY)} {padded(place, _AT)} {one_line(one.candidate.title)}"
    if one.reason and one.outcome != "passed":
        yield f"  {' ' * _ENDED}   {word(one.reason, language) if one.reason.startswith('why_') else one.reason}"
