"""Candidates for rows left out of some fields of an object, or entries of a dict, and not of others: masks, weights.

The function that left them out has returned; what the failing call uses of the object tells how long each field is.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.arguments import add_argument
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.edits.statements import insert_statement
from explainer.frozen import frozen
from explainer.patterns import Pattern
from explainer.source import called, holds

_FIELD = Pattern(r'(.+?)(?:\.(\w+)|\["(\w+)"\])')
#: Functions that copy an object with some fields changed.
_COPIES = ("replace", "_replace")
_FIELDS = (ast.Name, ast.Attribute, ast.Subscript)


@frozen
class Rows:
    """A subscript that left `after` of `before` rows, with the source of its index; `mask` where that is one of bools.

    `positions`: the fields to change hold positions of rows, which have others among those that are left.
    """

    place: Place
    index: str
    before: int
    after: int
    mask: bool
    positions: bool = False

    @property
    def title(self) -> str:
        """The title of the candidates."""
        return "renumber-too" if self.positions else "cut-too"

    def of(self, text: str, shape: list[int]) -> str:
        """A field with as many rows, cut alike; along both dimensions where it has as many columns."""
        if self.positions:
            kept = f"{self.index}[{text}]" if len(shape) == 1 else f":, {self.index}[{text}].all(0)"
            return self.counted(f"{text}[{kept}]")
        both = len(shape) > 1 and shape[1] == self.before
        return f"{text}[{self.index}]" + (f"[:, {self.index}]" if both else "")

    def counted(self, text: str) -> str:
        """Positions of all rows, of which a mask kept some, counted among those."""
        return f"({self.index}.cumsum(0) - 1)[{text}]"


def left_too(evidence: Evidence) -> Iterator[Candidate]:
    """`Graph(x=g.x[keep], mask=g.mask)` -> `mask=g.mask[keep]`, where a mask of all rows meets what is left."""
    fields = _fields(evidence)
    for rows in cuts(evidence):
        whole = {name: shape for name, every in fields.items() for shape, _ in every if shape[0] == rows.before}
        if any(name in whole for name in _used(evidence)) and _meets(evidence, rows):
            yield from _among_arguments(evidence, rows, whole)
            yield from _among_names(evidence, rows, whole)
            yield from _behind(evidence, rows, whole)


def renumbered_too(evidence: Evidence) -> Iterator[Candidate]:
    """`Graph(x=g.x[keep], rows=g.rows)` -> those of the rows that are kept, by their places among them."""
    fields, used = _fields(evidence), _used(evidence)
    for rows in cuts(evidence):
        if rows.mask and rows.index.isidentifier() and beyond(evidence, rows):
            each = [(name, shape) for name, every in fields.items() for shape, dtype in every if dtype == "int64"]
            held = {name: shape for name, shape in each if len(shape) == 1 or (len(shape) == 2 and shape[0] == 2)}
            words = {word for name in used if name in held for word in _words(name)}
            held = {name: shape for name, shape in held.items() if len(shape) == 2 or _words(name) & words}
            positions = dataclasses.replace(rows, positions=True)
            yield from _among_arguments(evidence, positions, held)
            yield from _behind(evidence, positions, held)


def beyond(evidence: Evidence, rows: Rows) -> bool:
    """Whether positions of all rows were looked up among those that are left."""
    crash = evidence.crash
    extents = [one for one in (crash.extents if crash is not None else ()) if one is not None]
    table = crash.before[0][0][:1] if crash is not None and crash.before else []
    return table == [rows.after] and any(one[0] >= 0 and rows.after <= one[1] < rows.before for one in extents)


def _words(name: str) -> set[str]:
    return set(name.lower().split("_"))


def cuts(evidence: Evidence) -> Iterator[Rows]:
    for step in evidence.steps[1:]:
        node = step.place.node if step.place is not None else None
        if step.place is None or step.function != "__getitem__" or not isinstance(node, ast.Subscript):
            continue
        before = step.before[0][0] if step.before else []
        if not isinstance(node.slice, (ast.Tuple, ast.Constant)) and _fewer_rows(before, step):
            mask = len(step.before) > 1 and step.before[1][1] == "bool"
            yield Rows(step.place, step.place.source.text(node.slice), before[0], step.shape[0], mask)


def _fewer_rows(before: list[int], step: Step) -> bool:
    alike = len(before) == len(step.shape) > 0 and before[1:] == step.shape[1:]
    return alike and before[0] > step.shape[0] > 0


def _fields(evidence: Evidence) -> dict[str, list[tuple[list[int], str]]]:
    """The shapes and dtypes that the fields have of the objects that the frames' calls read, by the fields' names."""
    found: dict[str, list[tuple[list[int], str]]] = {}
    for frame in evidence.frames:
        read = [ast.unparse(node.value) for node in _read_in(frame.place.node)]
        for text, value in frame.scope.items():
            field = _FIELD.fullmatch(text)
            if field is not None and field[1] in read and frame.shape(text):
                found.setdefault(field[2] or field[3], []).append((value[0], value[1]))
    return found


def _used(evidence: Evidence) -> list[str]:
    """The fields that the failing frames' calls name."""
    return [_name(node) for frame in evidence.frames for node in _read_in(frame.place.node)]


def _read_in(node: ast.AST) -> list[Any]:
    return [one for one in ast.walk(node) if isinstance(one, (ast.Attribute, ast.Subscript))]


def _meets(evidence: Evidence, rows: Rows) -> bool:
    """Whether both numbers of rows went into the failing call, or are named by the message."""
    crash = evidence.crash
    sizes = {shape[0] for shape, _ in (crash.before if crash is not None else ()) if shape} | set(evidence.said)
    return {rows.before, rows.after} <= sizes


def _name(node: ast.AST) -> str:
    """`mask` of `g.mask`, of `g["mask"]` and of itself."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.id if isinstance(node, ast.Name) else ""


def _among_arguments(evidence: Evidence, rows: Rows, whole: dict[str, list[int]]) -> Iterator[Candidate]:
    """The fields that a call or a dict is given beside what was cut."""
    given: list[tuple[str, ast.expr]] = []
    outer: Any = rows.place.parent()
    outer = rows.place.at(outer).parent() if isinstance(outer, ast.keyword) else outer
    if isinstance(outer, ast.Call):
        given = [(_name(one), one) for one in outer.args] + [(one.arg or "", one.value) for one in outer.keywords]
    elif isinstance(outer, ast.Dict):
        given = [(_key(key), one) for key, one in zip(outer.keys, outer.values, strict=True)]
    if isinstance(outer, ast.Call) and called(outer) in _COPIES:
        yield from _added(evidence, rows, outer, {name: whole[name] for name in whole.keys() - dict(given).keys()})
    left = [(whole[name], one) for name, one in given if name in whole and isinstance(one, _FIELDS)]
    left = [(shape, one) for shape, one in left if not isinstance(one, ast.Subscript) or _name(one)]
    yield from _all_cut(evidence, rows, [(rows.place.at(one), shape) for shape, one in left])


def _added(evidence: Evidence, rows: Rows, call: ast.Call, whole: dict[str, list[int]]) -> Iterator[Candidate]:
    """`replace(g, x=g.x[keep])`: the fields that the copy takes over as they are."""
    cut: Any = rows.place.node
    if isinstance(cut.value, ast.Attribute) and whole:
        owner = rows.place.source.text(cut.value.value)
        more = [f"{name}={rows.of(f'{owner}.{name}', shape)}" for name, shape in sorted(whole.items())]
        place = rows.place.at(call)
        new = ", ".join(more)
        edits = partial(add_argument, place, new)
        words: dict[str, Any] = {"what": f"{owner}.{min(whole)}", "new": new[:70]}
        yield from evidence.made(edits, "add-argument", place, rows.title, **words)


def _key(node: ast.expr | None) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _all_cut(evidence: Evidence, rows: Rows, left: list[tuple[Place, list[int]]]) -> Iterator[Candidate]:
    used = set(_used(evidence))
    blamed = [place for place, _ in left if _name(place.node) in used] or [place for place, _ in left]
    changes = [(place.span, rows.of(place.text, shape)) for place, shape in left]
    if changes:
        words: dict[str, Any] = {"what": blamed[0].text, "new": ", ".join(new for _, new in changes)[:70]}
        edits = partial(changed, rows.place.source, changes)
        yield from evidence.made(edits, "insert-method", blamed[0], rows.title, **words)


def _among_names(evidence: Evidence, rows: Rows, whole: dict[str, list[int]]) -> Iterator[Candidate]:
    """`for key in ("x", "y"): data[key] = data[key][keep]`: the names of the others are added."""
    line, source = rows.place.span.line, rows.place.source
    for loop in (one for one in source.nodes() if isinstance(one, ast.For) and holds(one, line)):
        names = [_key(one) for one in loop.iter.elts] if isinstance(loop.iter, (ast.Tuple, ast.List)) else []
        more = [name for name in whole if name not in names]
        if len(names) > 1 and all(names) and more and _name(loop.target) in _read(rows.place.node):
            last = rows.place.at(loop.iter.elts[-1])  # type: ignore[attr-defined]
            new = ", ".join([last.text, *(f'"{name}"' for name in more)])
            place = rows.place.at(loop.iter)
            yield from evidence.replaced(last, new, "replace", "cut-too", place, what=more[0], new=new[:70])


def _read(node: ast.AST) -> set[str]:
    owner = node.value if isinstance(node, ast.Subscript) else node
    return {one.id for one in ast.walk(owner) if isinstance(one, ast.Name)}


def _behind(evidence: Evidence, rows: Rows, whole: dict[str, list[int]]) -> Iterator[Candidate]:
    """`g.x = g.x[keep]`: the other fields are cut in statements behind it."""
    statement = rows.place.statement()
    target = _target(statement.node, rows.place.node)
    name = _name(target) if target is not None else ""
    if target is None or not name:
        return
    own = rows.place.source.text(target)
    head, _, tail = own.rpartition(name)
    others = {f"{head}{other}{tail}": shape for other, shape in whole.items() if other != name}
    lines = [f"{text} = {rows.of(text, shape)}" for text, shape in others.items()]
    if lines:
        statement = _last_alike(rows, statement)
        edits = partial(insert_statement, "\n".join(lines), after=statement)
        words: dict[str, Any] = {"what": next(iter(others)), "new": lines[0][:70]}
        yield from evidence.made(edits, "insert-statement", statement, rows.title, **words)


def _target(statement: ast.AST, node: ast.AST) -> ast.expr | None:
    """The field that a statement gives a part of itself, one of several as it may be: `g.x, g.y = g.x[i], g.y[i]`."""
    if not isinstance(statement, ast.Assign) or not isinstance(node, ast.Subscript):
        return None
    pairs = [(statement.targets[0], statement.value)]
    if isinstance(statement.targets[0], ast.Tuple) and isinstance(statement.value, ast.Tuple):
        pairs = list(zip(statement.targets[0].elts, statement.value.elts, strict=False))
    fields = (one for one, value in pairs if value is node and isinstance(one, (ast.Attribute, ast.Subscript)))
    return next((one for one in fields if ast.unparse(one) == ast.unparse(node.value)), None)


def _last_alike(rows: Rows, statement: Place) -> Place:
    """The last statement of the function that takes the same rows of something, from a statement on."""
    scope = statement.source.scope_at(statement.span.line)
    every = [one for one in ast.walk(scope) if isinstance(one, ast.Assign) and isinstance(one.value, ast.Subscript)]
    alike = [one for one in every if statement.source.text(one.value.slice) == rows.index]  # type: ignore[attr-defined]
    last = max(alike, key=lambda one: one.lineno, default=statement.node)
    return statement.at(last)
