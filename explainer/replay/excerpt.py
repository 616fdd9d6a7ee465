"""A part of a program as a program of its own, where the whole cannot run again: in a notebook, a test, a rank, late.

It begins anew, in forks of the crashed process: a notebook's cells in their order, a test's file and then the test.
What is long is left out of it (`replay.trimmed`), as little as gets it to the crash soon.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from explainer.frozen import frozen
from explainer.replay import held
from explainer.replay.ahead import SHARE, Begun, begun
from explainer.replay.outcomes import alike
from explainer.replay.program import Program, unavailable
from explainer.replay.trial import at_once, early
from explainer.replay.trimmed import MAKING, TURNS, Trimmed, trimmed
from explainer.source import Source, source_of

#: Of the work that is left, the share that looking for an excerpt may take.
_LOOKING = 0.45
#: What is left out of each excerpt beside what trains; None: nothing at all.
_SHORTER: tuple[tuple[str, ...] | None, ...] = (None, (), (TURNS,), (MAKING,), (TURNS, MAKING))


@frozen
class Excerpt:
    """What runs again: a program, the texts of its files as far as they differ, cells' files by their names in it.

    `begun` is its unedited run, which failed as the crash did.
    """

    program: Program
    texts: Mapping[str, str]
    cells: Mapping[str, str]
    begun: Begun

    def below(self, file: str) -> str:
        """A file's path below the program's folder, as runs of it know it."""
        return self.cells.get(file) or below(self.program, file)

    def source(self, path: str) -> Source:
        """The source of a file by its path below the folder, as the crashed process has it."""
        name = below(self.program, path)
        return source_of(next((file for file, cell in self.cells.items() if cell == name), path))


def below(program: Program, file: str) -> str:
    """A file's path below a program's folder."""
    return os.path.relpath(os.path.realpath(file), os.path.realpath(program.folder))


def excerpt_of(scene: Any) -> Excerpt | None:
    """The excerpt with which a crash's process searches for repairs; None where none gets to the crash soon."""
    return scene.once("excerpt", lambda: _excerpt_of(scene))


def _excerpt_of(scene: Any) -> Excerpt | None:
    frames = scene.live.user if scene.live is not None else []
    whole = _whole(frames)
    if whole is None or unavailable(whole.program):
        return None
    least = scene.seconds_left * (1 - _LOOKING)
    with held.keeping([frame.locals for frame in frames]):
        texts = _texts(scene, frames, whole)
        while scene.seconds_left > least:
            tried = [(one, begun(whole.program, scene.seconds_left * SHARE, one)) for one in islice(texts, at_once())]
            if not tried:
                return None
            found = next((one for one in tried if _fails_alike(one[1], scene)), None)
            ended = [run.recording.done().seconds for _, run in tried]
            scene.spent.add(max(ended))
            if found is not None:
                return Excerpt(whole.program, found[0], whole.cells, found[1])
    return None


def _fails_alike(run: Begun, scene: Any) -> bool:
    """Whether an unedited run fails soon, as the crash did."""
    return run.recording.soon() and alike(run.recording.done(), scene.crash)


@frozen
class _Whole:
    """A program that ends with the crash, with the cells that it is made of and the statement that ends it."""

    program: Program
    cells: Mapping[str, str] = {}
    ends: str = ""


def _texts(scene: Any, frames: Sequence[Any], whole: _Whole) -> Iterator[dict[str, str]]:
    """The texts of ever shorter excerpts."""
    cells = [source_of(file) for file in whole.cells]
    known: list[dict[str, str]] = []
    for but in _SHORTER:
        cut = trimmed(frames, but, cells) if but is not None else Trimmed()
        for source in cells:
            cut.without_shell(source)
        if whole.ends:
            cut.ending(source_of(frames[0].file), whole.ends)
        texts = {whole.cells.get(file) or below(whole.program, file): text for file, text in cut.texts().items()}
        texts.update({whole.cells[one.file]: one.whole for one in cells if whole.cells[one.file] not in texts})
        if texts not in known and not (but is None and _is_late(scene)) and not any(map(_outside, texts)):
            known.append(texts)
            yield texts


def _outside(path: str) -> bool:
    return path.startswith(os.pardir)


def _is_late(scene: Any) -> bool:
    """Whether it is known that the program has been at work for long."""
    program = scene.options.program
    return program is not None and not early(program.started)


def _whole(frames: Sequence[Any]) -> _Whole | None:
    """The program of a crashed stack: its cells, its script, or the file whose function was called."""
    if not frames:
        return None
    outermost = frames[0]
    cells = _cells(outermost)
    if cells:
        names = {file: f".explain-cell-{count}.py" for count, file in enumerate(cells, 1)}
        return _Whole(Program(None, None, (), os.getcwd(), warm=True, cells=tuple(names.values())), names)
    if not os.path.isfile(outermost.file):
        return None
    program = _of_file(outermost)
    if outermost.frame.f_code.co_name == "<module>":
        return _Whole(program)
    ends = _called_again(outermost)
    return _Whole(program, ends=ends) if ends else None


def _of_file(frame: Any) -> Program:
    file, here = os.path.abspath(frame.file), os.getcwd()
    inside = os.path.realpath(file).startswith(os.path.realpath(here) + os.sep)
    folder = here if inside else os.path.dirname(file)
    names = frame.frame.f_globals
    spec = names.get("__spec__")
    module = spec.name if spec is not None and names.get("__package__") else None
    arguments = tuple(sys.argv[1:])
    return Program(None if module else file, module, arguments, folder, warm=True)


def _cells(frame: Any) -> list[str]:
    """The files of a notebook's cells up to the one that a frame runs, in their order; none elsewhere."""
    shell = getattr(getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)(), "compile", None)
    numbers: dict[str, int] = dict(getattr(shell, "_filename_map", None) or {})
    last = numbers.get(frame.file)
    if last is None or frame.frame.f_code.co_name != "<module>":
        return []
    ordered = sorted(numbers.items(), key=lambda one: one[1])
    return [file for file, number in ordered if number <= last and source_of(file).tree is not None]


def _called_again(frame: Any) -> str:
    """The statement that calls a frame's function once more; empty where that cannot be named."""
    source, code = source_of(frame.file), frame.frame.f_code
    function = source.function_at(frame.line)
    for outer in source.tree.body if source.tree is not None else ():
        if outer is function:
            return held.call("", code.co_name)
        if function in getattr(outer, "body", ()) and hasattr(outer, "bases"):
            return held.call(outer.name, code.co_name)  # type: ignore[attr-defined]
    return ""
