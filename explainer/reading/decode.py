"""Bytes of any encoding to text: byte-order marks, UTF-16 without one, legacy encodings, mixed logs."""

from __future__ import annotations

import codecs

from explainer.patterns import Pattern

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 4096
_CHINESE = Pattern(r"[一-鿿]")
#: Multi-byte encodings, each with letters that make up at least this share of what is not ASCII if the guess is right.
#: A wrong one mixes: Chinese bytes read as Korean are a third rare Hanja.
_LEGACY = (
    ("cp932", Pattern(r"[぀-ヿ]"), 0.3),
    ("cp949", Pattern(r"[가-힣]"), 0.85),
    ("gb18030", Pattern(r"[一-鿿，。：；！？、（）“”…]"), 0.95),
    ("big5", Pattern(r"[一-鿿，。：；！？、（）「」…]"), 0.95),
)


def decode(data: bytes) -> str:
    """The text of a file's content; never fails, bytes that fit nowhere become latin-1 letters."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    wide = _wide(data[:_SAMPLE])
    if wide:
        return data.decode(wide, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _legacy(data)


def encoding_of(data: bytes) -> str | None:
    """The wide encoding of a file that begins like this; None for those in which ASCII is ASCII."""
    marked = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)
    return marked if marked and marked != "utf-8" else _wide(data[:_SAMPLE])


def _wide(sample: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of mostly ASCII text is zero."""
    if len(sample) < 8:
        return None
    even, odd, half = sample[::2].count(0), sample[1::2].count(0), len(sample) // 2
    if odd > 0.6 * half and even < 0.1 * half:
        return "utf-16-le"
    if even > 0.6 * half and odd < 0.1 * half:
        return "utf-16-be"
    return None


def _legacy(data: bytes) -> str:
    read = {}
    for encoding, letters, least in _LEGACY:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        strange = [letter for letter in text if letter > "\x7f"]
        if sum(map(bool, map(letters.match, strange))) >= least * len(strange):
            read[encoding] = text
            if encoding in ("cp932", "cp949"):
                return text
    if read:
        return max(read.values(), key=_everyday)
    return "".join(_line(line) for line in data.splitlines(keepends=True))


def _everyday(text: str) -> float:
    """The share of a text's Chinese characters that are everyday ones: the first level of GB 2312 or of Big5."""
    found = _CHINESE.findall(text)
    first = ((letter.encode("gb2312", "ignore"), letter.encode("big5", "ignore")) for letter in found)
    return sum(b"" < simple < b"\xd8" or b"" < full < b"\xc7" for simple, full in first) / max(1, len(found))


def _line(line: bytes) -> str:
    """One line of a mixed log."""
    for encoding in ("utf-8", "cp1252"):
        try:
            return line.decode(encoding)
        except UnicodeDecodeError:
            continue
    return line.decode("latin-1")
