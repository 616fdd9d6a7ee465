"""A program's files cut down to what leads to its crash, line by line: each statement left stands where it stood.

The statements above the failing ones, in the functions on the stack and at the top of their files, are left out where
they train. Where that is not enough a loop takes the turn that failed, and what the program's own classes have no part
in is what the crashed process holds.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from explainer.replay import held
from explainer.replay.window import is_turn, levels_to, statements_of
from explainer.source import Source, called, loaded, source_of, stored
from explainer.userframes import is_user_file

#: What is left out beside what trains: the turns of loops before the one that failed, the making of what is held.
TURNS, MAKING = "turns", "making"
#: Of a container so many values are looked at.
_SEEN = 20
_DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Trimmed:
    """The lines of files with statements left out."""

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}

    def texts(self) -> dict[str, str]:
        """The files' texts, of those that something was left out of."""
        return {file: "\n".join(lines) + "\n" for file, lines in self.lines.items()}

    def without(self, source: Source, statement: ast.stmt) -> None:
        """Leave a statement out."""
        self.with_text(source, statement, "pass")

    def with_text(self, source: Source, statement: ast.stmt, text: str) -> None:
        """Put another statement in the place of one that has its lines for itself."""
        first, last = _first(statement), statement.end_lineno or statement.lineno
        before = source.lines[first - 1][: statement.col_offset]
        behind = source.lines[last - 1].encode()[statement.end_col_offset or 0 :].decode().strip()
        if not before.strip() and (not behind or behind.startswith("#")):
            self._of(source)[first - 1 : last] = [before + text, *[""] * (last - first)]

    def with_expression(self, source: Source, node: ast.expr, text: str) -> None:
        """Put another expression in the place of one that stands on a single line."""
        span = source.span(node)
        if span.end_line == span.line and span.column is not None and span.end_column is not None:
            lines = self._of(source)
            line = lines[span.line - 1]
            lines[span.line - 1] = line[: span.column - 1] + text + line[span.end_column - 1 :]

    def without_shell(self, source: Source) -> None:
        """Leave out of a cell what asks the notebook's shell for something."""
        for one in source.tree.body if source.tree is not None else ():
            if "get_ipython" in loaded(one):
                self.without(source, one)

    def ending(self, source: Source, text: str) -> None:
        """Let a file end with a statement, and do nothing of its own where it is the script."""
        for one in source.tree.body if source.tree is not None else ():
            if isinstance(one, ast.If) and "__name__" in loaded(one.test):
                self.without(source, one)
        self._of(source).append(text)

    def _of(self, source: Source) -> list[str]:
        return self.lines.setdefault(source.file, list(source.lines))


def trimmed(frames: Sequence[Any], but: Sequence[str], sources: Iterable[Source] = ()) -> Trimmed:
    """The files of some live frames, outermost first, with what trains left out, and what `but` names."""
    found, seen, inside = Trimmed(), set(), False
    known = [source_of(frame.file, frame.frame.f_globals) for frame in frames]
    training = trainers([*known, *sources])
    for depth, (frame, source) in enumerate(zip(frames, known, strict=True)):
        body = statements_of(frame, source)
        if body is None or id(body[1]) in seen:
            continue
        seen.add(id(body[1]))
        cut = _Cut(found, source, Live(depth, frame), training, but)
        path = list(levels_to(*body, frame.line))
        inside = inside or _of_layer(frame)
        inside = cut.path(path, inside) or inside
    return found


def _of_layer(frame: Any) -> bool:
    """Whether a frame is of a method of a layer: it is short, as each turn of a loop is."""
    code = frame.frame.f_code
    owner = frame.locals.get(code.co_varnames[0]) if code.co_argcount else None
    return "Module" in {one.__name__ for one in type(owner).__mro__}


def trainers(sources: Iterable[Source]) -> set[str]:
    """The names of functions that call `backward`, themselves or by others; that too."""
    nodes = [node for source in sources for node in source.nodes()]
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    calls = {id(one): {called(node) for node in ast.walk(one) if isinstance(node, ast.Call)} for one in functions}
    found: set[str] = {"backward"}
    while True:
        more = {one.name for one in functions if calls[id(one)] & found} - found
        if not more:
            return found
        found |= more


class Live:
    """The names of a live frame."""

    def __init__(self, depth: int, frame: Any):
        self.depth, self.names, self.globals = depth, frame.locals, frame.frame.f_globals

    def of_torch(self, call: ast.Call) -> bool:
        """Whether a call is of a function of torch's that makes something, and reads no file."""
        root: ast.expr = call.func
        while isinstance(root, ast.Attribute):
            root = root.value
        value = self.names.get(root.id, self.globals.get(root.id)) if isinstance(root, ast.Name) else None
        home = value.__name__ if isinstance(value, types.ModuleType) else ""
        return home.partition(".")[0] == "torch" and "load" not in called(call)

    def text(self, target: ast.AST) -> str | None:
        """What stands for a name, or some in a tuple; None where one of them is not held."""
        if isinstance(target, ast.Name):
            return held.text(self.depth, target.id) if target.id in self.names else None
        if not isinstance(target, (ast.Tuple, ast.List)):
            return None
        parts = [self.text(one) for one in target.elts]
        return None if None in parts else f"({', '.join(map(str, parts))},)"


class _Cut:
    """Leaves out what stands beside the way to the failing statement of one frame."""

    def __init__(self, found: Trimmed, source: Source, live: Live, training: set[str], but: Sequence[str]):
        self.found, self.source, self.live, self.training, self.but = found, source, live, training, but
        self.bound: set[str] = set()
        self.anew: set[str] = set()

    def path(self, path: Sequence[Any], inside: bool) -> bool:
        """Go down the blocks, and tell whether a loop is on the way: from there on, or where `inside`, all stays."""
        for level in path:
            inside = inside or is_turn(level)
            for one in level.body[: level.index] if not inside else ():
                self._before(one)
            self._pinned(level.body[level.index])
        return inside

    def _before(self, one: ast.stmt) -> None:
        if isinstance(one, _DEFINING):
            return
        if self._trains(one):
            self.found.with_text(self.source, one, self._held(stored(one)))
        elif MAKING in self.but and self._is_foreign(one):
            self.found.with_text(self.source, one, self._held(stored(one) | loaded(one) & self.bound))
        elif any(isinstance(node, ast.Call) for node in ast.walk(one)):
            self.anew |= stored(one)
        self.bound |= stored(one)

    def _trains(self, one: ast.stmt) -> bool:
        """Whether a statement trains for many steps."""
        names = {called(node) for node in ast.walk(one) if isinstance(node, ast.Call)} & self.training
        return bool(names) and (isinstance(one, _LOOPS) or names != {"backward"})

    def _held(self, names: set[str]) -> str:
        """The statement that gives names what the crashed process holds."""
        known = sorted(names & self.live.names.keys())
        values = ", ".join(held.text(self.live.depth, name) for name in known)
        return f"{', '.join(known)} = {values}" if known else "pass"

    def _is_foreign(self, one: ast.stmt) -> bool:
        """Whether nothing that a statement gets or gives is of the program's own making, and it may take its time."""
        if not isinstance(one, (ast.Assign, ast.AnnAssign, ast.Expr, *_LOOPS)) or loaded(one) & self.anew:
            return False
        names = stored(one) | (loaded(one) & self.bound)
        calls = [node for node in ast.walk(one) if isinstance(node, ast.Call)]
        slow = isinstance(one, _LOOPS) or not all(map(self.live.of_torch, calls))
        return slow and not any(is_own(self.live.names[name]) for name in names & self.live.names.keys())

    def _pinned(self, one: ast.stmt) -> None:
        """Let a loop on the way take the turn that failed."""
        value = self.live.text(one.target) if TURNS in self.but and isinstance(one, ast.For) else None
        if value is not None and isinstance(one, ast.For):
            self.found.with_expression(self.source, one.iter, f"[{value}]")


def is_own(value: Any) -> bool:
    """Whether a value is an object of the program's own classes, holds some, or is a layer of torch's.

    None of the program's code is run.
    """
    kind = type(value)
    if kind.__module__.startswith("torch.nn.modules.") or _made_by_the_user(kind):
        return True
    if kind in (list, tuple, set, dict):
        parts = value.values() if kind is dict else value
        return any(is_own(one) for one, _ in zip(parts, range(_SEEN), strict=False))
    return any(_made_by_the_user(type(one)) for one in _held_by(value))


def _held_by(value: Any) -> Iterator[Any]:
    """What an object holds: a loader its samples, a library's layer the layers in it."""
    try:
        names = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return
    yield from list(names.values())
    for layer in list((names.get("_modules") or {}).values()):
        yield from _held_by(layer)


def _made_by_the_user(kind: type) -> bool:
    """Whether a class is the program's: by its module, or by the methods of one that has no file."""
    home = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if isinstance(home, str):
        return is_user_file(home)
    methods = (one for one in vars(kind).values() if type(one) is types.FunctionType)
    return any(is_user_file(one.__code__.co_filename) for one in methods)


def _first(statement: ast.stmt) -> int:
    return min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])
