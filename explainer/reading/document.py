"""One text from its first character to its errors: the stages of reading in order."""

from __future__ import annotations

from explainer.crash import Found
from explainer.reading import bare, elastic
from explainer.reading.block import Lines
from explainer.reading.chains import Joined, join
from explainer.reading.order import Seen, arrange
from explainer.reading.places import place
from explainer.reading.scan import blocks
from explainer.reading.undress import writers

#: A text without anything that looks like an error is a message itself only where it is this short.
_SHORT = 40


def errors(text: str, name: str | None = None) -> list[Found]:
    """The errors of a text, ordered."""
    streams = writers(text)
    seen = [one for lines in streams for one in _of_writer(lines, name)]
    typed = [one for one in seen if one.found.raised.type]
    if not typed or all(one.launcher for one in typed):
        seen = typed + _without_traceback(streams, name, bool(typed)) or seen
        return arrange(seen)
    return arrange([one for one in seen if one.found.raised.type or one.found.raised.cause or one.found.raised.context])


def _of_writer(lines: Lines, name: str | None) -> list[Seen]:
    """The errors of one writer; those that its launcher's report repeats know their rank."""
    seen: list[Seen] = []
    report: elastic.Report | None = None
    for joined in join(lines.texts, blocks(lines.texts)):
        inside = report if report and joined.start < report.end else None
        if inside is None and (begun := elastic.report(lines.texts, joined)):
            report = begun
            seen.append(_seen(lines, begun.joined, name, launcher=True))
            seen += _repeated(lines, begun, name)
            continue
        seen.append(_seen(lines, joined, name, inside))
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


def _without_traceback(streams: list[Lines], name: str | None, launched: bool) -> list[Seen]:
    """What a text says where no traceback stands in it: at most one error a writer."""
    for look in (bare.own_line, bare.inside):
        found = [(lines, said) for lines in streams if (said := look(lines, launched))]
        if found:
            return [Seen(Found(raised, place(lines, at, name)), at, lines.writer) for lines, (raised, at) in found]
    if launched or sum(len(lines.texts) for lines in streams) >= _SHORT:
        return []
    whole = next((said for lines in streams if (said := bare.whole(lines))), None)
    return [Seen(Found(whole[0], place(streams[0], whole[1], name)), whole[1], "")] if whole else []
