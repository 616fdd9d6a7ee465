"""The scene of a crash: the stack's live frames where there are any, and the facts that probes found, each once."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from explainer.crash import Crash, Frame
from explainer.decisions import Trace
from explainer.frozen import frozen, mutable
from explainer.replay.work import Spent
from explainer.sized import Room
from explainer.source import Failing, Source, failing_node, source_of


@frozen
class LiveFrame:
    """A frame of a live traceback. `lasti` is the instruction (byte offset) at which it stood when the error passed."""

    frame: types.FrameType
    line: int
    lasti: int
    user: bool

    @property
    def file(self) -> str:
        """The file as the code object names it."""
        return self.frame.f_code.co_filename

    @property
    def locals(self) -> dict[str, Any]:
        """The frame's local variables, read only."""
        return self.frame.f_locals

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters of its function."""
        code = self.frame.f_code
        return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    def failing(self) -> Failing | None:
        """The expression that was being evaluated."""
        return failing_node(self.frame, self.lasti, self.line)


@mutable
class Live:
    """The handle on a live exception. `drop()` lets go of every frame, and so of the tensors that they keep."""

    error: BaseException | None
    frames: list[LiveFrame] = field(default_factory=list)

    def drop(self) -> None:
        """Let go of the exception and its frames."""
        self.error = None
        while self.frames:
            _forget(self.frames.pop().frame)

    @property
    def user(self) -> list[LiveFrame]:
        """The user's own frames, outermost first."""
        return [frame for frame in self.frames if frame.user]


def _forget(frame: types.FrameType) -> None:
    """Empty the copy of its variables that reading `f_locals` left in a frame (Python 3.12 and before).

    A function that goes on after `explain(error)` would keep what it has long deleted, tensors too. Where the program
    has called `locals()` the copy is the program's as well, and stays.
    """
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.version_info < (3, 13):
        copy = frame.f_locals
        if sys.getrefcount(copy) <= 3:  # the frame's, ours, the argument's
            copy.clear()


#: Seconds of work for the search where a person waits for the answer and the program is over, or its cell.
SEARCH = 8.0


@frozen
class Options:
    """What the caller allows. Sizes are in bytes; the deadline of all replays is in seconds of work (`replay.work`).

    `search` is what a search for repairs may take beyond it, where those of rules leave open which line is to blame.

    `replay`: user code may be re-run in a sandboxed child. `program`: what `explain run` started, so that the whole
    program can be tried again (None elsewhere). `begun`: a run of it that is under way already (`replay.ahead`).
    `excerpt`: where it cannot, a part of it may be.
    `source_roots`: folders below which a paste's files may be read, as far as there is `room`. `meanwhile` is called
    when a first edit is tried. `trace` takes what becomes of each candidate edit. `changed`: the user's files that were
    changed since they were loaded, where that is known.
    """

    language: str = "en"
    replay: bool = True
    check: bool | None = None
    program: Any = None
    begun: Any = None
    excerpt: bool = True
    source_roots: tuple[str, ...] = (".",)
    room: Room = field(default_factory=Room, compare=False, repr=False)
    deadline: float = 2.0
    search: float = SEARCH
    memory: int = 1 << 30
    progress: Callable[[str], None] | None = None
    meanwhile: Callable[[], None] | None = None
    trace: Trace | None = None
    changed: Collection[str] | None = None


class Scene:
    """All that probes may look at. Facts are computed once a crash and shared between rules."""

    def __init__(self, crash: Crash, options: Options, captures: Mapping[str, Any] | None = None):
        self.crash = crash
        self.options = options
        self.captures = captures or {}
        self.live: Live | None = crash.live
        #: Live values by the name of the fact that describes them, for probes that look further.
        self.objects: dict[str, Any] = {}
        #: What replays took: all of them together have the deadline, not each.
        self.spent = Spent()
        self._deadline = options.deadline
        #: Whether the wall clock ended what there was work left for.
        self.starved = False
        #: Whether an edit was tried, and why what could have been was not (`untried`).
        self.tried = False
        self.left_out: list[str] = []
        #: Whether somebody pressed Ctrl-C while a replay ran.
        self.interrupted = False
        #: What is wanted later, and is done while a run that was begun goes on.
        self.pending: list[Callable[[], Any]] = [options.meanwhile] if options.meanwhile is not None else []
        self._facts: dict[Any, Any] = {}

    def idle(self) -> None:
        """Do what is wanted later, instead of waiting."""
        while self.pending:
            self.pending.pop()()

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The value of `compute()`, computed the first time this key is asked for. A failure counts as None."""
        if key not in self._facts:
            self._facts[key] = None
            try:
                self._facts[key] = compute()
            except Exception as error:
                self.failures.append((str(key), error))
        return self._facts[key]

    @property
    def seconds_left(self) -> float:
        """How much work the next replay may take, in seconds."""
        left = max(0.0, self._deadline - self.spent.seconds)
        self.starved = self.starved or (left > 0.0 and self.spent.starved(self._deadline))
        return 0.0 if self.starved or self.interrupted else left

    def search(self) -> None:
        """Let a search for repairs have its own time."""
        self._deadline = max(self._deadline, self.spent.seconds + self.options.search)

    def leave_out(self, reason: str) -> None:
        """Note why trials are left out: a word of `locale` (`untried_...`), said once."""
        if reason not in self.left_out:
            self.left_out.append(reason)
        trace = self.options.trace
        if trace is not None and f"untried_{reason}" not in trace.remarks:
            trace.remarks.append(f"untried_{reason}")

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """What replays take, from the seconds that are left: `spent` is told of the work of children.

        Ctrl-C skips this replay and all that would follow; what is known without them is still said.
        """
        try:
            with self.spent.counting():
                yield
        except KeyboardInterrupt:
            self.interrupted = True

    def waiting(self) -> None:
        """Say where a person looks that a replay is under way."""
        if self.options.progress is not None:
            from explainer.locale import word

            self.options.progress(word("replaying", self.options.language))

    @property
    def failures(self) -> list[tuple[str, BaseException]]:
        """What probes raised: said in one line, never in the user's way."""
        return self._facts.setdefault("failures", [])

    @property
    def user_frame(self) -> LiveFrame | None:
        """The user's innermost live frame."""
        return self.live.user[-1] if self.live and self.live.user else None

    @property
    def failing(self) -> Failing | None:
        """The failing expression in the user's innermost frame."""
        frame = self.user_frame
        return self.once("failing", frame.failing) if frame else None

    def source(self, file: str) -> Source | None:
        """A file's source; of a pasted crash only what lies below the allowed folders."""
        if self.live is None and not self._allowed(file):
            return None
        return source_of(file)

    def frame_source(self, frame: Frame) -> Source | None:
        """The source of a printed frame where its file is here and the line still reads the same."""
        source = self.source(frame.file)
        if source is None or not frame.code:
            return source
        return source if source.line(frame.line).strip() == frame.code.split("\n")[0].strip() else None

    def _allowed(self, file: str) -> bool:
        from explainer.userframes import below

        return any(below(file, root) for root in self.options.source_roots) and self.options.room.admits(file)
