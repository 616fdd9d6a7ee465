"""What one run of a program tells beside another: whether it got through, got further, or is of another model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from explainer.crash import Crash
from explainer.edits.candidate import Candidate
from explainer.replay.program import Run
from explainer.replay.work import STARVED

#: Edits that no line nearer to the cause could stand in for.
WHOLE_CALLS = ("swap-arguments",)
#: How operators of CUDA, and those played for it on the CPU, say that they were given tensors of several devices.
_APART = re.compile(
    r"Expected all tensors to be on the same device|Input type \(torch\.(?:cuda\.)?\w+\) and weight type \(torch\."
    r"|Input and (?:parameter|hidden) tensors are not at the same device|Expected .{0,60} on .{0,20}device|"
    r"Tensor for argument .{0,60} is on"
)
#: How the allocators of CUDA and of the CPU say that there is no room; they raise errors of two types.
_FULL_OF = re.compile(r"CUDA out of memory|DefaultCPUAllocator: (?:can't allocate|not enough) memory")
_FULL = "out of memory"
#: How many times as long as until memory was full a program must run with an edit that keeps it from filling.
_AGAIN = 2.0
#: What only kernels of one device say of a mistake: names of theirs, of types and of nodes, how often a value changed.
_OF_KERNELS = (
    (re.compile(r"\btorch\.cuda\.(?=\w+Tensor\b)"), "torch."),
    (re.compile(r"which is output \d+ of \w+, is at version \d+; expected version \d+"), "was changed"),
    (re.compile(r'"[\w ]+" not implemented for'), "not implemented for"),
)
#: What `torch.stack(batch, out=...)` says in a worker of samples of different sizes.
_UNEQUAL = "Trying to resize storage that is not resizable"


def passes(run: Run, control: Run) -> bool:
    """Whether a run got to the end; of a long program, two optimizer steps beyond where it had failed.

    Where memory had filled up: whether it goes on for as long again, and seconds, as what fills it later is no repair.
    """
    enough = run.failed is None and run.answer.get("exit", 1) is None
    if full(control):
        return run.ended or (late(run) and run.seconds >= _AGAIN * max(control.seconds, 1.0))
    return run.ended or enough or (late(run) and run.steps >= control.steps + 2)


def full(run: Run) -> bool:
    """Whether a run ended where there was no room left for its tensors."""
    return bool(run.error) and plain(run.error["message"]) == _FULL


def alike(run: Run, crash: Crash) -> bool:
    """Whether a run failed as the crash did: the same exception, message and line."""
    error = run.error
    if not error or plain(error["message"]) != plain(crash.message):
        return False
    if error["type"] != crash.name and plain(crash.message) != _FULL:
        return False
    frame = crash.user_frame
    lines = {line for _, line, _ in error["frames"]}
    return frame is None or not lines or frame.line in lines


def late(run: Run) -> bool:
    """Whether a run was ended while it was still going on: it tells nothing against its edit."""
    return run.failed is not None and (run.failed.startswith("no answer within") or run.failed == STARVED)


def further(candidate: Candidate, run: Run, control: Run | None) -> bool:
    """Whether an edited run failed later than the control, in the same kind of error: another mistake may be left.

    Columns tell it too, but not in lines that the edit itself changed: there it is later where less stands behind it.
    """
    if control is None or not run.error or run.error["type"] != control.error["type"]:
        return False
    if run.answer.get("forwards", 0) > control.answer.get("forwards", 0) or _later(run, control):
        return True
    place = lambda one: (one.error["frames"][-1:], one.error.get("column"))  # noqa: E731
    alike = re.sub(r"\d+", "#", run.error["message"]) == re.sub(r"\d+", "#", control.error["message"])
    lines = {line for _, line, _ in control.error["frames"][-1:]}
    own = any(edit.start_line <= line <= edit.end_line for edit in candidate.edits for line in lines)
    later = _around(run, control) if own else place(run) != place(control)
    return alike and later and run.steps >= control.steps


def _around(run: Run, control: Run) -> bool:
    """Whether an expression failed around the one that did in the control, in the same line."""
    rest, before = run.error.get("rest"), control.error.get("rest")
    same = run.error["frames"][-1:] == control.error["frames"][-1:]
    return same and rest is not None and before is not None and rest < before


def _later(run: Run, control: Run) -> bool:
    """Whether an edited run failed further down in the function in which the control did, or in one that called it."""
    frames = zip(run.error["frames"], control.error["frames"], strict=False)
    apart = next(((one, other) for one, other in frames if one != other), None)
    if apart is None:
        return False
    (file, line, function), (own_file, own_line, own_function) = apart
    return (file, function) == (own_file, own_function) and line > own_line


def ties(candidate: Candidate, run: Run, control: Run) -> tuple[int, ...]:
    """What tells survivors of one tier apart, the smaller the better."""
    warned = len(set(run.answer.get("warnings", ())) - set(control.answer.get("warnings", ())))
    moved = candidate.literal and other_input(run, control)
    partly = int(candidate.kind not in WHOLE_CALLS)
    return min(warned, 1), int(bool(moved)), partly, int(run.answer.get("ungraded") or 0), reshaped(run, control)


#: What `ties` compares, as words of `locale`, and the order in which candidates were made behind it.
_TIES = ("why_doubts", "why_warns", "why_input", "why_partly", "why_ungraded", "why_reshaped", "why_earlier")


def told_apart(ranks: Sequence[Sequence[int]]) -> str:
    """Why the first of some sorted survivors goes before the second: a word of `locale`."""
    pairs = enumerate(zip(*ranks[:2], strict=True)) if len(ranks) > 1 else iter(())
    return next((_TIES[index] for index, (one, other) in pairs if one != other), "why_only")


def ended_by(run: Run) -> str:
    """What ended a run, in a line: the error and its place, or why there is no answer; empty where it ended well."""
    if not run.error:
        return run.failed or ""
    file, line, _ = next(reversed(run.error["frames"]), ("", 0, ""))
    message = " ".join(str(run.error["message"]).split())[:100]
    return f"{run.error['type']}: {message}" + (f" ({file}:{line})" if file else "")


def reshaped(run: Run, control: Run, rank: int = 0) -> int:
    """How many parameters, of `rank` dimensions or more, have another shape, those that one of the two lacks counted.

    Of rank 2 they are weights: as many layers were changed, at the least.
    """
    every = (each.answer.get("parameters") or [] for each in (control, run))
    before, after = ([shape for shape in shapes if len(shape) >= rank] for shapes in every)
    return sum(a != b for a, b in zip(before, after, strict=False)) + abs(len(before) - len(after))


def other_input(run: Run, control: Run) -> bool:
    """Whether the model is given an input of another shape."""
    return bool(run.answer.get("input") != control.answer.get("input"))


def plain(message: str) -> str:
    """A message without what differs between two runs of the same program.

    That is line breaks, addresses of objects, and which of the values out of range came first: data may be drawn anew.
    A worker stacks samples into memory that it shares, which cannot grow: it says so where `stack` names two sizes.
    """
    text = re.sub(r"\b0x[0-9a-f]{6,}", "0x", " ".join(message.split()))
    text = "tensors on several devices" if _APART.match(text) else _FULL if _FULL_OF.search(text) else text
    for pattern, word in _OF_KERNELS:
        text = pattern.sub(word, text)
    text = re.sub(r"^stack expects each tensor to be equal size, but got .*", _UNEQUAL, text)
    return re.sub(r"\b([Ii]ndex|Target) -?\d+ is out of bounds", r"\1 is out of bounds", text)
