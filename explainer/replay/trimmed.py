"""A program's files cut down to what leads to its crash, line by line: each statement left stands where it stood.

The statements beside the failing ones, in the functions on the stack and at the top of their files, are left out where
they train; in a short cut, what is not made by the program's own code is what the crashed process holds, and a loop
takes the turn that failed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from explainer.replay import held
from explainer.replay.window import is_turn, levels_to, statements_of
from explainer.source import Source, called, loaded, source_of, stored
from explainer.userframes import is_user_file

#: How much is left out: what trains and what comes behind; also what took its time before.
TRAINING, SHORT = 1, 2
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


def trimmed(frames: Sequence[Any], much: int, sources: Iterable[Source] = ()) -> Trimmed:
    """The files of some live frames, outermost first, with as much left out as is asked for."""
    found, seen = Trimmed(), set()
    known = [source_of(frame.file, frame.frame.f_globals) for frame in frames]
    training = trainers([*known, *sources])
    for depth, (frame, source) in enumerate(zip(frames, known, strict=True)):
        body = statements_of(frame, source)
        if body is None or id(body[1]) in seen:
            continue
        seen.add(id(body[1]))
        cut = _Cut(found, source, Live(depth, frame.locals), training, much)
        cut.path(list(levels_to(*body, frame.line)))
    return found


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

    def __init__(self, depth: int, names: Mapping[str, Any]):
        self.depth, self.names = depth, names

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

    def __init__(self, found: Trimmed, source: Source, live: Live, training: set[str], much: int):
        self.found, self.source, self.live, self.training, self.much = found, source, live, training, much
        self.anew: set[str] = set()

    def path(self, path: Sequence[Any]) -> None:
        """Go down the blocks; what stands in a loop stays."""
        for level in path:
            looped = any(is_turn(one) for one in path[: path.index(level) + 1])
            if not looped:
                for one in level.body[: level.index]:
                    self._before(one)
                for one in level.body[level.index + 1 :]:
                    self._behind(one)
            self._pinned(level.body[level.index])

    def _before(self, one: ast.stmt) -> None:
        if isinstance(one, _DEFINING):
            return
        held_instead = self._held(one)
        if self._trains(one):
            self.found.with_text(self.source, one, held_instead or "pass")
        elif self.much >= SHORT and held_instead and self._is_foreign(one):
            self.found.with_text(self.source, one, held_instead)
        elif self.much >= SHORT and (isinstance(one, _LOOPS) or (isinstance(one, ast.Expr) and not _of_method(one))):
            self.found.without(self.source, one)
        else:
            self.anew |= stored(one) if any(isinstance(node, ast.Call) for node in ast.walk(one)) else set()

    def _behind(self, one: ast.stmt) -> None:
        if not isinstance(one, (*_DEFINING, ast.Return)):
            self.found.without(self.source, one)

    def _trains(self, one: ast.stmt) -> bool:
        return any(isinstance(node, ast.Call) and called(node) in self.training for node in ast.walk(one))

    def _held(self, one: ast.stmt) -> str | None:
        """An assignment of what the crashed process holds."""
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        value = self.live.text(targets[0]) if len(targets) == 1 else None
        return f"{ast.unparse(targets[0])} = {value}" if value is not None else None

    def _is_foreign(self, one: ast.stmt) -> bool:
        """Whether an assignment calls something, and nothing that it gets or gives is of the program's own making."""
        calls = any(isinstance(node, ast.Call) for node in ast.walk(one))
        return calls and not loaded(one) & self.anew and not any(is_own(self.live.names[name]) for name in stored(one))

    def _pinned(self, one: ast.stmt) -> None:
        """Let a loop on the way take the turn that failed."""
        value = self.live.text(one.target) if self.much >= SHORT and isinstance(one, ast.For) else None
        if value is not None and isinstance(one, ast.For):
            self.found.with_expression(self.source, one.iter, f"[{value}]")


def is_own(value: Any) -> bool:
    """Whether a value is an object of the program's own classes, holds some, or is a layer of torch's."""
    if isinstance(value, (list, tuple, set)):
        return any(is_own(one) for one, _ in zip(value, range(_SEEN), strict=False))
    if isinstance(value, dict):
        return is_own(list(value.values())[:_SEEN])
    kind = type(value)
    if kind.__module__.startswith("torch.nn.modules.") or _made_by_the_user(kind):
        return True
    modules = getattr(value, "modules", None) if "Module" in {one.__name__ for one in kind.__mro__} else None
    return modules is not None and any(_made_by_the_user(type(one)) for one in modules())


def _made_by_the_user(kind: type) -> bool:
    codes = (getattr(one, "__code__", None) for one in vars(kind).values())
    return any(is_user_file(code.co_filename) for code in codes if code is not None)


def _of_method(one: ast.Expr) -> bool:
    """Whether a statement calls a method: `model.eval()`, `torch.manual_seed(0)`."""
    return isinstance(one.value, ast.Call) and isinstance(one.value.func, ast.Attribute)


def _first(statement: ast.stmt) -> int:
    return min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])

