"""Healthy programs: their files, and which of their sizes must agree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "programs"
#: The name under which the runner starts a program.
SCRIPT = "example.py"
_TIES = re.compile(r"[ ]*# ties: (.*)$")


@dataclass(frozen=True)
class Source:
    """One file without its `# ties:` comments.

    `ties` has a tag for each integer literal of a line, in their order. Literals with one tag decide the same size, so
    that a mismatch can be mended at any of them; `~tag` changes that size without being an answer; `-` is alone.
    """

    name: str
    text: str
    ties: dict[int, tuple[str, ...]]

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed text; every node knows its `parent`."""
        tree = ast.parse(self.text)
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                child.parent = node  # type: ignore[attr-defined]
        return tree

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def starts(self) -> list[int]:
        """The offset at which each line starts; programs are ASCII, so that bytes are characters."""
        starts = [0]
        for line in self.text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node stands in the text."""
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def code(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def indent(self, line: int) -> str:
        """The white space before a line."""
        text = self.text[self.starts[line - 1] :]
        return text[: len(text) - len(text.lstrip(" "))]

    def literals(self, line: int) -> list[ast.Constant]:
        """The integer literals of a line, from left to right."""
        found = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Constant) and type(node.value) is int and node.lineno == line
        ]
        return sorted(found, key=lambda node: node.col_offset)


@dataclass(frozen=True)
class Program:
    """A healthy program: its files, the one that is started under the name `SCRIPT`."""

    name: str
    sources: tuple[Source, ...]

    @property
    def files(self) -> dict[str, str]:
        """File names and texts."""
        return {source.name: source.text for source in self.sources}

    def tied(self, tag: str) -> set[tuple[str, int]]:
        """The lines that hold a literal with this tag."""
        return {(one.name, line) for one in self.sources for line, tags in one.ties.items() if tag in tags}


def programs(only: str = "") -> Iterator[Program]:
    """The programs of `fixtures/programs` whose name contains `only`."""
    for path in sorted(FOLDER.iterdir()):
        if only in path.stem and (path.suffix == ".py" or Path(path, "main.py").is_file()):
            files = [path] if path.suffix == ".py" else sorted(path.glob("*.py"))
            yield Program(path.stem, tuple(_source(file, file in (path, path / "main.py")) for file in files))


def _source(path: Path, main: bool) -> Source:
    lines, ties = [], {}
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        found = _TIES.search(line)
        if found:
            ties[number] = tuple(found[1].split())
        lines.append(_TIES.sub("", line) + "\n")
    return Source(SCRIPT if main else path.name, "".join(lines), ties)
