"""Takes off what stands around an error in a text: colours, line ends, progress bars, prefixes, typography, wraps."""

from __future__ import annotations

import quopri
import re

from explainer.patterns import Pattern
from explainer.reading import jsontext
from explainer.reading.block import Lines
from explainer.reading.boxes import unboxed
from explainer.reading.interleaved import sorted_out
from explainer.reading.prefixes import parted
from explainer.reading.rows import Row, cells, opened, rows_of
from explainer.reading.wraps import rejoined, unpadded

#: Where a mailer breaks a long line: no rule of `===`, no `name=` at the end of a short one.
_SOFT_BREAK = re.compile(r"^[^\n]{68,75}[^=\s]=$", re.MULTILINE)
_ESCAPES = Pattern(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b\n]{0,512}\x1b\\|\x1b[ -/]{0,4}[0-~]"
)
_WRITTEN = Pattern(r"\\(?:x1[bB]|u001[bB]|033|e)\[[0-9;]{0,40}m")
_ORPHANS = Pattern(r"(?:\u241b|\ufffd|\^\[)?\[(?:\d{1,3}(?:;\d{1,3}){0,6})?m")
_BAR = Pattern(
    r"(?:[^|\n%]{0,80}: )?\s{0,12}\d{1,3}%\|[^|\n]{0,400}\|"
    r" ?[\d.?]{1,20}\w{0,4}/[\d.?]{1,20}\w{0,4} ?\[[^\]\n]{0,120}\]"
    r"|[^|\n%]{0,80}: \| {0,40}\| ?\d{1,9}/\? ?\[[^\]\n]{0,120}\]"
)
_TYPED = Pattern(r"File [“”„«＂]|(?:Error|Exception)：|(?:File|文件|檔案|ファイル|파일) ?[“”]")
#: What translators of pages make of a frame's line and of the header, in Chinese, Japanese and Korean.
_FRAME = Pattern(
    r"^(?P<before>.{0,200}?)(?:文件|檔案|ファイル|파일)\s*[\"“「](?P<file>[^\"”」\n]{1,1000})[\"”」]\s*[，,、]"
    r"(?:\s*(?:第|行|줄|라인))?\s*(?P<line>\d{1,9})(?:\s*(?:行|행|줄))?(?:\s*[，,、])?(?:\s*(?:位于|在|于))?"
    r"(?:\s*(?P<function>[\w.<>]{1,200}?))?(?:\s*(?:中|内|에서|内で|で))?\s*$"
)
_HEADER = Pattern(
    r"^(.{0,200}?)(?:回溯|追溯|跟踪|トレースバック|역추적|추적|트레이스백)\s*[（(][^（()）\n]{2,40}[)）]\s*[:：]\s*$"
)
_CLOSED = Pattern(r"[“”](，)")
#: The longest line, in characters, that is read as a translated one.
LONGEST = 4000
#: Characters without a width, as pages and chats leave them for line breaking.
_HIDDEN = {**dict.fromkeys(map(ord, "\u200b\u2060\u00ad\ufeff")), ord("\xa0"): " ", ord("\u3000"): "  "}
_PLAIN = str.maketrans(dict(zip("“”„＂«»‘’", '""""""\'\'', strict=True)))
_PLAIN |= str.maketrans({"，": ", ", "：": ": ", "（": "(", "）": ")", "…": "...", "–": "-", "—": "-", "；": ";"})


def writers(text: str) -> list[Lines]:
    """The lines of each writer of a text (one where nothing tells them apart), dressing taken off."""
    text = _plain(text)
    rows = opened(jsontext.from_document(text) or jsontext.from_lines(cells(rows_of(text))))
    rows = [_bare(row) for row in unpadded(_typed(unboxed(_typed(opened(rows)))))]
    return [sorted_out(rejoined(_single_spaced(lines))) for lines in parted(rows)]


def _plain(text: str) -> str:
    """The text without escape sequences, zero bytes, odd blanks and typographic quotation marks."""
    text = text.replace("\0", "").replace("\x1b[?2004l\r", "\n").replace("\xa0", " ").removeprefix("\ufeff")
    if ("=3D" in text or "=20\n" in text) and _SOFT_BREAK.search(text):
        text = quopri.decodestring(text.encode("utf-8", "replace")).decode("utf-8", "replace")  # a mail as it is sent
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\\" in text and _WRITTEN.search(text):
        text = _WRITTEN.sub("", text)
    if len(_ORPHANS.findall(text[:100_000])) > 3:
        text = _ORPHANS.sub("", text)
    return re.sub(r"[\u2028\u2029\x85\x0b\x0c]", "\n", text)


def _translated(text: str) -> str:
    """A frame's line or a header as Python prints it, where a page's translation has put it into other words."""
    if len(text) > LONGEST:
        return text
    found = _FRAME.match(text)
    if found is None:
        return _HEADER.sub(r"\1Traceback (most recent call last):", text)
    function = f", in {found['function']}" if found["function"] else ""
    return f'{found["before"]}File "{found["file"]}", line {found["line"]}{function}'


def _typed(rows: list[Row]) -> list[Row]:
    """Rows as a keyboard types them: without zero-width characters, with plain quotation marks and colons."""
    if all(row.text.isascii() for row in rows):
        return rows
    marks = any(_TYPED.search(row.text) for row in rows)
    rows = [Row(_translated(row.text.translate(_HIDDEN)), row.number) for row in rows]
    if not marks:
        return rows
    return [Row(_CLOSED.sub('"\\1', row.text).translate(_PLAIN).replace(",  ", ", "), row.number) for row in rows]


def _bare(row: Row) -> Row:
    """A row without progress bars and without blanks at its end."""
    text = row.text
    if "%|" in text or "?it/s" in text:
        text = _BAR.sub("", text[:20_000]) + text[20_000:]
    return Row(text.rstrip(" \t\x08\x07"), row.number)


def _single_spaced(lines: Lines) -> Lines:
    """Lines without the blank ones that a form put after each."""
    between = lines.texts[1::2]
    whole = lines.texts[: len(lines.texts) - 3 : 2]
    if len(between) < 8 or any(text.strip() for text in between) or sum(map(bool, whole)) < 0.6 * len(whole):
        return lines
    prefixes = {at // 2: prefix for at, prefix in lines.prefixes.items() if at % 2 == 0}
    return Lines(lines.texts[::2], lines.numbers[::2], lines.writer, prefixes)
