"""pytest's reports: long (`>` and `E` lines), short (`file:12: in f`), one line a failure."""

from __future__ import annotations

from dataclasses import dataclass, field

from explainer.crash import Frame
from explainer.patterns import Pattern
from explainer.reading.block import LONGEST, SAID, Block, connective, frame

_FILE = r"(?P<file>(?:[A-Za-z]:)?[^\s:\"'`(){}\[\]][^:\"'`]{0,1000}?\.(?:py\w?|pyx|txt)|<\w[^>]{0,80}>)"
_ENTRY = Pattern(rf"^{_FILE}:(?P<line>\d{{1,9}}):(?: in (?P<function>\S.{{0,200}})| ?(?P<type>[A-Za-z_][\w.]*)?)$")
_LINE = Pattern(rf"^{_FILE}:(?P<line>\d{{1,9}}): (?P<type>(?:\w+\.)*[A-Z]\w*(?<!Warning)): (?P<message>.*)$")
_E = Pattern(r"^E(?P<gap>\s+)(?P<text>.*)$|^E$")
_SECTION = Pattern(r"^(?:[=_!-]{3,} .{0,300} [=_!-]{3,}|={20,}|-{20,}|Traceback.*:)$")
_BETWEEN = Pattern(r"^(?:_ ){5,}_?$")
_DEF = Pattern(r"^\s*(?:async )?def (?P<name>\w+)\(")
_LONGEST_REPORT = 3000


@dataclass
class _Report:
    """One exception while its lines are read."""

    frames: list[Frame] = field(default_factory=list)
    code: str = ""
    function: str = ""
    said: list[str] = field(default_factory=list)
    type: str = ""
    short: bool = False


def starts(text: str) -> bool:
    """Whether a report's exception may begin on this line: at its first `>` line or its first place."""
    if len(text) > LONGEST:
        return False
    return text[:4] == ">   " or bool(_ENTRY.match(text) or _LINE.match(text))


def read(texts: list[str], at: int) -> Block | None:
    """The exception that begins on line `at`, or None."""
    line = _LINE.match(texts[at])
    if line:
        return Block(at, at + 1, line["type"], line["message"], (frame(line["file"], line["line"]),), said=at)
    report = _Report(function=_function_above(texts, at))
    here = at
    while here < min(len(texts), at + _LONGEST_REPORT):
        if not _take(report, texts[here]):
            break
        here += 1
        if report.type or (report.short and report.said and not _more(texts, here)):
            break
    return _block(report, at, here)


def _take(report: _Report, text: str) -> bool:
    """Adds a line to the report; False where the line ends it."""
    entry = _ENTRY.match(text) if len(text) <= LONGEST else None
    if entry:
        if report.short and report.said:
            return False
        report.frames.append(frame(entry["file"], entry["line"], entry["function"] or report.function, report.code))
        report.short = bool(entry["function"])
        report.type = entry["type"] or ""
        report.code = report.function = ""
    elif _SECTION.match(text) or connective(text):
        return False
    elif ((said := _E.match(text)) and report.code != "") or (said and report.short):
        report.said.append(text[1:])
    elif text[:2] == "> ":
        report.code, report.short = text[1:].strip(), False
    elif report.short and text[:4] == "    " and report.frames and not report.frames[-1].code:
        last = report.frames[-1]
        report.frames[-1] = frame(last.file, last.line, last.function, text)
    elif (name := _DEF.match(text)) and not report.short:
        report.function = name["name"]
    return True


def _more(texts: list[str], here: int) -> bool:
    return here < len(texts) and bool(_E.match(texts[here]))


def _function_above(texts: list[str], at: int) -> str:
    """The function whose source stands above a `>` line."""
    for back in range(at - 1, max(-1, at - 200), -1):
        found = _DEF.match(texts[back])
        if found:
            return found["name"]
        if _SECTION.match(texts[back]) or _BETWEEN.match(texts[back]) or _ENTRY.match(texts[back]):
            break
    return ""


def _block(report: _Report, at: int, end: int) -> Block | None:
    if not report.frames or not (report.said or report.type):
        return None
    indent = min((len(text) - len(text.lstrip()) for text in report.said if text.strip()), default=0)
    lines = [text[indent:] if text[:indent].isspace() else text.strip() for text in report.said]
    said = SAID.match(lines[0]) if lines else None
    if said is None or (report.type and said["type"].rsplit(".", 1)[-1] != report.type.rsplit(".", 1)[-1]):
        return Block(at, end, report.type or "AssertionError", "\n".join(lines), tuple(report.frames))
    return Block(
        at, end, said["type"], "\n".join([said["message"] or "", *lines[1:]]).strip("\n"), tuple(report.frames)
    )
