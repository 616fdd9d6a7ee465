"""The frames of an error in a recorded run, and what their functions were given."""

from __future__ import annotations

import inspect
import re
from typing import Any

from explainer.replay.recorders import taint
from explainer.replay.recorders.values import flat, is_number


def frames_of(error: BaseException) -> list[tuple[Any, int]]:
    """The frames of an error's traceback with their instructions, outermost first."""
    found, trace = [], error.__traceback__
    while trace is not None:
        found.append((trace.tb_frame, trace.tb_lasti))
        trace = trace.tb_next
    return found


def modules_of(error: BaseException) -> list[Any]:
    """The modules whose calls stand on an error's stack, outermost first."""
    frames = [frame for frame, _ in frames_of(error) if frame.f_code.co_name == "_call_impl"]
    return [frame.f_locals.get("self") for frame in frames]


def position_at(frame: Any, lasti: int) -> Any:
    """The place in the source of an instruction of a frame."""

    class At:
        f_code, f_lasti = frame.f_code, lasti

    return taint.position(At)


def arguments(frame: Any) -> dict[str, Any]:
    """The integers among a function's arguments by name, with their trees."""
    named = given(frame)
    trees = {name: [taint.tree_of(one) for one in flat(value) if is_number(one)] for name, value in named.items()}
    return {name: found for name, found in trees.items() if found}


def given(frame: Any, star: bool = False) -> dict[str, Any]:
    """A function's arguments as they are by now; with `star` what stands behind a star, too, as one tuple."""
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(star and code.co_flags & inspect.CO_VARARGS)
    return {name: frame.f_locals[name] for name in code.co_varnames[:count] if name in frame.f_locals}


def unpacks(message: str, count: int) -> bool:
    """Whether a ValueError says that so many values were more or fewer than there were names for them."""
    few = re.match(r"not enough values to unpack \(expected (?:at least )?\d+, got (\d+)\)", message)
    many = re.match(r"too many values to unpack \(expected (\d+)", message)
    return int(few[1]) == count if few else many is not None and count > int(many[1])
