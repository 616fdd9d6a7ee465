"""One text from its first character to its errors: the stages of reading in order."""

from __future__ import annotations

from explainer.crash import Found, Place
from explainer.reading import bare
from explainer.reading.block import Lines
from explainer.reading.chains import join
from explainer.reading.order import arrange
from explainer.reading.scan import blocks
from explainer.reading.undress import writers

#: A text without anything that looks like an error is a message itself only where it is this short.
_SHORT = 40


def errors(text: str, name: str | None = None) -> list[Found]:
    """The errors of a text, ordered."""
    streams = writers(text)
    found = [one for lines in streams for one in _of_writer(lines, name)]
    return arrange(found) if found else _without_traceback(streams, name)


def _of_writer(lines: Lines, name: str | None) -> list[Found]:
    joined = join(lines.texts, blocks(lines.texts))
    return [Found(one.raised, _place(lines, one.start, name)) for one in joined]


def _place(lines: Lines, at: int, name: str | None) -> Place:
    return Place(name, lines.number(at))


def _without_traceback(streams: list[Lines], name: str | None) -> list[Found]:
    """What a text says where no traceback stands in it: at most one error a writer."""
    for look in (bare.own_line, bare.inside):
        found = [(lines, said) for lines in streams if (said := look(lines))]
        if found:
            return arrange([Found(raised, _place(lines, at, name)) for lines, (raised, at) in found])
    if sum(len(lines.texts) for lines in streams) >= _SHORT:
        return []
    return [Found(raised, _place(lines, at, name)) for lines in streams[:1] if (one := bare.whole(lines)) for raised, at in [one]]
