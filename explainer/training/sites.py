"""Where the user's code stood when something was called: cheap to note, turned into source only when it is told."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from explainer.source import Failing, Source, failing_node, source_of
from explainer.userframes import is_user_file

_DEEPEST = 120
#: Code whose source nobody can show: `-c`, `exec`, a prompt.
_UNREAD = ("<string>", "<stdin>", "<unknown>", "<frozen", "<__array")


class Frame(NamedTuple):
    """One of the user's frames: its code, the instruction and the line at which it stood."""

    code: Any
    lasti: int
    line: int

    @property
    def file(self) -> str:
        """The file of the frame's code."""
        return str(self.code.co_filename)

    def source(self) -> Source:
        """The file's source."""
        return source_of(self.file)

    def node(self) -> Failing | None:
        """The expression at which the frame stood."""
        return failing_node(_Standing(self), self.lasti, self.line)  # type: ignore[arg-type]


class _Standing:
    """What `failing_node` asks of a frame, for one that may be gone."""

    def __init__(self, frame: Frame):
        self.f_code, self.f_lasti, self.f_lineno = frame.code, frame.lasti, frame.line
        self.f_globals: dict[str, Any] = {}


Site = tuple[Frame, ...]


def frames(skip: int = 1, most: int = 6) -> Site:
    """The user's frames above the caller, innermost first; what runs or imports a module's own code is left out."""
    found: list[Frame] = []
    frame: types.FrameType | None = sys._getframe(skip + 1)
    while frame is not None:
        code = frame.f_code
        known = _KNOWN.get(code.co_filename)
        if known is None:
            known = _KNOWN[code.co_filename] = _is_users(code.co_filename)
        if known:
            found.append(Frame(code, frame.f_lasti, frame.f_lineno))
            if len(found) == most or code.co_name == "<module>":
                break
        frame = frame.f_back
    return tuple(found)


#: Files met before, and whether they are the user's: every call of torch that is looked at asks.
_KNOWN: dict[str, bool] = {}


@lru_cache(maxsize=4096)
def _is_users(file: str) -> bool:
    return is_user_file(file) and not file.startswith(_UNREAD)


def user_frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """The frames of the user's own code from one on outwards."""
    for _ in range(_DEEPEST):
        if frame is None:
            return
        if _is_users(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def key(site: Site) -> tuple[str, int, int] | None:
    """What tells sites apart: file, line and instruction of the innermost frame."""
    return (site[0].file, site[0].line, site[0].lasti) if site else None


def statement(frame: Frame) -> tuple[Source, ast.stmt] | None:
    """The statement at which a frame stood, with its source."""
    source = frame.source()
    found = source.statement_at(frame.line)
    return (source, found) if found is not None else None


def named(frame: types.FrameType, value: Any) -> str | None:
    """The name under which a live frame knows an object: a local, a global, or an attribute of `self`."""
    for names in (frame.f_locals, frame.f_globals):
        for name, held in list(names.items()):
            if held is value and name.isidentifier() and not name.startswith("_"):
                return name
    for owner in ("self", "cls"):
        held = frame.f_locals.get(owner)
        for name, one in list(getattr(held, "__dict__", {}).items()):
            if one is value and str(name).isidentifier():
                return f"{owner}.{name}"
    return None


def named_within(frame: types.FrameType, value: Any) -> str | None:
    """The same, also for an object that lies in a dict, list or tuple which the frame knows: `optimizers["head"]`."""
    direct = named(frame, value)
    if direct is not None:
        return direct
    own = getattr(frame.f_locals.get("self"), "__dict__", {})
    held = [*frame.f_locals.items(), *frame.f_globals.items(), *((f"self.{name}", one) for name, one in own.items())]
    for name, holder in held:
        if name.startswith("_") or type(holder) not in (dict, list, tuple) or len(holder) > 100:
            continue
        for at, one in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if one is value and isinstance(at, (str, int)):
                return f"{name}[{at!r}]".replace("'", '"')
    return None


def stepping_package(frame: types.FrameType | None) -> str:
    """The package whose code called something of torch, `lightning` or `transformers`; empty where the user's did."""
    for _ in range(_DEEPEST):
        name = str(frame.f_globals.get("__name__", "")) if frame is not None else ""
        if frame is None or _is_users(frame.f_code.co_filename):
            return ""
        if name.partition(".")[0] not in ("torch", "explainer", "contextlib", "functools", ""):
            return name.partition(".")[0]
        frame = frame.f_back
    return ""
