"""The error as it was raised or printed, frozen: what `reading` makes of a text and `hooks` of a live exception."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, Protocol, TypeVar

from explainer.frozen import frozen, replace
from explainer.locale import word
from explainer.userframes import is_user_file

#: Names under which torch raises what its documentation calls another exception.
ALIASES = {
    "AcceleratorError": "RuntimeError",
    "OutOfMemoryError": "RuntimeError",
    "LinAlgError": "RuntimeError",
    "_LinAlgError": "RuntimeError",
    "DistError": "RuntimeError",
    "DistBackendError": "RuntimeError",
    "DistNetworkError": "RuntimeError",
    "DistStoreError": "RuntimeError",
    "UninitializedTensorMixin": "RuntimeError",
    # What a C++ `terminate` prints: c10's exceptions before pybind turns them into Python's.
    "c10::Error": "RuntimeError",
    "c10::AcceleratorError": "RuntimeError",
    "c10::OutOfMemoryError": "RuntimeError",
    "c10::CUDAOutOfMemoryError": "RuntimeError",
    "c10::DistBackendError": "RuntimeError",
    "c10::DistNetworkError": "RuntimeError",
    "c10::DistStoreError": "RuntimeError",
    "c10::IndexError": "IndexError",
    "c10::NotImplementedError": "NotImplementedError",
    "c10::TypeError": "TypeError",
    "c10::ValueError": "ValueError",
    "std::runtime_error": "RuntimeError",
}
#: How torch's compiler ends its messages, and how many lines of what follows are read.
_USER_CODE, _LINES = "from user code:", 200
_FRAME = re.compile(r' *File "(?P<file>[^"]+)", line (?P<line>\d{1,7}), in (?P<function>\S+)')


@frozen
class Frame:
    """One line of a stack. `line` is 1-based (0: not printed); columns are 1-based characters, the end exclusive."""

    file: str
    line: int
    function: str = ""
    code: str = ""
    user: bool = False
    column: int | None = None
    end_column: int | None = None


class Stood(Protocol):
    """A frame, live or printed."""

    @property
    def user(self) -> bool:
        """Whether it is the user's own code."""


S = TypeVar("S", bound=Stood)


@frozen
class Raised:
    """One exception with all that led to it.

    `frames` run from the outermost to the innermost. `embedded` is the error whose traceback stands inside the message
    (a DataLoader worker's, a replica's), `runner` the name of what carried it over. `error` is the live exception.
    """

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    notes: tuple[str, ...] = ()
    cause: Raised | None = None
    context: Raised | None = None
    members: tuple[Raised, ...] = ()
    embedded: Raised | None = None
    runner: str | None = None
    error: BaseException | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The exception's last name: `OutOfMemoryError` of `torch.cuda.OutOfMemoryError`."""
        return self.type.rsplit(".", 1)[-1]


@frozen
class Link:
    """Another error of the chain: how it relates to its successor (`cause`, `context`, `member`, `embedded`)."""

    relation: str
    type: str
    message: str


@frozen
class Place:
    """Where in which input an error was found, and what its log said of the process. `line` is 1-based."""

    input: str | None = None
    line: int | None = None
    rank: int | None = None
    process: str | None = None
    time: str | None = None


@frozen
class Crash:
    """One error to explain: the root, with its frames, and the rest of its chain.

    `traced` are the lines that torch's compiler was reading when it stopped: no Python frame ran them.
    """

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    chain: tuple[Link, ...] = ()
    notes: tuple[str, ...] = ()
    runner: str | None = None
    place: Place = Place()
    count: int = 1
    remarks: tuple[str | Remark, ...] = ()
    traced: tuple[Frame, ...] = ()
    live: Any = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The exception's last name."""
        return self.type.rsplit(".", 1)[-1]

    @property
    def stack(self) -> tuple[Frame, ...]:
        """The frames, and what the compiler was reading behind them."""
        return (*self.frames, *self.traced)

    @property
    def user_frame(self) -> Frame | None:
        """The innermost frame of the user's own code, the last one where none is known to be the user's."""
        own = [frame for frame in self.stack if frame.user]
        return own[-1] if own else None


@frozen
class Remark:
    """A word of `locale` beside an error, with what it is filled from: a text is read before its reader is known."""

    key: str
    values: tuple[tuple[str, object], ...] = ()

    def text(self, language: str) -> str:
        """The remark in a language."""
        return word(self.key, language, **dict(self.values))


@frozen
class Found:
    """One error that a text holds, whole: what `reading` hands over. `count` is how often the same error came."""

    raised: Raised
    place: Place = Place()
    count: int = 1
    remarks: tuple[str | Remark, ...] = ()


#: How well an error is known, 0 where it is not.
Known = Callable[[Raised], int]


def crash_of(found: Found, known: Known) -> Crash:
    """The root of an error as a `Crash`; `known` tells whether a symptom matches an exception."""
    root, way = _root(found.raised, known)
    chain = tuple(Link(relation, other.type, other.message) for relation, other in way if other is not root)
    runner = _runner(root, way)
    about = (found.place, found.count, found.remarks, tuple(_traced(root.message)))
    others = [other.frames for _, other in way]
    frames = whole(root.frames, others, lambda one: (one.file, one.function)) if others else root.frames
    return Crash(root.type, root.message, tuple(frames), chain, root.notes, runner, *about)


def whole(own: Sequence[S], others: Iterable[Sequence[S]], key: Callable[[S], object]) -> Sequence[S]:
    """A stack without a line of the user's behind that of another error of the chain, which its first frame is in.

    A library that catches an error and raises one of its own cuts off who called it; `key` tells frames apart.
    """
    if not own or any(one.user for one in own):
        return own
    for stack in others:
        at = max((index for index, one in enumerate(stack) if key(one) == key(own[0])), default=0)
        if any(one.user for one in stack[:at]):
            return [*stack[:at], *own]
    return own


def _traced(message: str) -> Iterator[Frame]:
    """The user's lines of those that the compiler was reading, as its message ends."""
    _, marker, stack = message.partition(_USER_CODE)
    lines = stack.splitlines()[:_LINES] if marker else []
    for at, line in enumerate(lines):
        found = _FRAME.fullmatch(line[:1000])
        if found and is_user_file(found["file"]):
            code = lines[at + 1].strip() if at + 1 < len(lines) else ""
            yield Frame(found["file"], int(found["line"]), found["function"], code, True)


def root_of(raised: Raised, known: Known) -> Raised:
    """The exception of a chain that is the root: see DESIGN section 6, `error`."""
    return _root(raised, known)[0]


def _root(raised: Raised, known: Known) -> tuple[Raised, list[tuple[str, Raised]]]:
    if raised.cause is raised.context is raised.embedded is None and not raised.members:
        return raised, []
    way = list(walk(raised))
    errors = [error for _, error in way]
    best = errors[0]
    seen: set[int] = set()
    while id(best) not in seen:
        seen.add(id(best))
        if best.embedded is not None:
            best = best.embedded
        elif best.members:
            best = best.members[0]
        elif best.cause is not None and best.cause.name != "CalledProcessError":  # it says only that a child failed
            best = best.cause
        elif best.context is not None:
            best = _root_of_context(best, known)
    return best, way


def _root_of_context(raised: Raised, known: Known) -> Raised:
    """Along `context` links the latest of those errors that are known best; where none is, the first."""
    line, error = [raised], raised
    while error.context is not None and len(line) < 100:
        error = error.context
        line.append(error)
        if error.cause is not None or error.embedded is not None or error.members:
            break
    ranks = [0 if one.context and _of_another(one) else int(known(one)) for one in line]
    return line[ranks.index(max(ranks))] if any(ranks) else line[-1]


def _of_another(raised: Raised) -> bool:
    """Whether the error to look at stands behind this one.

    It says so itself (a CUDA graph's "previous error"), or naming the exception of an `except` failed.
    """
    return "due to a previous error" in raised.message or _in_except_clause(raised)


def _in_except_clause(raised: Raised) -> bool:
    return any(frame.code.lstrip().startswith("except ") for frame in raised.frames[-2:])


def walk(raised: Raised) -> Iterator[tuple[str, Raised]]:
    """All errors of a chain, the outermost first, each once, with its relation to the one before it."""
    stack, seen = [("raised", raised)], set[int]()
    while stack and len(seen) < 1000:
        relation, error = stack.pop()
        if id(error) in seen:
            continue
        seen.add(id(error))
        yield relation, error
        led = [("embedded", error.embedded), ("cause", error.cause), ("context", error.context)]
        led += [("member", member) for member in error.members]
        stack += [(name, other) for name, other in reversed(led) if other is not None]


def _runner(root: Raised, way: list[tuple[str, Raised]]) -> str | None:
    return root.runner or next((error.runner for _, error in way if error.runner and error.embedded is not None), None)


def with_live(crash: Crash, live: Any) -> Crash:
    """The same crash with a handle on its live frames."""
    return replace(crash, live=live)
