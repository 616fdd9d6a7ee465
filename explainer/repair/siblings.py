"""The same edit at sibling statements and terms: `k = cat([ks, k], 1)` beside `v = cat([vs, v], 1)`."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from explainer.diagnosis import Edit
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.repair.agreement import parsed, whole
from explainer.source import Source, walked
from explainer.source import called as name_of

#: How many that say the same are changed together.
_TWINS = 3
#: From how many expressions on two statements are not alike by chance.
_TELLING = 8
_NAME = re.compile(r"(?<![\w\"'])[A-Za-z_]\w*")
_KEY = re.compile(r"([\"'])(\w+)\1")


def together(candidate: Candidate, evidence: Evidence) -> Candidate | None:
    """A candidate of one line with its edit made at the sibling statements of its function too; None without any."""
    edit = candidate.edits[0]
    source = evidence.sources(candidate.culprit.file)
    if len(candidate.edits) != 1 or source is None or not _of_one_line(edit):
        return None
    own = source.statement_at(edit.start_line)
    if own is None or own.lineno != own.end_lineno:
        return None
    more = tuple(_at(source, sibling, edit, names) for sibling, names in _siblings(source, own))
    said = [_value(one.after or "") for one in (edit, *more)]
    apart = len(set(said)) == len(said)  # what differed is not to say the same
    return replace(candidate, edits=(*candidate.edits, *more)) if more and apart else None


def _value(line: str) -> str:
    """What a statement computes, whatever takes it."""
    return line.partition(" = ")[2] or line.strip()


def twins(place: Place) -> tuple[ast.AST, ...]:
    """The expressions in a place's function that say the same in the same role; none where there are many."""
    own, said = _role(place.source, place.node), ast.dump(place.node)
    found = [one for one in walked(place.source.scope_at(place.line))
             if type(one) is type(place.node) and one is not place.node
             and _role(place.source, one) == own and ast.dump(one) == said]  # fmt: skip
    return tuple(found) if len(found) <= _TWINS else ()


def again(place: Place) -> tuple[ast.AST, ...]:
    """Where a name or attribute stands again in the statement of a place, whatever for; none where often."""
    if not isinstance(place.node, (ast.Name, ast.Attribute)):
        return ()
    said = ast.dump(place.node)
    found = [one for one in walked(place.statement().node) if one is not place.node and ast.dump(one) == said]
    return tuple(found) if len(found) <= _TWINS else ()


def terms(place: Place) -> Sequence[tuple[ast.AST, Mapping[str, str]]]:
    """What stands where a place does in the terms beside its own that differ from it in names alone.

    `a[t] * x + b[t] * n` has `b[t]` for `a[t]`; with each the names that stand there for its own.
    """
    found: list[tuple[ast.AST, Mapping[str, str]]] = []
    path: list[int] = []
    node: ast.AST = place.node
    while not found and isinstance(parent := place.source.parent_of(node), ast.expr):
        children = list(ast.iter_child_nodes(parent))
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Constant)):  # too little to be told by
            pairs = ((one, stands_for(node, one)) for one in children if one is not node)
            found = [(_inner(one, path), names) for one, names in pairs if names is not None]
        path.append(next(at for at, one in enumerate(children) if one is node))
        node = parent
    return found[:_TWINS]


def _inner(node: ast.AST, path: Sequence[int]) -> ast.AST:
    for at in reversed(path):
        node = list(ast.iter_child_nodes(node))[at]
    return node


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Source with other names, and keys in quotes, in the place of its own."""
    keyed = _KEY.sub(lambda found: found[1] + names.get(f'"{found[2]}"', f'"{found[2]}"')[1:-1] + found[1], text)
    return _NAME.sub(lambda found: names.get(found[0], found[0]), keyed)


def stands_for(own: ast.AST, other: ast.AST) -> dict[str, str] | None:
    """The names that stand for those of a node in one that differs from it in names alone; None where it does not."""
    if type(own) is not type(other) or _masked(own) != _masked(other):
        return None
    pairs = set(zip(_names(own), _names(other), strict=True))
    return dict(pairs) if len(pairs) == len({old for old, _ in pairs}) else None


def alike(one: ast.AST, other: ast.AST) -> bool:
    """Whether two pieces of source are the same but for names: `a - k + 1`, and `self.n - self.k + 1`."""
    if isinstance(one, (ast.Name, ast.Attribute)) and isinstance(other, (ast.Name, ast.Attribute)):
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.Constant):
        return one.value == other.value  # type: ignore[attr-defined]
    if isinstance(one, ast.Call) and name_of(one) != name_of(other):  # type: ignore[arg-type]
        return False
    parts, others = list(ast.iter_child_nodes(one)), list(ast.iter_child_nodes(other))
    return len(parts) == len(others) and all(map(alike, parts, others))


def _role(source: Source, node: ast.AST) -> tuple[str, str, int]:
    """What an expression is given to, and as what."""
    parent = source.parent_of(node)
    if isinstance(parent, ast.Call) and node in parent.args:
        return "argument", name_of(parent), parent.args.index(node)  # type: ignore[arg-type]
    return type(parent).__name__, getattr(parent, "arg", None) or "", -1


def _of_one_line(edit: Edit) -> bool:
    return edit.start_line == edit.end_line and "\n" not in (edit.after or "\n")


def _siblings(source: Source, own: ast.stmt) -> Iterator[tuple[ast.stmt, dict[str, str]]]:
    """The statements of a function that differ from one in names alone, with the names that stand for its names."""
    for one in _beside(source, own):
        names = stands_for(own, one)
        if names is not None and any(old != new for old, new in names.items()):
            yield one, names


def _beside(source: Source, own: ast.stmt) -> Iterator[ast.stmt]:
    """The other statements of a line in a function."""
    for one in walked(source.scope_at(own.lineno)):
        plain = isinstance(one, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)) and one.lineno == one.end_lineno
        if plain and one is not own:
            yield one  # type: ignore[misc]


def _at(source: Source, sibling: ast.stmt, edit: Edit, names: dict[str, str]) -> Edit:
    before, head = source.line(sibling.lineno), " " * sibling.col_offset
    text = renamed((edit.after or "").strip(), names)
    return replace(edit, start_line=sibling.lineno, end_line=sibling.lineno, before=before, after=head + text)


def agrees(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether an edit says what stands beside it where it had said something else, in a statement or a call."""
    edit = candidate.edits[0]
    source = evidence.sources(candidate.culprit.file)
    own = source.statement_at(edit.start_line) if source is not None else None
    if source is None or own is None or len(candidate.edits) != 1:
        return False
    scope = source.scope_at(candidate.culprit.line)
    return _says_as_beside(source, own, edit) or _as_others(*whole(edit, evidence), scope)


def _says_as_beside(source: Source, own: ast.stmt, edit: Edit) -> bool:
    """Whether a statement comes to say what a sibling says: `net["basis"]`, as there.

    Both differ in names alone then; where they did before, more of these are the same then than not.
    """
    body: list[ast.stmt] = getattr(parsed(edit.after), "body", [])
    if len(body) != 1:
        return False
    edited = body[0]
    if _masked(edited) != _masked(own):
        telling = sum(isinstance(one, ast.expr) for one in walked(edited)) >= _TELLING
        return telling and any(alike(one, edited) for one in _beside(source, own))
    old, new = _names(own), _names(edited)
    rows = [_names(one) for one in _beside(source, own) if type(one) is type(own) and _masked(one) == _masked(own)]
    return any(_apart(new, row) < _apart(old, row) and 2 * _apart(new, row) < len(row) for row in rows)


def _as_others(before: ast.AST | None, after: ast.AST | None, scope: ast.AST | None) -> bool:
    """Whether a call gets the keyword that all other calls of its name in a scope have: `padding=1`, as beside."""
    if before is None or after is None or scope is None:
        return False
    old, new = ([one for one in walked(tree) if isinstance(one, ast.Call)] for tree in (before, after))
    come = Counter(map(ast.dump, new)) - Counter(map(ast.dump, old))
    known = [one for one in walked(scope) if isinstance(one, ast.Call)]
    for call in (one for one in new if ast.dump(one) in come):
        rows = [_keywords(one) for one in known if name_of(one) == name_of(call)]
        lacking = [row for row in rows if not _keywords(call) <= row]
        if len(lacking) == 1 < len(rows) and _keywords(call) > lacking[0]:
            return True
    return False


def _keywords(call: ast.Call) -> set[str]:
    return {ast.unparse(one) for one in call.keywords}


def _apart(names: Sequence[str], others: Sequence[str]) -> int:
    return sum(one != other for one, other in zip(names, others, strict=True))


def _names(node: ast.AST) -> list[str]:
    """The names, attributes and keys of a statement that another of its kind may have otherwise, in order."""
    called = {id(one.func) for one in walked(node) if isinstance(one, ast.Call)}
    free = (one for one in walked(node) if id(one) not in called)
    return [name for name in map(_name, free) if name]


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript) and _is_key(node.slice):
        return f'"{node.slice.value}"'  # type: ignore[attr-defined]
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _is_key(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()


def _masked(node: ast.AST) -> str:
    """A statement's structure with its numbers and the functions that it calls, without other names and keys."""
    parts = []
    keys = {id(one.slice) for one in walked(node) if isinstance(one, ast.Subscript) and _is_key(one.slice)}
    for one in walked(node):
        if isinstance(one, ast.Constant) and id(one) not in keys:
            parts.append(repr(one.value))
        elif isinstance(one, ast.Call):
            parts.append(name_of(one))
        parts.append(type(one).__name__)
    return " ".join(parts)
