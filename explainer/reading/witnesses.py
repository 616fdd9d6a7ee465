"""What a log says beside its tracebacks and what explains them: kernel assertions, anomaly mode's forward calls."""

from __future__ import annotations

import re

from explainer.crash import Raised
from explainer.frozen import frozen, replace
from explainer.patterns import Pattern
from explainer.reading.block import Lines, frame_line

#: A failed assertion of a CUDA kernel or of C++ code, as the runtime prints it on standard error.
_ASSERTION = Pattern(
    r"(?P<place>[^\s:][^:\n]{0,300}\.(?:cuh?|cpp|cc|h|hpp"
    r"|inl):\d{1,6}): (?P<kernel>.{0,600}?)[:,]? ?(?:block: \[[^\]]{0,40}\], ?thread: \[[^\]]{0,40}\]:? )?"
    r"Assertion [`'\"‘](?P<what>.{1,400}?)[`'\"’] failed"
)
_FORWARD = Pattern(r"Error detected in \w{1,100}\. (?:Traceback of forward call|No forward pass information)")
#: What torch says of a worker process that it lost, before the loader's own error, which does not repeat it.
_LOST = Pattern(r"Unexpected bus error encountered in worker.{0,80}")
_MOST = 8
#: What a log says of the machine, or torch of a call, before an error: it may be why, and is quoted beside it.
_BESIDE = Pattern(
    r"(?:(?:Memory cgroup o|O)ut of memory: )?Killed process \d+ \([^)]{1,60}\)|\boom-kill|oom_reaper|"
    r"No space left on device|Bus error(?: \(core dumped\))?|insufficient shared memory|Xid \(PCI:[^)]{1,40}\): \d+|"
    r"torch[\w./-]{0,200}\.py:\d+: \w{0,40}Warning: .{12,300}|"
    r"[\w ()-]{0,60}\bsm_\d+ is not compatible with the current PyTorch installation|"
    r"PyTorch install supports CUDA capabilities sm_"
)
#: Versions, as lists of packages and reports on an environment give them, and the name under which they are quoted.
_VERSION = Pattern(
    r"^\s*(?:(?P<package>torch|torchvision|torchaudio|pytorch|pytorch-cuda|triton|flash[-_]attn|bitsandbytes|xformers)"
    r"(?:\s+|==)(?P<version>\d+\.\d+[\w.+]{0,30})(?:\s|$)|"
    r"(?:PyTorch version|CUDA used to build PyTorch|CUDA runtime version|Nvidia driver version|cuDNN version): "
    r"\d[\w.+]{0,30}\s*$)",
    2,
)
#: What a shell says of a process that ended so, and what tells that torch may have run in it.
_DEATH = Pattern(r"\bBus error\b")
_TORCH = Pattern(r"\btorch|\bdata_?loader\b|\bnum[_-]workers\b|--workers\b|/dev/shm\b|\bnccl\b", re.IGNORECASE)
#: In one of these words, of which a line with none is not looked at further.
_HINTS = (
    "Killed process",
    "oom",
    "No space left",
    "Bus error",
    "shared memory",
    "Xid",
    "Warning: ",
    "compatible with the",
    "supports CUDA capabilities",
)
#: How many lines above an error a warning of torch's may stand, and how much of a line is quoted.
NEAR, QUOTED = 60, 160


@frozen
class Witness:
    """A line, or lines, that a text holds at the input's line `number`.

    `beside`: it is of the surroundings, not of the error itself.
    """

    text: str
    number: int
    beside: bool = False


def witnesses(lines: Lines) -> list[Witness]:
    """The telling lines of one writer; of assertions that many threads of a kernel repeat, the first."""
    found: dict[object, Witness] = {}
    versions: dict[str, int] = {}
    for at, text in enumerate(lines.texts):
        if len(found) >= _MOST or len(text) > 4000:
            continue
        if "bus error encountered" in text and (lost := _LOST.search(text)):
            found.setdefault("lost", Witness(lost[0], lines.number(at)))
        if "Assertion" in text and (match := _ASSERTION.search(text)):
            found.setdefault((match["place"], match["what"]), Witness(match[0] + ".", lines.number(at)))
        elif "Error detected in" in text and (forward := _FORWARD.search(text)):
            found[at] = Witness("\n".join([text[forward.start() :], *_stack(lines.texts, at + 1)]), lines.number(at))
        elif any(hint in text for hint in _HINTS) and (said := _BESIDE.search(text)):
            quoted = text[said.start() if said.start() > 20 else 0 :].strip()
            found.setdefault(said[0], Witness(quoted[:QUOTED], lines.number(at), True))
        elif len(text) < 120 and len(versions) < _MOST and "." in text and _VERSION.match(text):
            versions.setdefault(" ".join(text.split()), lines.number(at))
    told = [Witness(", ".join(versions), next(iter(versions.values())), True)] if versions else []
    return [*found.values(), *told]


def death(lines: Lines) -> tuple[Raised, int] | None:
    """The last line that tells of a process's end, behind the last one that tells of torch; None where either lacks."""
    for at in range(len(lines.texts) - 1, -1, -1):
        if "Bus error" in lines.texts[at] and _DEATH.search(lines.texts[at][:QUOTED]):
            near = range(at, max(at - NEAR, 0) - 1, -1)
            told = next((one for one in near if _TORCH.search(lines.texts[one][: 4 * QUOTED])), None)
            if told is None:
                return None
            said = [lines.texts[one].strip()[: 4 * QUOTED] for one in sorted({told, at})]
            return Raised("", "\n".join(said)), at
    return None


def _stack(texts: list[str], at: int) -> list[str]:
    """The frames, with their code, that stand directly under line `at`."""
    end = at
    while end < len(texts) and (frame_line(texts[end]) or (end > at and frame_line(texts[end - 1]))):
        end += 1
    return texts[at:end]


def noted(raised: Raised, notes: tuple[str, ...]) -> Raised:
    """The same chain with notes on the exception that CUDA or autograd raised, on the last one where none did."""
    line = _line(raised)
    target = max(
        (at for at, (_, one) in enumerate(line) if "CUDA" in one.message or "device-side" in one.message), default=0
    )
    one = line[target][1]
    new = replace(one, notes=(*one.notes, *(note for note in notes if note not in one.notes)))
    for at in range(target, 0, -1):
        new = _with(line[at - 1][1], line[at][0], new)
    return new


def _with(raised: Raised, field: str, earlier: Raised) -> Raised:
    """The exception with another one in the field that leads to it."""
    if field == "embedded":
        return replace(raised, embedded=earlier)
    return replace(raised, cause=earlier) if field == "cause" else replace(raised, context=earlier)


def _line(raised: Raised) -> list[tuple[str, Raised]]:
    """The chain from its last exception to its first one, with the field that leads to each."""
    line = [("", raised)]
    while len(line) < 200:
        one = line[-1][1]
        name = next((name for name in ("embedded", "cause", "context") if getattr(one, name) is not None), None)
        if name is None:
            break
        line.append((name, getattr(one, name)))
    return line
