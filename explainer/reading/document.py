"""One text from its first character to its errors: the stages of reading in order."""

from __future__ import annotations

from dataclasses import replace

from explainer.crash import Found, Raised
from explainer.reading import bare, elastic
from explainer.reading.block import Lines
from explainer.reading.chains import Joined, join
from explainer.reading.order import Seen, arrange, later_turns
from explainer.reading.places import place
from explainer.reading.scan import blocks
from explainer.reading.undress import writers

#: A text without anything that looks like an error is a message itself only where it is this short.
_SHORT = 40


def errors(text: str, name: str | None = None) -> list[Found]:
    """The errors of a text, ordered."""
    streams = writers(text)
    seen = [one for lines in streams for one in _of_writer(lines, name)]
    typed = [one for one in seen if _has_type(one.found.raised)]
    if typed and not all(one.launcher for one in typed):
        return arrange(typed)
    bare_ones = _said_alone(streams, name, bool(typed))
    if not (bare_ones or seen):
        bare_ones = _whole(streams, name)
    return arrange(typed + bare_ones or seen)


def _has_type(raised: Raised) -> bool:
    """Whether at least one exception of a chain has its own line; without it a stack may be any stack."""
    one: Raised | None = raised
    while one is not None and not one.type:
        one = one.cause or one.context
    return one is not None


def _of_writer(lines: Lines, name: str | None) -> list[Seen]:
    """The errors of one writer; those that its launcher's report repeats know their rank."""
    seen: list[Seen] = []
    report: elastic.Report | None = None
    every = list(join(lines.texts, blocks(lines.texts)))
    later = later_turns(lines.texts, every)
    for at, joined in enumerate(every):
        inside = report if report and joined.start < report.end else None
        if inside is None and (begun := elastic.report(lines.texts, joined)):
            report = begun
            seen.append(_seen(lines, begun.joined, name, launcher=True))
            seen += _repeated(lines, begun, name)
            continue
        seen.append(replace(_seen(lines, joined, name, inside), later=at in later))
    return seen


def _repeated(lines: Lines, report: elastic.Report, name: str | None) -> list[Seen]:
    """Tracebacks of the report that the launcher's own error has swallowed."""
    if report.joined.end <= report.start:
        return []
    swallowed = lines.texts[report.start : report.joined.end]
    found = join(swallowed, blocks(swallowed))
    moved = (Joined(one.raised, one.start + report.start, one.end + report.start) for one in found)
    return [_seen(lines, one, name, report) for one in moved]


def _seen(lines: Lines, joined: Joined, name: str | None, report: elastic.Report | None = None, launcher=False) -> Seen:
    said = report.rank_at(joined.start) if report else None
    where = place(lines, joined.start, name, said)
    return Seen(Found(joined.raised, where), joined.end, lines.writer, report is not None, launcher, bool(said and said.first))


def _said_alone(streams: list[Lines], name: str | None, launched: bool) -> list[Seen]:
    """Exceptions that are named without a traceback: at most one a writer."""
    for look in (bare.own_line, bare.inside):
        found = [(lines, said) for lines in streams if (said := look(lines, launched))]
        if found:
            return [Seen(Found(raised, place(lines, at, name)), at, lines.writer) for lines, (raised, at) in found]
    return []


def _whole(streams: list[Lines], name: str | None) -> list[Seen]:
    """A short text in which nothing looks like an error, as a message without a type."""
    if sum(len(lines.texts) for lines in streams) >= _SHORT:
        return []
    whole = next((said for lines in streams if (said := bare.whole(lines))), None)
    return [Seen(Found(whole[0], place(streams[0], whole[1], name)), whole[1], "")] if whole else []
