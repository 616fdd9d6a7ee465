"""Wraps sentences by terminal cells: at spaces, and between Chinese characters where a line may break."""

from __future__ import annotations

from functools import lru_cache

from explainer.patterns import Pattern
from explainer.render.visible import LONGEST, cells, visible

#: What may not begin a line and what may not end one.
_CLOSING = "，。、；：！？）」』】》”’,.;:!?)]}%"
_OPENING = "（「『【《“‘([{"
_HAN = "\u2e80-\u303f\u3040-\u30ff\u3100-\u31ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
#: `16 * 8 * 8 = 1024` stays in one piece, up to this many characters.
_OPERATORS, _SUM = ("*", "=", "=="), 24
#: Short code in backticks and shapes stay in one piece; then single Chinese characters; then words.
_CODE, _SHORT = r"\s+|`[^`]+`|\[\d[\d, ]{0,28}\]", 31
_UNIT, _ASCII_UNIT = Pattern(rf"{_CODE}|[{_HAN}]|[^\s{_HAN}`]+|`"), Pattern(rf"{_CODE}|[^\s`]+|`")
_ONE_HAN, _WORD = Pattern(f"[{_HAN}]"), Pattern(r"\s+|\S+")


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text, none wider than `width` cells. A newline in the text starts a new line."""
    return list(_wrapped(text[:LONGEST], width))


@lru_cache(256)
def _wrapped(text: str, width: int) -> tuple[str, ...]:
    """`wrap`, remembered: a diagnosis is laid out several times until it fits."""
    lines: list[str] = []
    for paragraph in text.strip().splitlines():
        paragraph = visible(paragraph.strip(), keep="\t").replace("\t", " ")
        hang = 2 if paragraph.startswith("- ") and width > 12 else 0
        wrapped = _fill(_units(paragraph), width - hang)
        lines += wrapped[:1] + [" " * hang + line for line in wrapped[1:]]
    return tuple(lines)


def _units(paragraph: str) -> list[str]:
    """The pieces between which a line may break; a space stays at the end of the piece before it."""
    units: list[str] = []
    found = (_ASCII_UNIT if paragraph.isascii() else _UNIT).findall(paragraph)
    for piece in (word for one in found for word in (_WORD.findall(one) if len(one) > _SHORT else [one])):
        if units and _joined(units[-1], piece):
            units[-1] += " " if piece.isspace() else piece
        else:
            units.append(piece)
    return units


def _joined(before: str, piece: str) -> bool:
    """Whether no line may break between the two."""
    if piece.isspace():
        return True
    if len(before) < _SUM and (piece in _OPERATORS or before.rstrip().endswith(_OPERATORS)):
        return True
    if before.endswith(" "):
        return False
    if before[-1] in _OPENING or piece[0] in _CLOSING:
        return True
    return not (_is_han(before[-1]) or _is_han(piece[0]))


def _is_han(character: str) -> bool:
    return not character.isascii() and _ONE_HAN.match(character) is not None


def _fill(units: list[str], width: int) -> list[str]:
    """Pieces set into lines of at most `width` cells; a piece wider than that is broken."""
    lines: list[str] = []
    line, used = "", 0
    for unit in units:
        if used + cells(unit.rstrip()) > width:
            *whole, unit = _broken(unit, width)
            lines += [line, *whole]
            line, used = "", 0
        line += unit
        used += cells(unit)
    return [line.rstrip() for line in (*lines, line) if line.strip()]


def _broken(unit: str, width: int) -> list[str]:
    """A piece in parts of at most `width` cells."""
    parts, used = [""], 0
    for character in unit:
        size = cells(character)
        if parts[-1] and used + size > width and character != " ":
            parts.append("")
            used = 0
        parts[-1] += character
        used += size
    return parts
