"""Source text and syntax: lines, the node that an instruction belongs to, and columns counted in characters."""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import types
from collections.abc import Collection, Iterable, Iterator
from typing import Any, TypeGuard

from explainer.diagnosis import Span
from explainer.frozen import frozen
from explainer.sized import PARSED, TOGETHER, Bookmarks, size_of

#: A node that has a place in the text.
Node = ast.expr | ast.stmt | ast.keyword | ast.arg | ast.alias | ast.excepthandler | ast.pattern
Function = ast.FunctionDef | ast.AsyncFunctionDef


@frozen
class Source:
    """One file's text and, where it parses, its tree. Lines are 1-based."""

    file: str
    lines: tuple[str, ...]
    tree: ast.Module | None

    def line(self, number: int) -> str:
        """The text of a line without its newline; empty where there is no such line."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def around(self, number: int, context: int) -> dict[int, str]:
        """The lines from `context` before to `context` after a line, by their numbers, where they are there."""
        first, last = max(1, number - context), min(number + context, len(self.lines))
        return {at: self.line(at) for at in range(first, last + 1)}

    def text(self, node: ast.AST) -> str:
        """The source text of a node; empty where it has no place. `ast.get_source_segment` splits the file anew."""
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", None) or 0
        if not 0 < first <= last <= len(self.lines):
            return ""
        start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        if first == last:
            return _bytes(self.lines[first - 1])[start:end].decode("utf-8", "replace")
        head = _bytes(self.lines[first - 1])[start:].decode("utf-8", "replace")
        tail = _bytes(self.lines[last - 1])[:end].decode("utf-8", "replace")
        return "\n".join((head, *self.lines[first : last - 1], tail))

    def span(self, node: ast.AST, symbol: str | None = None) -> Span:
        """The place of a node, its columns in characters (ast counts UTF-8 bytes)."""
        start = self.character(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self.character(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return Span(self.file, node.lineno, start, node.end_lineno, end, self.text(node), symbol)  # type: ignore[attr-defined]

    def character(self, line: int, byte: int) -> int:
        """The 1-based character column of a 0-based UTF-8 byte offset in a line."""
        return len(_bytes(self.line(line))[:byte].decode("utf-8", "replace")) + 1

    def function_at(self, line: int) -> Function | None:
        """The innermost function or method that holds a line; a lambda holds no line of its own."""
        return next(iter(self.functions_around(line)), None)

    def functions_around(self, line: int) -> list[Function]:
        """The functions that hold a line, the innermost first: those further out are closed over."""
        return sorted((node for node in self._functions if holds(node, line)), key=lambda node: -node.lineno)

    def scope_at(self, line: int) -> Any:
        """The innermost function that holds a line, else the file's tree (None where it does not parse)."""
        return self.function_at(line) or self.tree

    def class_at(self, line: int) -> ast.ClassDef | None:
        """The innermost class that holds a line."""
        holding = [node for node in self._classes if holds(node, line)]
        return max(holding, key=lambda node: node.lineno, default=None)

    def qualified_at(self, line: int) -> str:
        """The function that holds a line with its class, as in `Net.forward`; empty at the top of a file."""
        function, owner = self.function_at(line), self.class_at(line)
        if function is None:
            return ""
        return f"{owner.name}.{function.name}" if owner is not None and holds(owner, function.lineno) else function.name

    def statement_at(self, line: int) -> ast.stmt | None:
        """The innermost statement that holds a line."""
        holding = [node for node in self._statements if holds(node, line)]
        return max(holding, key=lambda node: (node.lineno, -(node.end_lineno or 0)), default=None)

    def nodes(self) -> Iterator[ast.AST]:
        """Every node of the tree; none where the file does not parse."""
        return iter(self._nodes)

    def node_at(self, line: int, end_line: int, byte: int, end_byte: int) -> Node | None:
        """The outermost expression or statement with exactly these bounds (byte columns, as code objects have them)."""
        return self._by_bounds.get((line, end_line, byte, end_byte))

    @functools.cached_property
    def whole(self) -> str:
        """The whole text."""
        return "\n".join(self.lines)

    def parent_of(self, node: ast.AST) -> ast.AST | None:
        """The node that has this one as its child; None for the tree itself and for nodes of other files."""
        return self._parents.get(id(node))

    def up_from(self, node: ast.AST) -> Iterator[ast.AST]:
        """An expression and those that it is a part of, up to its statement, which is left out."""
        around: ast.AST | None = node
        while isinstance(around, (ast.expr, ast.keyword, ast.comprehension)):
            yield around
            around = self.parent_of(around)

    def loop_at(self, line: int) -> ast.For | ast.While | None:
        """The innermost loop around a line that stands in the same function."""
        scope = self.scope_at(line)
        loops = (one for one in self._statements if isinstance(one, (ast.For, ast.While)) and holds(one, line))
        own = [one for one in loops if self.scope_at(one.lineno) is scope]
        return max(own, key=lambda one: one.lineno, default=None)

    def block_of(self, statement: ast.AST | None) -> list[ast.stmt]:
        """The statements among which one stands, itself included; empty where it stands in no block."""
        parent = self.parent_of(statement) if statement is not None else None
        rows = (getattr(parent, name, None) for name in ("body", "orelse", "finalbody"))
        return next((row for row in rows if isinstance(row, list) and any(one is statement for one in row)), [])

    @functools.cached_property
    def imported(self) -> frozenset[str]:
        """The names that the file's imports bind."""
        imports = [node for node in self._statements if isinstance(node, (ast.Import, ast.ImportFrom))]
        return frozenset((one.asname or one.name).split(".")[0] for each in imports for one in each.names)

    @functools.cached_property
    def _classes(self) -> list[ast.ClassDef]:
        return [node for node in self._statements if isinstance(node, ast.ClassDef)]

    @functools.cached_property
    def _statements(self) -> list[ast.stmt]:
        return [node for node in self._nodes if isinstance(node, ast.stmt)]

    @functools.cached_property
    def _parents(self) -> dict[int, ast.AST]:
        return {id(child): node for node in self._nodes for child in ast.iter_child_nodes(node)}

    @functools.cached_property
    def _by_bounds(self) -> dict[tuple[int, ...], Node]:
        nodes = [node for node in reversed(self._nodes) if isinstance(node, Node)]
        return {(one.lineno, one.end_lineno or 0, one.col_offset, one.end_col_offset or 0): one for one in nodes}

    @functools.cached_property
    def _functions(self) -> tuple[Function, ...]:
        return tuple(node for node in self._nodes if isinstance(node, Function))

    @functools.cached_property
    def _nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree)) if self.tree is not None else ()


class Large(Source):
    """A file too large to be parsed: no tree, and no lines but those that are asked for by number."""

    @functools.cached_property
    def _bookmarks(self) -> Bookmarks:
        return Bookmarks(self.file)

    def line(self, number: int) -> str:
        """As of any source, read from the file; a line that is very long is cut."""
        return self._bookmarks.line(number) or ""

    def around(self, number: int, context: int) -> dict[int, str]:
        """As of any source."""
        lines = ((at, self._bookmarks.line(at)) for at in range(max(1, number - context), number + context + 1))
        return {at: text for at, text in lines if text is not None}


def _bytes(line: str) -> bytes:
    return line.encode("utf-8", "surrogatepass")


def holds(node: ast.AST, line: int) -> bool:
    """Whether a node's lines include a line (decorators not counted)."""
    return node.lineno <= line <= (node.end_lineno or node.lineno)  # type: ignore[attr-defined]


def called(call: ast.Call) -> str:
    """The last name of what a call calls: `sum` of `x.sum()`; empty where it is no name."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def with_argument(source: Source, call: ast.Call, argument: str) -> str:
    """A call's source with one more argument at its end."""
    inner = source.text(call).rstrip()[:-1].rstrip()
    joint = "" if inner.endswith("(") else " " if inner.endswith(",") else ", "
    return f"{inner}{joint}{argument})"


def with_arguments(source: Source, call: ast.Call, given: Iterable[ast.AST]) -> str:
    """A call's source with these arguments, as they are written, in place of its own."""
    return f"{source.text(call.func)}({', '.join(map(source.text, given))})"


def without_methods(node: ast.expr, names: Collection[str]) -> ast.expr:
    """A node without calls of certain methods behind it: `y` of `y.view(-1)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
        node = node.func.value
    return node


@functools.lru_cache(1 << 14)
def walked(node: ast.AST) -> tuple[ast.AST, ...]:
    """A node and all in it, the outer ones first, as `ast.walk` gives them: a search asks again and again."""
    return tuple(ast.walk(node))


def loaded(node: ast.AST) -> set[str]:
    """The names that a node reads."""
    return set(_names(node, ast.Load))


@functools.lru_cache(1 << 14)
def _names(node: ast.AST, context: type[ast.expr_context]) -> frozenset[str]:
    return frozenset(one.id for one in walked(node) if isinstance(one, ast.Name) and isinstance(one.ctx, context))


def names_in(node: ast.AST) -> list[ast.AST]:
    """The names and attributes in a node."""
    return [one for one in walked(node) if isinstance(one, (ast.Name, ast.Attribute))]


def of_self(node: ast.AST | None) -> TypeGuard[ast.Attribute]:
    """Whether a node is an attribute of `self`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def stored(node: ast.AST) -> set[str]:
    """The names that a node binds, those of comprehensions too."""
    return set(_names(node, ast.Store))


def as_attributes(path: str) -> str:
    """A module's dotted path as source behind its root: `.body[0]` for "body.0", nothing for the root itself."""
    return "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in path.split(".") if part)


def source_of(file: str, module_globals: dict | None = None) -> Source:
    """A file's source through linecache, which knows notebook cells too; no lines where it cannot be had.

    Of a large file only lines are read; what is no regular file (a pipe, a device) is never opened.
    """
    if file in _withheld:
        return Source(file, (), None)
    size = size_of(file)
    if size is not None and not 0 < size <= PARSED:
        return _large(file, size)
    linecache.checkcache(file)
    found = linecache.getlines(file, module_globals)
    held = _held.get(file)
    if held is None or held[0] is not found:
        lines = tuple(line.rstrip("\n") for line in found)
        weight = sum(map(len, lines))
        _make_room(weight)
        held = _held[file] = found, _parsed(file, lines) if weight <= PARSED else Source(file, lines, None), weight
    return held[1]


#: The sources by file, each with what tells whether the file is still the same (linecache's own list of lines, or its
#: size), and the characters that it takes.
_held: dict[str, tuple[Any, Source, int]] = {}


def _large(file: str, size: int) -> Source:
    held = _held.get(file)
    if held is None or held[0] != size:
        held = _held[file] = size, Large(file, (), None) if size else Source(file, (), None), 0
    return held[1]


def _make_room(weight: int) -> None:
    if len(_held) > 64 or sum(held[2] for held in _held.values()) + weight > TOGETHER:
        _held.clear()


def line_of(file: str, number: int, module_globals: dict | None = None) -> str:
    """One line of a file without its newline, empty where it cannot be had; the file is not parsed."""
    if file in _withheld:
        return ""
    size = size_of(file)
    if size is not None and not 0 < size <= PARSED:
        return _large(file, size).line(number)
    return linecache.getline(file, number, module_globals).rstrip("\n")


#: Files that no longer hold the text which the program runs.
_withheld: set[str] = set()


def withhold(files: Iterable[str]) -> None:
    """From now on these files, and no others, have no source: their text is not what ran (see `loaded`)."""
    _withheld.clear()
    _withheld.update(files)


def parsed_source(file: str, text: str) -> Source:
    """A file with another text than it has on disk."""
    return _parsed(file, tuple(text.split("\n")))


def _parsed(file: str, lines: tuple[str, ...]) -> Source:
    """A source with its tree; small ones are kept, since an edit's text is asked for again and again."""
    make = _kept if sum(map(len, lines)) <= _SMALL else _kept.__wrapped__
    return make(file, lines)


#: Characters of a source that is kept; a tree takes a few hundred times as many bytes.
_SMALL = 30_000


@functools.lru_cache(maxsize=64)
def _kept(file: str, lines: tuple[str, ...]) -> Source:
    try:
        tree = ast.parse("\n".join(lines)) if lines else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last for brackets that nest too deep
        tree = None
    return Source(file, lines, tree)


@frozen
class Failing:
    """The expression that failed in a live frame: its node, its place and the source it stands in."""

    node: Node
    span: Span
    source: Source


def failing_node(frame: types.FrameType, lasti: int, lineno: int | None = None) -> Failing | None:
    """The node that a frame was executing at instruction offset `lasti` (in bytes); None where no source fits."""
    source = source_of(frame.f_code.co_filename, frame.f_globals)
    if source.tree is None:
        return None
    node = _by_position(source, frame.f_code, lasti) or _by_executing(source, frame, lasti)
    node = node or _by_line(source, lineno, _calls(frame.f_code, lasti))
    if isinstance(node, ast.Expr):
        node = node.value
    return Failing(node, source.span(node), source) if node is not None else None


def _by_position(source: Source, code: types.CodeType, lasti: int) -> Node | None:
    if not hasattr(code, "co_positions"):
        return None
    position = next((p for i, p in enumerate(code.co_positions()) if i == lasti // 2), None)
    if position is None or None in position:
        return None
    return source.node_at(*position)


def _by_executing(source: Source, frame: types.FrameType, lasti: int) -> Node | None:
    """As `executing` finds it (Python 3.10), in our own tree, where its parents can be found."""
    try:
        import executing

        node: Any = executing.Source.executing(_At(frame, lasti)).node  # type: ignore[arg-type]
        return source.node_at(node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
    except Exception:
        return None


class _At:
    """A frame as it stood at another instruction: `executing` reads f_lasti, and a finished frame's has moved on."""

    def __init__(self, frame: types.FrameType, lasti: int):
        self.f_lasti = lasti
        self.f_code = frame.f_code
        self.f_globals = frame.f_globals
        self.f_lineno = frame.f_lineno


def _calls(code: types.CodeType, lasti: int) -> bool:
    """Whether an instruction calls; others (`+=`, `for`, `assert`) may have calls on their line all the same."""
    return lasti >= len(code.co_code) or "CALL" in dis.opname[code.co_code[lasti]]


def _by_line(source: Source, line: int | None, calls_one: bool) -> Node | None:
    """The only call on a line where the instruction was one, or the line's statement."""
    if line is None:
        return None
    calls = [node for node in source.nodes() if isinstance(node, ast.Call) and node.lineno == line and calls_one]
    return calls[0] if len(calls) == 1 else source.statement_at(line)
