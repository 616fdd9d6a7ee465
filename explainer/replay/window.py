"""The window of statements that a replay runs again: from a loop body's start through the statement that crashed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from explainer.frozen import frozen
from explainer.source import Source, holds, source_of

if TYPE_CHECKING:
    from explainer.probes.scene import LiveFrame

_ERROR, _SKIP, _STOP = "__replay_error__", "__replay_skip__", "__replay_stop__"
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Stopped(BaseException):
    """A `return`, `break` or `continue` that the crashed run did not take: what follows would be another story."""


@frozen
class Window:
    """Statements of one live frame, ready to run in a child with the frame's names as they are.

    `line` and `end_line` are those of the last; `loop`: they are the body of a loop.
    """

    frame: LiveFrame
    tree: ast.Module
    line: int
    end_line: int
    loop: bool = False

    def run(self, skipped: Callable[[int], None] = lambda line: None) -> None:
        """Run the statements; one that fails is skipped, so that the live value stays. Only for a sandboxed child."""
        names = self.frame.frame.f_globals
        if self.frame.frame.f_code.co_name != "<module>":
            # One namespace: a comprehension looks its names up in the globals.
            names = {**names, **self.frame.locals}
        names[_ERROR], names[_SKIP], names[_STOP] = Exception, skipped, _stop
        exec(compile(self.tree, self.frame.file, "exec", dont_inherit=True), names)

    def returned(self, stopped: Stopped) -> bool:
        """Whether it was the crashed statement itself that, having got its value, went on to return it."""
        step = stopped.__traceback__
        while step is not None and step.tb_frame.f_code.co_filename != self.frame.file:
            step = step.tb_next
        return step is not None and self.line <= step.tb_lineno <= self.end_line


def _stop() -> None:
    raise Stopped


@frozen
class Level:
    """One block on the way to the crash: its statements, which of them leads on, and what holds the block."""

    body: list[ast.stmt]
    index: int
    owner: ast.AST


def windows(frames: Sequence[LiveFrame], most: int = 6) -> Iterator[Window]:
    """The windows to try, best first: innermost loops from the deepest frame outward, loops around, whole functions."""
    seen: set[tuple[str, int, int]] = set()
    for whole, outward in ((False, 0), (False, 1), (True, 0)):
        for frame in reversed(frames):
            top = frame.frame.f_code.co_name == "<module>"
            window = None if whole and top else window_of(frame, whole, outward)
            first = window.tree.body[0].lineno if window and window.tree.body else 0
            key = (frame.file, frame.line, first)
            if window is not None and key not in seen and len(seen) < most:
                seen.add(key)
                yield window


def window_of(
    frame: LiveFrame, whole: bool = False, outward: int = 0, through: int = 0, alone: bool = False
) -> Window | None:
    """The window of one frame: its innermost loop's body, or with `whole` its function's; None where no source fits.

    `outward` loops further out are taken instead. Statements behind the crash in its block run as well, as far as the
    line `through`. `alone`: none before the one that crashed.
    """
    source = source_of(frame.file, frame.frame.f_globals)
    body = statements_of(frame, source)
    if body is None:
        return None
    levels = _with_test(list(levels_to(*body, frame.line)))
    if not levels:
        return None
    loops = [at for at, level in enumerate(levels) if is_turn(level)]
    if outward and outward >= len(loops):
        return None
    start = loops[-1 - outward] if loops and not whole else 0
    if alone:
        levels, start = [Level(levels[-1].body[levels[-1].index :], 0, levels[-1].owner)], 0
    crashed, *behind = levels[-1].body[levels[-1].index :]
    more = [one for one in behind if one.lineno <= through]
    inner = source.class_at(frame.line)
    prepare = _Prepare(inner.name if inner else "", frame.frame.f_code)
    statements = [prepare.visit(_copied(one)) for one in _truncated(levels[start:], more)]
    tree = ast.Module([_guarded(one) for one in statements], type_ignores=[])
    end = max(one.end_lineno or one.lineno for one in (crashed, *more))
    return Window(frame, ast.fix_missing_locations(tree), crashed.lineno, end, start in loops and not alone)


def checks(frames: Sequence[LiveFrame]) -> Iterator[Window]:
    """Windows that end with a check of the user's own, whole with its `if`, the shortest first, inner frames first.

    Each longer one begins with a statement that binds what those behind it read.
    """
    for frame in reversed(frames):
        source = source_of(frame.file, frame.frame.f_globals)
        body = statements_of(frame, source)
        levels = _with_test(list(levels_to(*body, frame.line))) if body is not None else []
        statements = _truncated(levels, []) if levels else []
        inner = source.class_at(frame.line)
        for count in _beginnings(statements):
            prepare = _Prepare(inner.name if inner else "", frame.frame.f_code)
            kept = [_guarded(prepare.visit(_copied(one))) for one in _last(statements, count)]
            tree = ast.fix_missing_locations(ast.Module(kept, type_ignores=[]))
            end = levels[-1].body[levels[-1].index]
            yield Window(frame, tree, end.lineno, end.end_lineno or end.lineno)


def _with_test(levels: list[Level]) -> list[Level]:
    """The levels down to the outermost `if` that a `raise` hangs on: run alone, it would fail whatever went before."""
    if levels and isinstance(levels[-1].body[levels[-1].index], ast.Raise):
        while len(levels) > 1 and isinstance(levels[-1].owner, ast.If):
            levels.pop()
    return levels


def _beginnings(statements: list[ast.stmt]) -> Iterator[int]:
    """With how many of the last statements a window may begin: where one binds what is read behind it."""
    read: set[str] = set()
    for count, one in enumerate(reversed(list(_flat(statements))), 1):
        names = [node for node in ast.walk(one) if isinstance(node, (ast.Name, ast.Attribute))]
        bound = {ast.unparse(node) for node in names if isinstance(node.ctx, ast.Store)}
        if (count == 1 or bound & read) and not isinstance(one, _SCOPES):
            yield count
        read |= {ast.unparse(node) for node in names if isinstance(node.ctx, ast.Load)}


def _flat(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    for one in statements:
        yield from _flat(one.body) if isinstance(one, ast.With) else [one]


def _last(statements: list[ast.stmt], count: int) -> list[ast.stmt]:
    """The last `count` statements, those in a `with` counted one by one, each under its `with`."""
    kept: list[ast.stmt] = []
    for one in reversed(statements):
        if count <= 0:
            break
        inner = len(list(_flat([one])))
        if isinstance(one, ast.With) and inner > count:
            one = ast.copy_location(ast.With(one.items, _last(one.body, count), None), one)
        kept.insert(0, one)
        count -= inner
    return kept


def _copied(part: Any) -> Any:
    """A copy of a piece of syntax; `copy.deepcopy` takes ten times as long."""
    if isinstance(part, list):
        return [_copied(one) for one in part]
    if not isinstance(part, ast.AST):
        return part
    held = vars(part)
    return type(part)(**{name: _copied(held[name]) for name in (*part._fields, *part._attributes) if name in held})


def is_turn(level: Level) -> bool:
    """Whether a block is the body of a loop."""
    return isinstance(level.owner, _LOOPS) and level.body is level.owner.body


def statements_of(frame: LiveFrame, source: Source) -> tuple[list[ast.stmt], ast.AST] | None:
    """The statements of a frame's function, or of its file, and what holds them; None of a comprehension's."""
    name = frame.frame.f_code.co_name
    if source.tree is None or (name.startswith("<") and name != "<module>"):
        return None
    function = source.tree if name == "<module>" else source.function_at(frame.line)
    body = getattr(function, "body", None)
    return (body, function) if isinstance(body, list) and function is not None else None


def levels_to(body: list[ast.stmt], owner: ast.AST, line: int) -> Iterator[Level]:
    """The blocks that lead to a line, outermost first."""
    # Of several statements on one line the last is taken: those before it ran.
    for index, statement in reversed(list(enumerate(body))):
        if not holds(statement, line):
            continue
        yield Level(body, index, owner)
        if not isinstance(statement, _SCOPES):
            for inner in _blocks(statement):
                yield from levels_to(inner, statement, line)
        return


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, None) or []
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _truncated(levels: list[Level], more: list[ast.stmt]) -> list[ast.stmt]:
    """The first level's statements through the crash and `more`: blocks of `if` and `try` inlined, `with` kept."""
    level = levels[0]
    before, last = level.body[: level.index], level.body[level.index]
    if len(levels) == 1:
        return [*before, last, *more]
    if isinstance(last, _LOOPS) and levels[1].body is last.body:
        return [*before, last]
    inner = _truncated(levels[1:], more)
    if isinstance(last, (ast.With, ast.AsyncWith)):
        block = ast.With(last.items, inner, None)
        return [*before, ast.copy_location(block, last)]
    return [*before, *inner]


def _guarded(statement: ast.stmt) -> ast.stmt:
    """The statement in a `try` that notes its failure; the statements of a `with` each in their own."""
    if isinstance(statement, ast.With):
        statement.body = [_guarded(one) for one in statement.body]
    note = ast.Expr(ast.Call(ast.Name(_SKIP, ast.Load()), [ast.Constant(statement.lineno)], []))
    handler = ast.ExceptHandler(ast.Name(_ERROR, ast.Load()), None, [note])
    return ast.copy_location(ast.Try([statement], [handler], [], []), statement)


class _Prepare(ast.NodeTransformer):
    """Makes a function's statements run outside of it: return, yield, super() and private names rewritten."""

    def __init__(self, owner: str, code: Any):
        self.owner = owner.lstrip("_")
        self.first = code.co_varnames[0] if code.co_argcount else ""
        self.loops = 0

    def visit(self, node: ast.AST) -> Any:
        """Rewrite a node; what nested functions and classes do with their own returns is theirs."""
        if isinstance(node, _LOOPS):
            self.loops += 1
            try:
                return self.generic_visit(node)
            finally:
                self.loops -= 1
        if isinstance(node, _SCOPES):
            return _Names(self.owner).visit(node)
        return super().visit(node)

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        """`return loss.backward()` runs its value, then stops."""
        value = self.visit(node.value) if node.value is not None else ast.Constant(None)
        both = ast.Tuple([value, ast.Call(ast.Name(_STOP, ast.Load()), [], [])], ast.Load())
        return ast.copy_location(ast.Expr(ast.copy_location(both, node)), node)

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        """Of the loop whose body the window is: not taken by the crashed run."""
        return node if self.loops else self._stopping(node)

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        """As `break`."""
        return node if self.loops else self._stopping(node)

    def visit_Global(self, node: ast.Global) -> ast.stmt:
        """Meaningless in one namespace."""
        return ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        """Meaningless in one namespace."""
        return ast.copy_location(ast.Pass(), node)

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        """`yield x` is `x`."""
        return self.visit(node.value) if node.value is not None else ast.copy_location(ast.Constant(None), node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        """`yield from xs` is `xs`."""
        return self.visit(node.value)

    def visit_Await(self, node: ast.Await) -> ast.expr:
        """`await x` is `x`."""
        return self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`super()` needs its class and object named."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self.first:
            names = [ast.Name("__class__", ast.Load()), ast.Name(self.first, ast.Load())]
            node.args = [ast.copy_location(name, node) for name in names]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`self.__x` is mangled by the class that it stands in."""
        self.generic_visit(node)
        node.attr = _mangled(node.attr, self.owner)
        return node

    def _stopping(self, node: ast.stmt) -> ast.stmt:
        return ast.copy_location(ast.Expr(ast.Call(ast.Name(_STOP, ast.Load()), [], [])), node)


class _Names(ast.NodeTransformer):
    """Mangles private attributes in nested functions."""

    def __init__(self, owner: str):
        self.owner = owner

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`self.__x` as its class would have it."""
        self.generic_visit(node)
        node.attr = _mangled(node.attr, self.owner)
        return node


def _mangled(name: str, owner: str) -> str:
    private = owner and name.startswith("__") and not name.endswith("__")
    return f"_{owner}{name}" if private else name
