"""What torch says to wrong calls that are made from right ones: one argument of a sample of its tests is spoiled.

Each operator runs in a forked child with limits of time and memory, because some wrong calls crash the process or never
end; what it had raised until then is kept. `harvest.py --spoil` uses it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from spoil import spoiled

from explainer.crash import Frame, Raised

#: Seconds of processor time, and bytes of address space beyond the parent's, that one operator may take.
SECONDS, BYTES = 10, 6 << 30
SAMPLES = 2
Sample = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def of_operator(info: Any) -> Iterator[Sample]:
    """The sample inputs of an `OpInfo`, with its function and its in-place variant."""
    import torch

    dtype = next((one for one in (torch.float32, torch.int64, torch.bool) if one in info.dtypes), torch.float32)
    for number, one in enumerate(info.sample_inputs("cpu", dtype)):
        yield info.op, (one.input, *one.args), dict(one.kwargs)
        if number == 0 and info.inplace_variant:
            yield info.inplace_variant, (one.input, *one.args), dict(one.kwargs)


def of_module(info: Any) -> Iterator[Sample]:
    """The sample inputs of a `ModuleInfo`: its constructor, and a call of what that made."""
    import torch

    settings = {"device": "cpu", "dtype": torch.float32, "requires_grad": False, "training": True}
    for one in info.module_inputs_func(info, **settings):
        made, call = one.constructor_input, one.forward_input
        yield info.module_cls, made.args, made.kwargs
        if call is not None:
            yield info.module_cls(*made.args, **made.kwargs), call.args, call.kwargs


def chosen(samples: Iterator[Sample]) -> list[Sample]:
    """The first samples, and of the next ones that with the most keywords; none where they cannot be made."""
    try:
        given = list(islice(samples, 40))
    except Exception:
        return []
    return given[:SAMPLES] + sorted(given[SAMPLES:], key=lambda one: len(one[2]))[-1:]


def raised(call: Callable[[], Any]) -> Raised | None:
    """The error that a call raises, with the files of its frames; None where it is accepted. Nothing is printed."""
    try:
        with warnings.catch_warnings(), open(os.devnull, "w") as null:
            warnings.simplefilter("ignore")
            with contextlib.redirect_stdout(null), contextlib.redirect_stderr(null):
                call()
    except SystemExit:
        return None
    except Exception as error:
        frames = tuple(Frame(at.filename, at.lineno or 0) for at in traceback.extract_tb(error.__traceback__))
        return Raised(type(error).__name__, str(error), frames)
    return None


def errors(samples: Iterator[Sample]) -> Iterator[Raised]:
    """What spoiled samples raise, gathered in a child process."""
    with tempfile.TemporaryFile("w+") as kept:
        child = os.fork()
        if not child:
            try:
                _gather(samples, kept)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        kept.seek(0)
        for line in kept:
            with contextlib.suppress(ValueError):
                kind, message, files = json.loads(line)
                yield Raised(kind, message, tuple(Frame(file, 0) for file in files))


def _gather(samples: Iterator[Sample], kept: Any) -> None:
    """Writes each distinct error as a line of JSON, within the limits of a child process."""
    signal.alarm(2 * SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_size() + BYTES, _size() + BYTES))
    seen = set()
    for function, args, kwargs in chosen(samples):
        for arguments in spoiled(args, kwargs):
            error = _of(function, arguments)
            if error is not None and (error.type, error.message) not in seen:
                seen.add((error.type, error.message))
                kept.write(json.dumps([error.type, error.message, [frame.file for frame in error.frames]]) + "\n")
                kept.flush()


def _of(function: Callable[..., Any], arguments: Callable[[], Any]) -> Raised | None:
    """What the function raises; a wrong argument that cannot be made, or a method without its tensor, is no case."""
    import torch

    try:
        args, kwargs = arguments()
    except Exception:
        return None
    if type(function).__name__ == "method_descriptor" and not (args and isinstance(args[0], torch.Tensor)):
        return None
    return raised(lambda: function(*args, **kwargs))


def _size() -> int:
    """Bytes of address space of this process; Linux only."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
