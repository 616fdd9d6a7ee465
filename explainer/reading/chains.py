"""Joins exceptions that belong together: causes, contexts, and errors whose traceback stands inside a message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from explainer.crash import Raised
from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.reading.block import Block, connective

#: How an exception says that it carries another one's traceback, and what carried it over.
_CARRIERS = (
    ("dataloader-worker", Pattern(r"Caught [\w.]+ in (?:DataLoader worker process|pin memory thread)")),
    ("data-parallel", Pattern(r"Caught [\w.]+ in replica \d+ on device")),
    ("worker", Pattern(r"Caught [\w.]+ in ")),
    ("spawn", Pattern(r"-- Process \d+ terminated with the following error:")),
)
_CARRYING_TYPES = (
    ("future", Pattern(r"_?RemoteTraceback$")),
    ("ray", Pattern(r"RayTaskError|RayActorError|TrainingFailedError")),
    ("notebook", Pattern(r"(?:CellExecution|PapermillExecution|DeadKernel)Error$")),
)
_INNERMOST = (
    ("dataloader-worker", Pattern(r"torch[\\/]utils[\\/]data[\\/]_utils[\\/]worker\.py$")),
    ("data-parallel", Pattern(r"torch[\\/]nn[\\/]parallel[\\/]parallel_apply\.py$")),
)


@frozen
class Joined:
    """A whole chain: `raised` is its last exception, lines `start`..`end` are all it covers."""

    raised: Raised
    start: int
    end: int


@dataclass
class _Carrier:
    """An exception whose message is still being read, since it embeds others."""

    block: Block
    earlier: tuple[str, Raised] | None
    runner: str


def join(texts: list[str], found: Iterable[Block]) -> Iterator[Joined]:
    """Chains in the order of the text."""
    stack: list[_Carrier] = []
    last: Block | None = None
    earlier: tuple[str, Raised] | None = None
    start = 0
    for block in found:
        if last is None:
            start = block.start
        else:
            raised = _raised(last, earlier)
            relation = _relation(texts, last, block)
            runner = None if relation else _carrier(texts, last, block)
            if runner:
                stack.append(_Carrier(last, earlier, runner))
                earlier = None
            elif relation:
                while stack and _closed(texts, last, block, stack[-1]):
                    raised = _embed(texts, stack.pop(), raised, last.end)
                earlier = (relation, raised)
            else:
                yield _close(texts, stack, raised, start, last)
                start, earlier = block.start, None
        last = block
    if last is not None:
        yield _close(texts, stack, _raised(last, earlier), start, last)


def _close(texts: list[str], stack: list[_Carrier], raised: Raised, start: int, last: Block) -> Joined:
    while stack:
        raised = _embed(texts, stack.pop(), raised, last.end)
    return Joined(raised, start, last.end)


def _relation(texts: list[str], last: Block, block: Block) -> str | None:
    """How `last` led to `block`: by the line between them."""
    between = [text for text in texts[last.end : block.start] if text.strip()]
    between += texts[block.start : block.start + 1]
    return next((relation for text in between[:4] if (relation := connective(text))), None)


def _carrier(texts: list[str], last: Block, block: Block) -> str | None:
    """What carried `block` over where the message of `last` embeds it."""
    if block.start - last.end > 12 + (200 if _by_type(last.type) else 0):
        return None
    said = "\n".join(texts[max(last.said, 0) : block.start + 1]) if last.said >= 0 else last.message
    named = next((name for name, pattern in _CARRIERS if pattern.search(said[-20_000:])), None)
    return named or _by_type(last.type)


def _by_type(name: str) -> str | None:
    return next((runner for runner, pattern in _CARRYING_TYPES if pattern.search(name)), None)


def _closed(texts: list[str], last: Block, block: Block, carrier: _Carrier) -> bool:
    """Whether a carrier's message ended between two blocks: by its quotation's end, or by its last blank line."""
    between = texts[last.end : block.start]
    if any(text.strip() == '"""' for text in between):
        return True
    blanks = 0
    for text in between:
        if text.strip():
            break
        blanks += 1
    return blanks > 1 and carrier.runner != "future"


def _embed(texts: list[str], carrier: _Carrier, inner: Raised, end: int) -> Raised:
    block = carrier.block
    outer = _raised(block, carrier.earlier)
    inside = [
        text[block.indent :] if not text[: block.indent].strip() else text for text in texts[block.said + 1 : end]
    ]
    first = block.message.split("\n", 1)[0]
    return replace(
        outer, message="\n".join([first, *inside]).rstrip("\n"), embedded=inner, runner=carrier.runner, notes=()
    )


def _raised(block: Block, earlier: tuple[str, Raised] | None) -> Raised:
    return Raised(
        block.type,
        block.message,
        block.frames,
        block.notes,
        cause=earlier[1] if earlier and earlier[0] == "cause" else None,
        context=earlier[1] if earlier and earlier[0] == "context" else block.earlier,
        members=block.members,
        runner=_innermost(block),
    )


def _innermost(block: Block) -> str | None:
    """The runner in whose process an error happened, by its outermost frame."""
    if not block.frames:
        return None
    file = block.frames[0].file
    return next((runner for runner, pattern in _INNERMOST if pattern.search(file)), None)
