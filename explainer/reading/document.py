"""One text from its first character to its errors: the stages of reading in order."""

from __future__ import annotations

from explainer.crash import Found, Place, Raised, Remark
from explainer.frozen import replace
from explainer.reading import bare, elastic
from explainer.reading.block import Lines
from explainer.reading.chains import Joined, join
from explainer.reading.order import Seen, arrange, later_turns
from explainer.reading.places import place
from explainer.reading.scan import blocks
from explainer.reading.undress import writers
from explainer.reading.witnesses import NEAR, Witness, death, noted, witnesses

#: A text without anything that looks like an error is a message itself only where it is this short.
_SHORT = 40


def errors(text: str, name: str | None = None) -> list[Found]:
    """The errors of a text, ordered."""
    alone = bare.plain(text)
    if alone is not None:
        return [Found(alone, Place(name, 1))]
    streams = writers(text)
    return arrange(_seen_in(streams, name) or _whole(streams, name))


def seen_in(text: str, name: str | None = None) -> list[Seen]:
    """The errors of a stretch of a longer text, in the order in which they stand there."""
    return _seen_in(writers(text), name)


def _seen_in(streams: list[Lines], name: str | None) -> list[Seen]:
    telling = [one for lines in streams for one in witnesses(lines)]
    return _told(_raised(streams, name), telling, name) or _died(streams, name)


def _raised(streams: list[Lines], name: str | None) -> list[Seen]:
    """The errors that have a traceback; where there are none, or only a launcher's, those that are only named."""
    seen = [one for lines in streams for one in _of_writer(lines, name)]
    typed = [one for one in seen if _has_type(one.found.raised)]
    if typed and not all(one.launcher for one in typed):
        return typed
    return typed + _said_alone(streams, name, bool(typed)) or seen


def _told(seen: list[Seen], telling: list[Witness], name: str | None) -> list[Seen]:
    """The errors with the telling lines of the log as notes: each goes to the next error, by choice one of CUDA."""
    for one in telling:
        at = _whose(seen, one)
        if one.beside:
            seen = _remarked(seen, at, one)
        elif at is None:
            seen = [*seen, Seen(Found(Raised("", one.text), Place(name, one.number)), one.number, "")]
        else:
            found = seen[at].found
            noted_one = replace(found, raised=noted(found.raised, (one.text,)))
            seen = [*seen[:at], replace(seen[at], found=noted_one), *seen[at + 1 :]]
    return seen


def _remarked(seen: list[Seen], at: int | None, witness: Witness) -> list[Seen]:
    """The errors with a line of the log beside the one that it stands near; a traceback holds no such lines."""
    if at is None:
        return seen
    found = seen[at].found
    line = found.place.line or 0
    near = witness.number < line and (line - witness.number <= NEAR or "Warning: " not in witness.text)
    remark = Remark("log_line", (("line", witness.number), ("text", witness.text)))
    own = line <= witness.number <= seen[at].end and _quotes(found.raised, witness.text)
    if own or (witness.number < line and not near) or len(found.remarks) > 2 or remark in found.remarks:
        return seen
    return [*seen[:at], replace(seen[at], found=replace(found, remarks=(*found.remarks, remark))), *seen[at + 1 :]]


def _quotes(raised: Raised, text: str) -> bool:
    """Whether a line is one of an error's own: of its message, or source that a frame shows."""
    return text[:40] in raised.message or any(text[:40] in one.code for one in raised.frames)


def _whose(seen: list[Seen], witness: Witness) -> int | None:
    """The index of the error that a telling line belongs to."""
    named = [at for at, one in enumerate(seen) if _has_type(one.found.raised) and not one.launcher]
    after = [at for at in named if (seen[at].found.place.line or 0) >= witness.number]
    cuda = [at for at in after or named if "CUDA" in seen[at].found.raised.message]
    return next(iter(cuda or after or named[-1:]), None)


def _has_type(raised: Raised) -> bool:
    """Whether at least one exception of a chain has its own line; without it a stack may be any stack."""
    one: Raised | None = raised
    while one is not None and not (one.type or one.message):
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
    return Seen(
        Found(joined.raised, where), joined.end, lines.writer, report is not None, launcher, bool(said and said.first)
    )


def _said_alone(streams: list[Lines], name: str | None, launched: bool) -> list[Seen]:
    """Exceptions that are named without a traceback: at most one a writer."""
    for look in (bare.own_line, bare.inside, bare.untyped, bare.logged):
        found = [(lines, said) for lines in streams if (said := look(lines, launched))]
        if found:
            return [
                Seen(Found(_reported(lines, raised, at), place(lines, at, name)), at, lines.writer, alone=True)
                for lines, (raised, at) in found
            ]
    return []


def _reported(lines: Lines, raised: Raised, at: int) -> Raised:
    """A launcher's error with the report under it as its message; any other error as it is."""
    report = elastic.report(lines.texts, Joined(raised, at, at + 1))
    return report.joined.raised if report else raised


def _died(streams: list[Lines], name: str | None) -> list[Seen]:
    """The end of a process of which a shell told, where no error stands beside it."""
    found = next(((lines, said) for lines in streams if (said := death(lines))), None)
    return [Seen(Found(found[1][0], place(found[0], found[1][1], name)), found[1][1], "")] if found else []


def _whole(streams: list[Lines], name: str | None) -> list[Seen]:
    """A short text in which nothing looks like an error, as a message without a type."""
    if sum(len(lines.texts) for lines in streams) >= _SHORT:
        return []
    whole = next((said for lines in streams if (said := bare.whole(lines))), None)
    return [Seen(Found(whole[0], place(streams[0], whole[1], name)), whole[1], "")] if whole else []
