"""One YAML file as plain values that remember their lines; no tags, no aliases, no surprises of YAML 1.1 in keys."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from explainer.catalogue.problem import Problem, Unreadable

#: No rule file comes near these; a pack that exceeds them is refused before it costs anything.
MOST_BYTES, MOST_NODES, DEEPEST = 400_000, 20_000, 50

Path_ = tuple[str | int, ...]


@dataclass
class Document:
    """A file's value and the line of each of its keys and items, by the way to it: `("text", "why", "en")`."""

    file: str
    value: Any = None
    lines: dict[Path_, int] = field(default_factory=dict)

    def problem(self, way: Path_, text: str) -> Problem:
        """A problem at a key; where the key is absent, at the nearest one above it."""
        known = way
        while known and known not in self.lines:
            known = known[:-1]
        return Problem(self.file, self.lines.get(known, 1), dotted(way), text)


def dotted(way: Path_) -> str:
    """`messages[0].pattern` for `("messages", 0, "pattern")`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in way).lstrip(".")


def read(path: Path, name: str | None = None) -> Document:
    """Read one YAML file. Raises Unreadable with one problem where it is no file, too large, or no YAML."""
    name = name or str(path)
    try:
        size = _size(path, name)
        if size > MOST_BYTES:
            raise Unreadable(Problem(name, 0, "", f"{size} bytes; a rule file has at most {MOST_BYTES}"))
        with path.open("rb") as file:
            text = file.read(MOST_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise Unreadable(Problem(name, 0, "", f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError as error:
        raise Unreadable(Problem(name, 0, "", f"is not UTF-8 (byte {error.start})")) from None
    return parse(text, name)


def _size(path: Path, name: str) -> int:
    """A file's bytes. Raises OSError where it is not there, Unreadable for a folder, a pipe or a device."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(Problem(name, 0, "", "is no regular file"))
    return status.st_size


def parse(text: str, name: str) -> Document:
    """Parse the text of one YAML file. Raises Unreadable where it is no YAML."""
    import yaml

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document = Document(name)
    try:
        _bounded(yaml, text, base, name)
        loader = base(text)
        node = loader.get_single_node()
        document.value = _Reader(document, loader).value(node, ()) if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Unreadable(Problem(name, mark.line + 1 if mark else 0, "", f"is no YAML: {error.problem}")) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Unreadable(Problem(name, 0, "", f"is no YAML: {str(error).splitlines()[0]}")) from None
    return document


def _bounded(yaml: Any, text: str, base: Any, name: str) -> None:
    """Refuse what nests so deep that PyYAML, which recurses in C, would overflow the stack."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=base)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST or number > 4 * MOST_NODES:
            said = f"nests deeper than {DEEPEST} levels" if depth > DEEPEST else f"has more than {MOST_NODES} values"
            raise Unreadable(Problem(name, event.start_mark.line + 1, "", said))


class _Reader:
    """Turns nodes into values. Keys are taken as they are written: `no: ...` is Norwegian, not False."""

    def __init__(self, document: Document, loader: Any):
        self.document = document
        self.loader = loader
        self.seen: set[int] = set()

    def value(self, node: Any, way: Path_) -> Any:
        self.document.lines.setdefault(way, node.start_mark.line + 1)
        if id(node) in self.seen:
            raise Unreadable(self.document.problem(way, "aliases (`*name`) are not allowed; write the value out"))
        self.seen.add(id(node))
        if len(self.seen) > MOST_NODES:
            raise Unreadable(self.document.problem((), f"has more than {MOST_NODES} values"))
        if node.id == "mapping":
            return self.mapping(node, way)
        if node.id == "sequence":
            return [self.value(item, (*way, place)) for place, item in enumerate(node.value)]
        return self.scalar(node, way)

    def mapping(self, node: Any, way: Path_) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in node.value:
            if key.id != "scalar":
                raise Unreadable(self.document.problem(way, "keys are plain words"))
            inner = (*way, key.value)
            self.document.lines[inner] = key.start_mark.line + 1
            if key.value in found:
                raise Unreadable(self.document.problem(inner, "stands here twice"))
            found[key.value] = self.value(item, inner)
        return found

    def scalar(self, node: Any, way: Path_) -> Any:
        known = ("null", "bool", "int", "float", "str")
        if node.tag.removeprefix("tag:yaml.org,2002:") not in known:
            if node.tag.endswith((":timestamp", ":value")):
                return node.value
            raise Unreadable(self.document.problem(way, f"the tag {node.tag} is not allowed"))
        return self.loader.construct_object(node)
