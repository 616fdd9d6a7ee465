"""Graph breaks: what torch.compile could not trace, in the words of its message or of torch's own registry of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from explainer.diagnosis import Span
from explainer.facts import BreakFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.scene import Scene

#: In the folder of torch (2.9 or newer): what each graph break is called, why it is one, and the ways out.
_REGISTRY = "_dynamo/graph_break_registry.json"
_SAID = Pattern(
    r"(?P<kind>.+?)(?: Explanation: (?P<why>.*?))?(?: Hint: (?P<ways>.*?))?"
    r"(?: Developer debug context: .*| For more details about this graph break.*| from user code: .*|$)"
)
_NUMBER = Pattern(r"/gb(?P<number>\d{4,})\b|\b(?P<bare>GB\d{4,})\b")
_SENTENCE = Pattern(r"(?<=[.!])\s+(?=[A-Z`])")
#: What torch says of many breaks alike is no way out of one.
_ALIKE = ("It may be possible to write", "Please report", "Please open", "This is likely to be a", "This graph break")
#: Where the text of a value begins, or a part that torch fills in.
_FILLED = ("{", "tensor(", "Parameter containing")
_LONGEST = 400


@probe
def graph_break(scene: Scene) -> BreakFact | None:
    """What broke the graph, why, and the ways out (at most two), at the line that the compiler was reading."""
    crash = scene.crash
    found = broken(crash.message) if crash.name == "Unsupported" else None
    if found is None:
        return None
    kind, why, ways = found
    frame = crash.traced[-1] if crash.traced else crash.user_frame
    span = Span(frame.file, frame.line, code=frame.code) if frame is not None else None
    code = frame.code.partition("  #")[0].strip() if frame is not None else ""
    return BreakFact(kind, why, ways, code[:60], span)


def broken(message: str) -> tuple[str, str, tuple[str, ...]] | None:
    """A break's kind, its reason and ways out; None where neither the message nor the registry gives a reason."""
    text = " ".join(message[: 50 * _LONGEST].split())
    said, known = _SAID.match(text), _entry(text)
    if said is None or (said["why"] is None and known is None):
        return None
    known = known or {}
    why = _plain(said["why"] or "") or _plain(str(known.get("Explanation", "")))
    told = said["ways"].split(" Hint: ") if said["ways"] else map(str, known.get("Hints", ()))
    ways = [way for way in map(_plain, _joined(told)) if way and not way.startswith(_ALIKE)]
    kind = str(known.get("Gb_type") or said["kind"]).rstrip(" .")
    return kind[:_LONGEST], why, tuple(ways[:2])


def _entry(text: str) -> Mapping[str, Any] | None:
    """What the registry says of the break that a message names: by number, else as its whole first part."""
    number, kinds = _NUMBER.search(text), _registry()
    if number is not None:
        return kinds.get(f"GB{number['number'] or number['bare'][2:]}")
    said = _SAID.match(text)
    return kinds.get(said["kind"].lower().rstrip(" .")) if said is not None else None


@lru_cache(maxsize=1)
def _registry() -> Mapping[str, Mapping[str, Any]]:
    """The breaks by their numbers and by what they are called; none where torch is not here or has no registry."""
    try:
        (folder, *_) = find_spec("torch").submodule_search_locations  # type: ignore[union-attr, misc]
        read = json.loads(Path(folder, _REGISTRY).read_text(encoding="utf-8"))
        newest = {number: versions[0] for number, versions in read.items()}
        return {**{" ".join(one["Gb_type"].split()).lower(): one for one in newest.values()}, **newest}
    except (AttributeError, ImportError, KeyError, OSError, TypeError, ValueError, IndexError):
        return {}


def _joined(hints: Iterable[str]) -> Iterator[str]:
    """The hints, those put together that are one sentence cut in pieces."""
    whole = ""
    for hint in hints:
        if whole and not hint[:1].islower():
            yield whole
            whole = ""
        whole = f"{whole.rstrip()} {hint}".strip()
    yield whole


def _plain(text: str) -> str:
    """The sentences of a text that hold neither a value nor a blank to fill in."""
    sentences = _SENTENCE.split(" ".join(text.split())[:_LONGEST])
    return " ".join(one for one in sentences if not any(part in one for part in _FILLED)).rstrip(" .")
