"""A message as the sentences of a check: bounded, without what C++ and the build hang on, its operator apart."""

from __future__ import annotations

from explainer.frozen import frozen
from explainer.patterns import Pattern

#: More characters of a message than these are never looked at, nor more of its sentences, nor more of one.
LONGEST, MOST, CLAUSE = 1600, 5, 480
#: What follows a message but is none of it: where C++ raised it, a stack, a request to report it.
_TAIL = Pattern(
    r"\s*(?:Exception raised from |Original traceback|Traceback \(most recent|C\+\+ (?:C|c)apture|frame #\d|"
    r"\(function operator|\(while checking arguments|"
    r"\(Could this error message|The above operation failed|While executing |"
    r"\bat /?[\w./<>-]+\.(?:c|cpp|cc|cu|h|cuh):\d+|\[ERROR\] ).*",
    2,
)
_TAILS = ("raised from", "raceback", "apture", "frame #", "operator", "Could this", "operation failed", "executing",
          "while checking", " at ", "ERROR]")  # fmt: skip
_ENFORCED = Pattern(r"^\[enforce fail at [^\]]*\]\s*(?:[^.]*\.(?=\s*\S)\s*)?")
_END = Pattern(
    r"(?<=[\w\])\"'`!?}])(?:[.!?]+|\s*;)\s+(?=[A-Z\[`'\"{a-z_])|(?<=[!])\s*(?=[A-Z])|"
    r"[\s|.]+(?:Explanation: |NB: |(?=Hint: |Developer debug context: ))"
)
_ENDS = (". ", "! ", "? ", ";", "!", ": ")
#: Abbreviations whose point ends no sentence.
_SHORT = Pattern(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|no)\.$", 2)
#: A sentence that only adds what was given.
_GOES_ON = Pattern(
    r"(?:(?:Instead,? |We )?(?:Got|Found|Received|But got|Actual|Given|got|found)|"
    r"but (?:it|they|got|found|is|are|was|were|has|have|actually))\b"
)
_WHERE = r"(?:\[(?P<box>\w[\w .:-]{0,40})\]:?\s+)?"
_NAME = r"(?P<name>(?:at::native::|aten::)?[A-Za-z_][\w.]*(?:::\w+)*)"
#: `conv2d(): ...`, `torch.gradient: ...`, `max_pool1d() kernel_size must`, `aten::add: `, `quantized::add (cpu): `.
_LABELLED = Pattern(rf"{_WHERE}{_NAME}(?P<call>\([^()]{{0,40}}\)| \(\w{{1,12}}\))?(?:\s?:\s+|\s:)(?=[^\s:])")
_CALLED = Pattern(rf"{_WHERE}{_NAME}(?P<call>\(\))\s+(?=[a-z'\"`])")
_APPLIED = Pattern(rf"{_WHERE}{_NAME}(?P<call>\(.{{0,160}}?\)):\s+(?=[A-Z])")
_ARGUMENT_OF = Pattern(rf"{_WHERE}{_NAME}(?P<call>\(\))(?P<between>: )?\s*(?=argument )")
_PREDICATE = Pattern(
    r"(?P<name>[a-z_][\w.]*\w)(?P<call>\(\))?\s+(?=(?:only\s)?(?:expect(?:s|ed)|requires?|needs|supports|does not|"
    r"doesn't|received|is not implemented|is only|got|called|attempted)\b)"
)
#: Words that stand before a colon and are no operator.
_NO_OPERATOR = frozenset(
    [
        "error", "warning", "note", "expected", "got", "input", "inputs", "output", "outputs", "shape", "shapes",
        "found", "received", "given", "sizes", "size", "hint", "device", "devices", "dtype", "dtypes", "assertion",
        "failed", "reason", "explanation", "unsupported", "invalid", "runtimeerror", "valueerror", "typeerror",
        "indexerror", "message", "required", "usage", "in", "for", "this", "it", "that", "tensor", "tensors",
        "argument", "arguments", "mask", "which", "value", "values", "and", "or", "either", "both",
        "only",
    ]
)  # fmt: skip


@frozen
class Sentence:
    """One sentence of a message; `operator` is the function that it names before its claim, bare of brackets."""

    text: str
    operator: str | None = None


def cleaned(message: str) -> str:
    """The message's own words on one line, no more of them than are looked at."""
    text = " ".join(message[: LONGEST * 2].split())[:LONGEST].replace("n`t ", "n't ")
    text = _ENFORCED.sub("", text) if text[:1] == "[" else text.removeprefix("Error: ").removeprefix("ERROR: ")
    return (_TAIL.sub("", text).strip() or text) if any(map(text.__contains__, _TAILS)) else text


def sentences(text: str) -> list[Sentence]:
    """The sentences of a cleaned message. One operator, named first, serves them all."""
    first, rest = operator_of(text)
    parts: list[str] = []
    for part in _END.split(rest, maxsplit=MOST * 2) if any(map(rest.__contains__, _ENDS)) else (rest,):
        if parts and _SHORT.search(parts[-1] + "."):
            parts[-1] += ". " + part
        elif parts and _GOES_ON.match(part) and f"Explanation: {part}" not in rest:
            parts[-1] += ", but " + (part[:1].lower() + part[1:]).removeprefix("but ")
        elif part.strip():
            parts.append(part.strip())
    return [Sentence(part[:CLAUSE].rstrip(" .!"), first) for part in parts[:MOST]]


def operator_of(text: str) -> tuple[str | None, str]:
    """The operator that a sentence begins with, and what it says of it."""
    for pattern in (_ARGUMENT_OF, _LABELLED, _APPLIED, _CALLED, _PREDICATE):
        found = pattern.match(text)
        if found is None:
            continue
        name = found["name"].rstrip(".")
        if name.lower() in _NO_OPERATOR or (pattern is _LABELLED and not _is_operator(name, found)):
            continue
        return name.removeprefix("at::native::"), text[found.end() :]
    return None, text


def _is_operator(name: str, found: object) -> bool:
    """Whether a word before a colon names a function or a class: it was called, has a `_`, or is no English word."""
    if found["call"] or any(sign in name for sign in "_.:") or any(c.isdigit() for c in name):  # type: ignore[index]
        return True
    return name.islower() or (name != name.capitalize() and not name.isupper())
