"""Messages without a traceback: an exception's own line alone, inside a sentence, or with no exception's name."""

from __future__ import annotations

import re

from explainer.crash import Raised
from explainer.patterns import Pattern
from explainer.reading.block import KIND, Lines
from explainer.reading.messages import end_of_message

_DOTTED = rf"(?:[A-Za-z_]\w*\.){{0,8}}{KIND}(?:\(\w{{1,40}}\))?"
_OWN_LINE = Pattern(
    rf"^[>#*`\"'\s-]{{0,40}}(?:E\s{{1,12}}|\d{{1,3}}[.)]\s?)?(?P<type>{_DOTTED})[`*]{{0,3}}(?:: ?(?P<message>.*)"
    rf"|\s{{0,400}}$)"
)
_INSIDE = Pattern(rf"(?:^|[\s`'\"()\[>|*-])(?P<type>{_DOTTED}): ?(?P<message>\S.*)$")
_CALLED = Pattern(rf"(?:^|[\s`(\[:])(?P<type>{_DOTTED})\((?P<quote>['\"])(?P<message>.{{1,4000}})(?P=quote),?\)")
#: Openings of messages that torch raises, where no exception is named beside them.
_TORCH = Pattern(
    r"(?:^|[\s:>|])(?P<message>(?:THCudaCheck FAIL|cuda runtime error|CUDA out of memory\. Tried|CUDA error: "
    r"|HIP out of memory|MPS backend out of memory|NCCL error|"
    r"Expected all tensors to be on the same device|mat1 and mat2 shapes cannot|The size of tensor a \("
    r"|Sizes of tensors must match|"
    r"Input type \(|expected scalar type |one of the variables needed for gradient|element 0 of tensors does not|"
    r"Trying to backward through the graph|Error\(s\) in loading state_dict|DataLoader worker \(pid|"
    r"Unexpected bus error encountered in worker|stack expects each tensor|Given groups=|cuDNN error|CUBLAS_STATUS_|"
    r"Cannot re-initialize CUDA|Function '\w+' returned nan|Attempting to deserialize object on a CUDA"
    r"|Failed running call_(?:function|method|module)|Dynamo failed to run FX node|a and b must have same reduction dim"
    r"|Weights only load failed|\[enforce fail at |Watchdog caught collective operation timeout|size mismatch, m1).*)$"
)
#: A line of the log that C++ writes: `[E424 01:17:25.95 ProcessGroupNCCL.cpp:695] [Rank 3] To avoid ...`.
_LOGGED = Pattern(
    r"\[(?P<level>[EF])(?:\d{0,4} [\d:.]{8,24})? [\w./-]{1,200}\.(?:cpp|cc|cu|h|hpp):\d{1,6}\]\s*"
    r"(?:\[[^\]]{1,80}\]\s*){0,4}(?P<message>\S.*)"
)
#: One exception's own line and nothing else, in which no dressing can be.
_PLAIN = Pattern(
    rf"(?P<type>{_DOTTED}): (?P<message>[!-%'-;=-\[\]^_a-{{}}~][ -%'-\[\]-~]{{0,1500}}[!-%'-;=-\[\]^_a-{{}}~])\n?"
)
_DRESSED = Pattern(
    r"File \"|Traceback|%\||it/s|\]\(|Assertion|Error detected|ChildFailed|oom|shared memory|Killed|No space|Bus error|"
    r"Xid|Warning: |compatible with the|supports CUDA|\[\d*;?\d*m| raised:|Caught |terminate|(?:Error|Exception): |"
    r"<[/!A-Za-z]"
)
#: Words with which the sentence around a message goes on.
_PROSE = Pattern(
    r"(?<=[\w)\].\"'`])[`\"'*]{0,6}[,;?]? (?=(?:when|while|after|if"
    r"|but(?! (?:expected|got|found|received|is|was|the|it)\b)|and (?:i|then|my)|whenever|even|because"
    r"|during|on my|in my|at the|how|what|why|any|does|is there|can|please|thanks)\b)",
    re.IGNORECASE,
)
_LONGEST = 20_000


def plain(text: str) -> Raised | None:
    """The exception of a text that is its own line alone, undressed; None where anything else may be in the text."""
    match = _PLAIN.fullmatch(text)
    if match is None or _DRESSED.search(match["message"]):
        return None
    return Raised(match["type"], match["message"])


def own_line(lines: Lines, launched: bool = False) -> tuple[Raised, int] | None:
    """The last exception that stands on a line of its own, one of torch's own classes before others, and its index."""
    every = ((match, at) for at, text in enumerate(lines.texts) if (match := _OWN_LINE.match(text[:_LONGEST])))
    found = [(match, at) for match, at in every if not (launched and "ChildFailedError" in match["type"])]
    if not found:
        return None
    match, at = next((one for one in reversed(found) if one[0]["type"].startswith("torch.")), found[-1])
    carrier = _OWN_LINE.match(lines.texts[at - 1][:_LONGEST]) if at else None
    if carrier and (carrier["message"] or "").rstrip().endswith(" raised:"):
        return _whole(lines, at - 1, carrier), at - 1
    return _whole(lines, at, match), at


def inside(lines: Lines, launched: bool = False) -> tuple[Raised, int] | None:
    """The last exception that stands somewhere in a line, the sentence around it taken off."""
    for at in range(len(lines.texts) - 1, -1, -1):
        text = lines.texts[at][:_LONGEST]
        match = _INSIDE.search(text)
        if match and not (launched and "ChildFailedError" in match["type"]):
            return _cut(lines, at, match), at
        called = _CALLED.search(text)
        if called:
            return Raised(called["type"], called["message"]), at
    return None


def untyped(lines: Lines, launched: bool = False) -> tuple[Raised, int] | None:
    """The first line that reads like a message of torch, though no exception is named."""
    for at, text in enumerate(lines.texts):
        match = _TORCH.search(text[:_LONGEST])
        if match:
            end = end_of_message(lines.texts, at, match["message"])
            return Raised("", "\n".join([match["message"], *lines.texts[at + 1 : end]]).rstrip()), at
    return None


def logged(lines: Lines, launched: bool = False) -> tuple[Raised, int] | None:
    """What torch's C++ wrote into the log where it ended the process, else the first error that it wrote there."""
    found = [(match, at) for at, text in enumerate(lines.texts) if (match := _LOGGED.search(text[:_LONGEST]))]
    fatal = next(((match, at) for match, at in found if match["level"] == "F"), None)
    match, at = fatal or next(iter(found), (None, 0))
    return (Raised("", match["message"]), at) if match is not None else None


def whole(lines: Lines, most: int = 2000) -> tuple[Raised, int] | None:
    """The whole text as a message without a type, its first `most` characters."""
    texts = list(lines.texts)
    first = next((at for at, text in enumerate(texts) if text.strip()), None)
    if first is None:
        return None
    return Raised("", "\n".join(texts).strip()[:most]), first


def _whole(lines: Lines, at: int, match: re.Match[str]) -> Raised:
    first = match["message"] or ""
    end = end_of_message(lines.texts, at, first) if match["message"] is not None else at + 1
    if end == at + 1:
        return Raised(match["type"], first if first.count("`") % 2 == 0 else first.rstrip("`"))
    return Raised(match["type"], "\n".join([first, *lines.texts[at + 1 : end]]).rstrip())


def _cut(lines: Lines, at: int, match: re.Match[str]) -> Raised:
    before = lines.texts[at][: match.start("type")]
    first = match["message"]
    if re.search(r"[a-z]{2,} [a-z]", before) and not re.search(r"\d\d:\d\d|ERROR|CRITICAL", before):
        return Raised(match["type"], _PROSE.split(first, maxsplit=1)[0].rstrip("`\"' "))
    end = end_of_message(lines.texts, at, first)
    return Raised(match["type"], "\n".join([first, *lines.texts[at + 1 : end]]).rstrip())
