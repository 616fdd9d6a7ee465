"""Spans replaced by text, as edits of whole lines: indentation, comments and quotes around them stay as they are."""

from __future__ import annotations

import ast
import itertools
import os
from collections.abc import Iterable, Sequence

from explainer.diagnosis import Edit, Span
from explainer.source import Source


class EditError(ValueError):
    """An edit that cannot be made: the place is not there, or the result would not parse."""


def shown(file: str) -> str:
    """A file relative to the working directory where it lies below it, as the JSON contract names files."""
    path = os.path.abspath(file)
    below = os.path.relpath(path)
    return path if below.startswith(os.pardir) else below


def changed(source: Source, changes: Iterable[tuple[Span, str]]) -> tuple[Edit, ...]:
    """The edits that put each text in its span's place. Spans need columns and must not overlap.

    Raises EditError where they do, or where the file would no longer parse.
    """
    edits: list[Edit] = []
    for group in _by_lines(sorted(changes, key=lambda change: _start(change[0]))):
        first, last = group[0][0].line, max(_end(span)[0] for span, _ in group)
        before = "\n".join(source.lines[first - 1 : last])
        edits.append(Edit(shown(source.file), first, last, before, _spliced(source, first, last, group)))
    return parsed(source, edits)


def inserted(source: Source, line: int, text: str) -> tuple[Edit, ...]:
    """New lines before line `line`; `text` carries its own indentation."""
    return parsed(source, [Edit(shown(source.file), line, line - 1, None, text)])


def deleted(source: Source, first: int, last: int) -> tuple[Edit, ...]:
    """Lines `first`..`last` (1-based, both in) taken out."""
    before = "\n".join(source.lines[first - 1 : last])
    return parsed(source, [Edit(shown(source.file), first, last, before, None)])


def relined(source: Source, first: int, last: int, after: str) -> tuple[Edit, ...]:
    """Lines `first`..`last` replaced by `after`."""
    before = "\n".join(source.lines[first - 1 : last])
    return parsed(source, [Edit(shown(source.file), first, last, before, after)])


def joined(source: Source, *groups: Sequence[Edit]) -> tuple[Edit, ...]:
    """Edits of one file put together; EditError where two of them touch the same line."""
    edits = sorted((edit for group in groups for edit in group), key=lambda edit: (edit.start_line, edit.end_line))
    for one, other in itertools.pairwise(edits):
        if other.start_line <= one.end_line:
            raise EditError(f"two edits of line {other.start_line}")
    return parsed(source, edits)


def applied(text: str, edits: Iterable[Edit]) -> str:
    """A file's text with the edits carried out. EditError where `before` is not what it holds."""
    lines = text.split("\n")
    ended = lines[-1] == ""
    lines = lines[:-1] if ended else lines
    for edit in sorted(edits, key=lambda edit: (-edit.start_line, -edit.end_line)):
        first, last = edit.start_line - 1, edit.end_line
        if edit.before is not None and "\n".join(lines[first:last]) != edit.before:
            raise EditError(f"{edit.file}:{edit.start_line} reads otherwise")
        lines[first:last] = [] if edit.after is None else edit.after.split("\n")
    return "\n".join(lines) + ("\n" if ended else "")


def parsed(source: Source, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """The same edits; EditError where the file with them is not Python, or they change nothing."""
    text = "\n".join(source.lines)
    after = applied(text, edits)
    if after == text:
        raise EditError("nothing changes")
    try:
        ast.parse(after)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise EditError(f"the edited file would not parse: {error}") from None
    return tuple(edits)


def indentation(source: Source, line: int) -> str:
    """The white space with which a line begins."""
    text = source.line(line)
    return text[: len(text) - len(text.lstrip())]


def in_block(source: Source, header: str, first: int, last: int) -> str:
    """The text of some lines put into a block of their own under a header."""
    lines = [f"    {line}" if line.strip() else line for line in source.lines[first - 1 : last]]
    return "\n".join([indentation(source, first) + header, *lines])


def _start(span: Span) -> tuple[int, int]:
    return span.line, span.column or 1


def _end(span: Span) -> tuple[int, int]:
    return span.end_line or span.line, span.end_column or (span.column or 1)


def _by_lines(changes: Sequence[tuple[Span, str]]) -> list[list[tuple[Span, str]]]:
    """Changes grouped so that no two groups share a line."""
    groups: list[list[tuple[Span, str]]] = []
    for change in changes:
        if groups and change[0].line <= max(_end(span)[0] for span, _ in groups[-1]):
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _spliced(source: Source, first: int, last: int, group: Sequence[tuple[Span, str]]) -> str:
    lines = list(source.lines[first - 1 : last])
    if len(lines) != last - first + 1:
        raise EditError(f"{source.file} has no line {last}")
    bound = (last + 1, 1)
    for span, text in reversed(group):
        (line, column), (end_line, end_column) = _start(span), _end(span)
        if (end_line, end_column) > bound:
            raise EditError(f"two edits of line {line}")
        bound = (line, column)
        head, tail = lines[line - first][: column - 1], lines[end_line - first][end_column - 1 :]
        lines[line - first : end_line - first + 1] = (head + text + tail).split("\n")
    return "\n".join(lines)
