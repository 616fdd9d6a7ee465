"""Statements of a crashed run executed again in the frames that it left: from those an edit reaches to the failing one.

A frame of the failing stack still has its names. From the statement in which an edited function was entered, or that
was edited itself, to the one that failed, a frame's statements run once more, and end as soon as the failing one is
past. What these statements changed in place before stays changed, so that they must fail again unedited first.
"""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from explainer.frozen import frozen
from explainer.userframes import is_user_file

#: After so many calls of a function it is known from where it is called.
_CALLS = 2000
_Tree = Callable[[str], tuple[list[str], ast.Module]]
Change = Mapping[str, Any]


class Past(BaseException):
    """The failing statement was executed to its end."""


class Entered:
    """From which lines, in which frames, the functions of a folder were called."""

    def __init__(self, folder: str):
        self.folder = folder
        self.own: dict[int, tuple[Any, bool]] = {}  # by identity, as hashing code is slow
        self.calls: dict[Any, int] = {}
        self.lines: dict[Any, set[tuple[int, Any, int]]] = {}

    def begin(self) -> None:
        """Note calls from now on."""
        sys.setprofile(self._note)

    def end(self) -> None:
        """Note none any more."""
        sys.setprofile(None)

    def _note(self, frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not self._is_own(code):
            return
        self.calls[code] = self.calls.get(code, 0) + 1
        if self.calls[code] > _CALLS:
            return
        lines = self.lines.setdefault(code, set())
        outer = frame.f_back
        while outer is not None:
            if self._is_own(outer.f_code):
                lines.add((id(outer), outer.f_code, outer.f_lineno))
            outer = outer.f_back

    def _is_own(self, code: Any) -> bool:
        """Whether code is the program's: not that of packages installed below its folder."""
        known = self.own.get(id(code))
        if known is None or known[0] is not code:
            known = code, code.co_filename.startswith(self.folder) and is_user_file(code.co_filename)
            self.own[id(code)] = known
        return known[1]

    def since(self, code: Any, frame: Any) -> list[int]:
        """The lines of a frame on the failing stack from which a function was entered, in their order."""
        return sorted(
            {line for known, of, line in self.lines.get(code, ()) if known == id(frame) and of is frame.f_code}
        )


@frozen
class Piece:
    """Statements of a frame that are to run again: their frame, their first line, what executes them."""

    frame: Any
    first: int
    run: Callable[[], None]


class Anew:
    """The user's frames of an error, with which edited functions and statements run again."""

    def __init__(self, error: BaseException, folder: str, entered: Entered, tree: _Tree):
        self.entered, self.tree = entered, tree
        self.frames = list(_frames(error, folder))
        self.plain: dict[tuple[int, int], Piece | None] = {}

    def piece(self, edits: Sequence[Change], functions: Sequence[Any], folder: str) -> Piece | None:
        """What runs again for edits: of live functions, or (where a function is None) of a module's own statements."""
        return self._in_place(edits, folder) or self._entered(edits, functions, folder)

    def _in_place(self, edits: Sequence[Change], folder: str) -> Piece | None:
        """The edited statements themselves, where they stand in a function that is still on the stack."""
        if len(edits) != 1:
            return None
        path, line = folder + edits[0]["file"], edits[0]["start"]
        for depth in range(len(self.frames) - 1, -1, -1):
            code = self.frames[depth][0].f_code
            if code.co_filename == path and code.co_name != "<module>":
                piece = self._piece(depth, line, edits)
                if piece is not None:
                    return piece
        return None

    def _entered(self, edits: Sequence[Change], functions: Sequence[Any], folder: str) -> Piece | None:
        """The statements from which edited functions were entered."""
        starts = [self._start(folder + edit["file"], edit["start"], one) for edit, one in zip(edits, functions)]  # noqa: B905
        if not starts or None in starts:
            return None
        depth = min(start[0] for start in starts if start is not None)
        rows = [start[1] for start in starts if start is not None and start[0] == depth]
        lines = rows[0] if len(edits) == 1 else [min(row[0] for row in rows)]
        own = [edit for edit, one in zip(edits, functions) if one is None]  # noqa: B905
        path = self.frames[depth][0].f_code.co_filename
        mixed = len(own) < len(edits) or any(folder + edit["file"] != path for edit in own)
        if own:
            return None if mixed else self._piece(depth, lines[0], own)
        return next(filter(None, (self._as_it_is(depth, line) for line in lines)), None)

    def control(self, piece: Piece) -> Piece | None:
        """The same statements as they are."""
        depth = next(at for at, (frame, _) in enumerate(self.frames) if frame is piece.frame)
        return self._as_it_is(depth, piece.first)

    def earlier(self, piece: Piece) -> Piece | None:
        """The same statements, and the one before them in their block: what they need may have to be made anew."""
        depth = next(at for at, (frame, _) in enumerate(self.frames) if frame is piece.frame)
        body = _body_of(self.tree(piece.frame.f_code.co_filename)[1], piece.frame.f_code)
        before = _line_before(body, piece.first) if body is not None else None
        return self._as_it_is(depth, before) if before is not None else None

    def _as_it_is(self, depth: int, line: int) -> Piece | None:
        """Unedited statements of a frame, which many edits of functions called there run again."""
        if (depth, line) not in self.plain:
            self.plain[depth, line] = self._piece(depth, line, ())
        return self.plain[depth, line]

    def _start(self, path: str, line: int, function: Any) -> tuple[int, list[int]] | None:
        """The frame, by its depth, and the lines in it from which on an edit shows, the first one first."""
        if function is None:
            at = next((k for k, (frame, _) in enumerate(self.frames) if _top_of(frame, path)), None)
            return (at, [line]) if at is not None else None
        on_stack = [k for k, (frame, _) in enumerate(self.frames) if frame.f_code is function.__code__]
        if on_stack:
            return (on_stack[0] - 1, [self.frames[on_stack[0] - 1][1]]) if on_stack[0] else None
        for depth in range(len(self.frames) - 1, -1, -1):
            since = self.entered.since(function.__code__, self.frames[depth][0])
            if since:
                return depth, since
        return None

    def _piece(self, depth: int, line: int, edits: Sequence[Change]) -> Piece | None:
        frame, failed = self.frames[depth]
        path = frame.f_code.co_filename
        lines, tree = self.tree(path)
        shift = 0
        if edits:
            text = with_changes(lines, edits)
            shift = len(text) - len(lines)
            tree = ast.parse("\n".join(text))
        body = _body_of(tree, frame.f_code)  # an edit above its first line would have moved it
        statements = _between(body, line, failed + shift) if body is not None else None
        if statements is None or _rebinds(statements):
            return None
        statements = copy.deepcopy(statements)
        last = _ended(statements[-1], failed + shift)
        for one in (*statements[1:], *last) if shift else ():
            ast.increment_lineno(one, -shift)
        return Piece(frame, line, _runner(frame, path, [_Left().visit(one) for one in (*statements[:-1], *last)]))


def with_changes(lines: Sequence[str], edits: Sequence[Change]) -> list[str]:
    """A file's lines with edits of lines that do not overlap."""
    text = list(lines)
    for edit in sorted(edits, key=lambda one: -one["start"]):
        text[edit["start"] - 1 : edit["end"]] = [] if edit["after"] is None else edit["after"].split("\n")
    return text


def _frames(error: BaseException, folder: str) -> Iterator[tuple[Any, int]]:
    """The user's frames of functions and modules on an error's stack, outermost first, with the lines they were at."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(folder) and (code.co_name == "<module>" or not code.co_name.startswith("<")):
            yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


def _top_of(frame: Any, path: str) -> bool:
    return frame.f_code.co_name == "<module>" and frame.f_code.co_filename == path


def _body_of(tree: ast.Module, code: Any) -> list[ast.stmt] | None:
    """The statements of a code object's function, or of its file."""
    if code.co_name == "<module>":
        return tree.body
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first == code.co_firstlineno:
                return node.body
    return None


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if block and not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body


def _at(body: Sequence[ast.stmt], line: int) -> int | None:
    return next((k for k, one in enumerate(body) if _first_line(one) <= line <= (one.end_lineno or 0)), None)


def _first_line(statement: ast.stmt) -> int:
    return min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])


def _between(body: list[ast.stmt], line: int, failed: int) -> list[ast.stmt] | None:
    """The statements of the innermost block that holds two lines, from the first line's to the last one's."""
    while True:
        first, last = _at(body, line), _at(body, failed)
        if first is None or last is None or first > last:
            return None
        inner = next((one for one in _blocks(body[first]) if _at(one, line) is not None
                      and _at(one, failed) is not None), None) if first == last else None  # fmt: skip
        if inner is None:
            return body[first : last + 1]
        body = inner


def _line_before(body: list[ast.stmt], line: int) -> int | None:
    """The first line of the statement before the one at a line, in the same block."""
    while True:
        at = _at(body, line)
        if at is None:
            return None
        inner = next((one for one in _blocks(body[at]) if _at(one, line) is not None), None)
        if inner is None:
            return _first_line(body[at - 1]) if at else None
        body = inner


def _rebinds(statements: Sequence[ast.stmt]) -> bool:
    """Whether statements before the last one read what they bind: what was there is gone."""
    bound: set[str] = set()
    for statement in statements[:-1]:
        nodes = list(ast.walk(statement))
        names = [one for one in nodes if isinstance(one, ast.Name)]
        stored = {one.id for one in names if isinstance(one.ctx, ast.Store)}
        loaded = {one.id for one in names if isinstance(one.ctx, ast.Load)}
        loaded |= {
            one.target.id for one in nodes if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name)
        }
        if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)) and loaded & stored - bound - _inner(statement):
            return True
        bound |= stored
    return any(
        isinstance(one, (ast.Yield, ast.YieldFrom, ast.Await)) for one in ast.walk(ast.Module(list(statements), []))
    )


def _inner(statement: ast.stmt) -> set[str]:
    """What loops and comprehensions of a statement bind by themselves."""
    targets = [one.target for one in ast.walk(statement) if isinstance(one, (ast.For, ast.comprehension))]
    return {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}


def _ended(statement: ast.stmt, failed: int) -> list[ast.stmt]:
    """A statement that ends the run as soon as the line that failed is past."""
    past = ast.copy_location(ast.parse("raise Past").body[0], statement)
    ast.fix_missing_locations(past)
    for block in _blocks(statement):
        at = _at(block, failed)
        if at is not None:
            block[at:] = _ended(block[at], failed)
            return [statement]
    if isinstance(statement, ast.Return):
        value = statement.value or ast.Constant(None)
        return [ast.fix_missing_locations(ast.copy_location(ast.Expr(value), statement)), past]
    if isinstance(statement, (ast.For, ast.While, ast.If, ast.With)):
        statement.body = [past]
        if isinstance(statement, ast.If):
            statement.orelse = [past]
        return [statement]
    return [statement, past]


class _Left(ast.NodeTransformer):
    """Jumps of a loop around the statements leave them: the failing one is passed over."""

    def _leaves(self, node: ast.stmt) -> ast.stmt:
        return ast.fix_missing_locations(ast.copy_location(ast.parse("raise Past").body[0], node))

    def _stays(self, node: ast.AST) -> ast.AST:
        return node

    visit_Continue = visit_Break = _leaves
    visit_For = visit_While = visit_FunctionDef = visit_ClassDef = _stays


def _runner(frame: Any, path: str, statements: list[ast.stmt]) -> Callable[[], None]:
    """What executes statements with the names of a frame, which are as before afterwards."""
    if frame.f_code.co_name == "<module>":
        code = compile(ast.Module(statements, []), path, "exec")
        return lambda: _in_module(code, frame.f_globals)
    free = list(frame.f_code.co_freevars)
    names = [name for name in frame.f_locals if name.isidentifier() and name not in free]
    own = frame.f_code.co_name if frame.f_code.co_name.isidentifier() else "again"  # as the stack of an error has it
    outer = ast.parse(f"def outer({', '.join(['Past', *free])}):\n def {own}({', '.join(names)}): pass\n return {own}")
    again: Any = outer.body[0].body[0]  # type: ignore[attr-defined]
    again.body = statements
    code = compile(outer, path, "exec")

    def run() -> None:
        space: dict[str, Any] = {}
        exec(code, frame.f_globals, space)
        known = frame.f_locals
        space["outer"](Past, *(known.get(name) for name in free))(*(known[name] for name in names))

    return run


def _in_module(code: Any, names: dict[str, Any]) -> None:
    before = dict(names)
    try:
        names["Past"] = Past
        exec(code, names)
    finally:
        names.clear()
        names.update(before)


@contextmanager
def patched(changed: Sequence[Any]) -> Iterator[None]:
    """Live functions with other code and other defaults: rows of a function, its code, its name, its defaults."""
    before = [(one[0], one[0].__code__, one[0].__defaults__, one[0].__kwdefaults__) for one in changed]
    try:
        for function, code, _, defaults in changed:
            function.__code__ = code
            if defaults is not None:
                function.__defaults__, function.__kwdefaults__ = defaults
        yield
    finally:
        for function, code, defaults, words in before:
            function.__code__, function.__defaults__, function.__kwdefaults__ = code, defaults, words
