"""A live exception frozen into a `Crash`, with a handle on its frames: what every hook hands to the diagnosis."""

from __future__ import annotations

import ast
import itertools
import os
import sys
import types
from collections.abc import Collection, Iterator
from typing import Any

from explainer.crash import Crash, Found, Frame, Known, Raised, crash_of, root_of, walk, whole, with_live
from explainer.frozen import replace
from explainer.loaded import changed_files
from explainer.locale import word
from explainer.probes.scene import Live, LiveFrame
from explainer.reporting import relative
from explainer.source import line_of, withhold
from explainer.userframes import chain, is_user_file

#: A line of code that recursion passes again and again is kept this often, and the innermost frames always.
REPEATS, INNERMOST = 3, 20
#: Errors further down a chain, or inside a group, than this are not looked at.
DEPTH, MEMBERS = 50, 20
#: How many errors of a chain are looked at for frames whose file has changed.
_CHAIN = 10
OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_COUNTERS = frozenset(
    ["epoch", "step", "global_step", "iteration", "batch_idx", "batch_index", "batch_i", "i_batch", "minibatch"]
)
#: What carries the text of an error from a process whose frames are not here: those that are only waited for it.
_ELSEWHERE = ("future", "ray", "spawn", "notebook")
_EMBEDDED, _STACK = "Traceback (most recent call last)", '\n  File "'  # Ray leaves the first line out
_PLAIN = (str, bytes, int, float, bool, type(None))


def crash_from(
    error: BaseException,
    traceback: types.TracebackType | None,
    known: Known,
    language: str = "en",
    changed: Collection[str] | None = None,
) -> Crash:
    """The root of a live exception's chain as a `Crash`; `known` tells whether a symptom matches an exception.

    `changed` is what `changed_under` says of it, where that is known already. The caller drops `crash.live` as soon as
    the diagnosis is made: its frames keep tensors, and GPU memory, alive.
    """
    changed = changed_under(error, traceback) if changed is None else changed
    withhold(changed)
    raised = raised_from(error, traceback)
    found = root_of(raised, known)
    root = found.error or error
    own = traceback if root is error else root.__traceback__
    others = (live_frames(one.error.__traceback__) for _, one in walk(raised) if one.error is not None)
    frames = list(whole(live_frames(own), others, lambda one: one.frame))
    remarks = (*loop_position(frames), *(word("changed", language, file=relative(file)) for file in sorted(changed)))
    crash = crash_of(Found(raised, remarks=remarks), known)
    elsewhere = found.error is None and crash.runner in _ELSEWHERE
    return crash if elsewhere else with_live(crash, Live(root, frames))


def changed_under(error: BaseException, traceback: types.TracebackType | None = None) -> set[str]:
    """The user's files that were changed after the running code had been loaded from them: see `loaded`."""
    stacks = [error.__traceback__ if traceback is None else traceback]
    stacks += [one.__traceback__ for one in itertools.islice(chain(error), 1, _CHAIN)]
    codes = (step.tb_frame.f_code for stack in stacks for step in _steps(stack))
    ran = [code for code in codes if is_user_file(code.co_filename)]
    return changed_files(ran)


def raised_from(error: BaseException, traceback: types.TracebackType | None = None) -> Raised:
    """An exception with its chain, notes, group members and embedded worker text."""
    return _raised(error, traceback if traceback is not None else error.__traceback__, set(), 0)


def live_frames(traceback: types.TracebackType | None) -> list[LiveFrame]:
    """A traceback's frames, outermost first, ours left out and recursion folded."""
    steps = [
        LiveFrame(step.tb_frame, step.tb_lineno, step.tb_lasti, is_user_file(step.tb_frame.f_code.co_filename))
        for step in _steps(without_ours(traceback))
    ]
    return _folded(steps)


def without_ours(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without the frames of `explain run` or `%%explain` that it begins with."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(OURS):
        traceback = traceback.tb_next
    return traceback


def loop_position(frames: list[LiveFrame]) -> tuple[str, ...]:
    """`epoch = 3, step = 120`: how far the user's loops had come, from variables that are called so and are ints."""
    found: dict[str, int] = {}
    for live in frames:
        names = _COUNTERS.intersection((*live.frame.f_code.co_varnames, *live.frame.f_code.co_names))
        values = {name: live.locals.get(name) for name in sorted(names)} if live.user and names else {}
        found.update((name, value) for name, value in values.items() if type(value) is int)
    return (", ".join(f"{name} = {value}" for name, value in found.items()),) if found else ()


def _raised(error: BaseException, traceback: types.TracebackType | None, seen: set[int], depth: int) -> Raised:
    seen.add(id(error))

    def follow(other: BaseException | None) -> Raised | None:
        if other is None or id(other) in seen or depth >= DEPTH:
            return None
        return _raised(other, other.__traceback__, seen, depth + 1)

    hidden = error.__cause__ is not None or error.__suppress_context__
    message = message_of(error)
    runner, embedded = _embedded(error, message)
    return Raised(
        type_name(error),
        message,
        tuple(frozen(frame) for frame in live_frames(traceback)),
        _notes(error),
        cause=follow(error.__cause__),
        context=None if hidden else follow(error.__context__),
        members=tuple(member for member in map(follow, _members(error)) if member is not None),
        embedded=embedded,
        runner=runner,
        error=error,
    )


def type_name(error: BaseException) -> str:
    """The exception's type as a traceback prints it: `torch.OutOfMemoryError`, `ValueError`."""
    kind = type(error)
    own = kind.__module__ in ("builtins", "__main__")
    return kind.__qualname__ if own else f"{kind.__module__}.{kind.__qualname__}"


def message_of(error: BaseException) -> str:
    """The exception's message. The user's own objects and `__str__` methods are not asked: plain arguments show."""
    if isinstance(error, SyntaxError):
        return str(error.msg)
    if _asks_user(error):
        return ", ".join(_shown(one) for one in error.args)
    try:
        return str(error)
    except BaseException:
        return ""


def _shown(value: Any) -> str:
    """A plain argument, or torch's words for one number on the CPU (a key that was looked up); else its type."""
    if isinstance(value, _PLAIN):
        return str(value)
    torch = sys.modules.get("torch")
    number = torch is not None and type(value) is torch.Tensor and value.device.type == "cpu" and value.dim() == 0
    return repr(value) if number else type(value).__name__


def _asks_user(error: BaseException) -> bool:
    code = getattr(type(error).__str__, "__code__", None)
    if code is not None and is_user_file(code.co_filename):
        return True
    return not isinstance(error, OSError) and not all(_plain(one) for one in error.args)


def _plain(value: Any) -> bool:
    if type(value) in (tuple, list):
        return len(value) <= 100 and all(type(one) in _PLAIN for one in value)
    return type(value) in _PLAIN or (isinstance(value, BaseException) and not _asks_user(value))


def _notes(error: BaseException) -> tuple[str, ...]:
    notes = getattr(error, "__notes__", ())
    return tuple(note for note in notes if type(note) is str) if type(notes) in (list, tuple) else ()


def _members(error: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group, Python's own or the `exceptiongroup` backport's."""
    if not any(kind.__name__ == "BaseExceptionGroup" for kind in type(error).__mro__):
        return ()
    members = getattr(error, "exceptions", ())
    return tuple(one for one in members if isinstance(one, BaseException))[:MEMBERS]


def _embedded(error: BaseException, message: str) -> tuple[str | None, Raised | None]:
    """What carried another process's error over, and that error, where the message holds its traceback."""
    if _EMBEDDED not in message and _STACK not in message:
        return None, None
    from explainer.reading import read_text

    if type(error).__name__.endswith("RemoteTraceback"):  # a pool's: all that it holds is the text, in quotes
        remote = next((one.raised for one in read_text(message.strip().strip('"'))), None)
        return ("future", _at_home(remote)) if remote is not None else (None, None)
    found = read_text(f'{_EMBEDDED}:\n  File "<live>", line 1, in <module>\n{type_name(error)}: {message}\n')
    first = next((one.raised for one in found if one.raised.embedded is not None), None)
    return (first.runner, first.embedded) if first is not None else (None, None)


def _at_home(remote: Raised) -> Raised:
    """A worker's error with the files of the functions that were sent to it by value, which keep their lines alone."""
    return replace(remote, frames=tuple(_from_main(one) if one.file.startswith("<") else one for one in remote.frames))


def _from_main(frame: Frame) -> Frame:
    """A frame of a function of the program's own, which stands in its script at that line; any other as it is."""
    names = list(vars(sys.modules["__main__"]).values())
    names += [one for kind in names if isinstance(kind, type) for one in vars(kind).values()]
    codes = {one.__code__ for one in names if isinstance(one, types.FunctionType)}
    own = [code for code in codes if code.co_name == frame.function and frame.line in (at[2] for at in code.co_lines())]
    if len(own) != 1:
        return frame
    file = own[0].co_filename
    return replace(frame, file=file, code=line_of(file, frame.line, {}).strip(), user=is_user_file(file))


def _steps(traceback: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _folded(steps: list[LiveFrame]) -> list[LiveFrame]:
    """Each line at most `REPEATS` times, but for the innermost frames."""
    if len(steps) <= INNERMOST * 2:
        return steps
    kept, times = [], dict.fromkeys(((id(one.frame.f_code), one.line) for one in steps), 0)
    for one in steps[:-INNERMOST]:
        key = id(one.frame.f_code), one.line
        times[key] += 1
        if times[key] <= REPEATS:
            kept.append(one)
    return kept + steps[-INNERMOST:]


def frozen(live: LiveFrame) -> Frame:
    """A live frame as the `Frame` that a printed traceback would give, with columns where Python knows them."""
    text = source_line(live)
    column, end = _columns(live, text)
    return Frame(live.file, live.line, function_name(live.frame), text.strip(), live.user, column, end)


def source_line(live: LiveFrame) -> str:
    """The text of the line at which a frame stood; empty where its file has changed since it was loaded."""
    return line_of(live.file, live.line, live.frame.f_globals)


def function_name(frame: types.FrameType) -> str:
    """`Net.forward`; on Python 3.10, which has no qualified names in code objects, through the class of `self`."""
    code = frame.f_code
    name = getattr(code, "co_qualname", None)
    if name is not None:
        return name.rsplit("<locals>.", 1)[-1]
    for kind in type(frame.f_locals.get("self")).__mro__ if code.co_varnames[:1] == ("self",) else ():
        if getattr(vars(kind).get(code.co_name), "__code__", None) is code:
            return f"{kind.__qualname__.rsplit('<locals>.', 1)[-1]}.{code.co_name}"
    return code.co_name


def _columns(live: LiveFrame, text: str) -> tuple[int | None, int | None]:
    """The failing expression's columns: 1-based characters, the end exclusive (code objects count bytes)."""
    positions = getattr(live.frame.f_code, "co_positions", None)
    if positions is None or live.lasti < 0:
        return _columns_of_node(live, text)
    line, end_line, start, end = next(itertools.islice(positions(), live.lasti // 2, None), (None,) * 4)
    if line != live.line or start is None or end is None or not text:
        return None, None
    raw = text.encode("utf-8", "replace")
    first = len(raw[:start].decode("utf-8", "replace")) + 1
    last = len(raw[:end].decode("utf-8", "replace")) + 1 if end_line == line else len(text) + 1
    return first, last


def _columns_of_node(live: LiveFrame, text: str) -> tuple[int | None, int | None]:
    """The same on Python 3.10, where code objects have no columns: those of the user's failing node."""
    failing = live.failing() if live.user else None
    if failing is None or isinstance(failing.node, ast.stmt) or failing.span.line != live.line:
        return None, None
    return failing.span.column, failing.span.end_column if failing.span.end_line == live.line else len(text) + 1
