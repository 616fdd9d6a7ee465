"""Candidates for requests beyond any memory: ids and times taken for counts, dense matrices of few entries."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Tree
from explainer.edits.generators.slices import editable, operands
from explainer.edits.kinds.statements import delete_statement, insert_statement
from explainer.edits.lines import EditError, changed
from explainer.edits.place import Place, as_operand, fitted
from explainer.frozen import frozen
from explainer.source import Source, called, loaded

#: The largest value of ids that are no counts is so many times their number.
_SPARSE = 8
#: Units of time and of data, tried where the program names none that fits.
_UNITS = (1000, 1_000_000, 1_000_000_000, 60, 3600, 86_400, 1024)
_HUGE = 1 << 20


def numbered(evidence: Evidence) -> Iterator[Candidate]:
    """`bincount(x)` -> `bincount((x - x.min()) // unit)` for times, over consecutive numbers for ids."""
    crash = evidence.crash
    for operand in operands(evidence):
        extent = crash.extents[operand.index] if crash and operand.index < len(crash.extents) else None
        count, place = (operand.shape or [1])[0], operand.place
        if extent is None or place is None or not editable(place) or extent[1] < _SPARSE * count:
            continue
        since = f"{as_operand(place.text)} - {as_operand(place.text)}.min()"
        span = extent[1] - extent[0]
        if span <= _SPARSE * count:
            yield from _since(evidence, place, since, extent[0])
        for unit, text in _units(evidence):
            if 1 <= span // unit <= _SPARSE * count:
                yield from _since(evidence, place, f"({since}) // {text}", extent[0])
                break
        yield from _consecutive(evidence, place)


def _since(evidence: Evidence, place: Place, new: str, low: int) -> Iterator[Candidate]:
    yield from evidence.replaced(place, new, "replace", "since", new=new, what=place.text[:48], low=low)


def _consecutive(evidence: Evidence, place: Place) -> Iterator[Candidate]:
    edits = partial(_unique, place)
    yield from evidence.made(edits, "wrap-call", place, "consecutive", what=place.text[:48])


def _unique(place: Place) -> Any:
    return changed(place.source, [(place.span, f"torch.unique({place.text}, return_inverse=True)[1]")])


def _units(evidence: Evidence) -> list[tuple[int, str]]:
    """The numbers by which a program may count time, as it writes them; then the usual units."""
    found: dict[int, str] = {}
    for source in evidence.sources_seen():
        for node in source.nodes():
            sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
            for side in sides:
                if isinstance(side, ast.Constant) and type(side.value) is int and side.value >= 60:
                    found.setdefault(side.value, source.text(side))
    usual = [(unit, f"{unit:_}") for unit in _UNITS if unit not in found]
    return [*sorted(found.items()), *usual]


def largest(evidence: Evidence) -> Iterator[Candidate]:
    """Ids whose largest gives a table its size made consecutive numbers where they are made: `int(ids.max()) + 1`."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            owner = _of_largest(node)
            if owner is None:
                continue
            yield from _counted(evidence, Place(source, node), owner)  # type: ignore[arg-type]
            made = [one for one in source.nodes() if isinstance(one, ast.Assign) and owner in _bound(source, one)]
            for one in made[:1]:
                yield from _renumbered(evidence, source, one, owner, isinstance(node.func, ast.Attribute))  # type: ignore


def distinct(evidence: Evidence) -> Iterator[Candidate]:
    """`len(np.unique(ids))` -> `int(ids.max()) + 1`: a table needs a row for each number up to the largest id."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            found = _of_distinct(node)
            if found is not None:
                new = f"max({found[0]}) + 1" if found[1] else f"int({found[0]}.max()) + 1"
                place = Place(source, node)  # type: ignore[arg-type]
                yield from evidence.replaced(place, fitted(place, new), "replace", "rename", new=new, old=place.text)


def _of_distinct(node: ast.AST) -> tuple[str, bool] | None:
    """What is counted without repetitions, `ids` of `len(set(ids))`, and whether it is a plain list."""
    if not isinstance(node, ast.Call):
        return None
    if called(node) == "nunique" and isinstance(node.func, ast.Attribute) and not node.args:
        return ast.unparse(node.func.value), False
    inner = node.args[0] if called(node) == "len" and len(node.args) == 1 else None
    if not isinstance(inner, ast.Call) or called(inner) not in ("unique", "set") or inner.keywords:
        return None
    if inner.args:
        return ast.unparse(inner.args[0]), called(inner) == "set"
    return (ast.unparse(inner.func.value), False) if isinstance(inner.func, ast.Attribute) else None


def _bound(source: Source, statement: ast.Assign) -> list[str]:
    target = statement.targets[0]
    return [source.text(one) for one in (target.elts if isinstance(target, ast.Tuple) else [target])]


def _renumbered(
    evidence: Evidence, source: Source, made: ast.Assign, owner: str, is_tensor: bool
) -> Iterator[Candidate]:
    """Consecutive numbers for ids, where they are made or right behind."""
    if _is_tensor_call(made.value) and not isinstance(made.targets[0], ast.Tuple):
        yield from _consecutive(evidence, Place(source, made.value))
        return
    text = f"{owner} = [sorted(set({owner})).index(value) for value in {owner}]"
    if is_tensor and isinstance(made.targets[0], ast.Tuple):
        text = f"{owner} = torch.unique({owner}, return_inverse=True)[1]"
    edits = partial(insert_statement, text, after=Place(source, made))
    yield from evidence.made(edits, "insert-statement", Place(source, made), "consecutive", what=owner)


def _counted(evidence: Evidence, largest: Place, owner: str) -> Iterator[Candidate]:
    """`max(ids) + 1` -> `len(ids)`, where the file numbers the ids one after the other: `enumerate(ids)`."""
    source, around = largest.source, largest.parent()
    numbered = [node for node in source.nodes() if isinstance(node, ast.Call) and called(node) == "enumerate"]
    if not isinstance(around, ast.BinOp) or not isinstance(around.op, ast.Add) or around.left is not largest.node:
        return
    if any(source.text(node.args[0]) == owner for node in numbered if node.args):
        new, old = f"len({owner})", source.text(around)
        yield from evidence.replaced(largest.at(around), new, "replace", "rename", new=new, old=old)


def _of_largest(node: ast.AST) -> str | None:
    """The source of x in `x.max()` and in `max(x)`."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("max", "amax") and not node.args:
        return ast.unparse(node.func.value)
    one = len(node.args) == 1 and not node.keywords
    name = ast.unparse(node.func)
    return ast.unparse(node.args[0]) if one and name in ("max", "torch.max", "torch.amax") else None


def _is_tensor_call(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node).startswith("torch.")


@frozen
class _Filled:
    """A statement `matrix[rows, columns] = value`."""

    at: Place
    rows: str
    columns: str
    value: ast.expr


def sparse(evidence: Evidence) -> Iterator[Candidate]:
    """`m = zeros(n, n); m[i, j] = w` -> `m = sparse_coo_tensor(stack([i, j]), w, (n, n))`: the entries alone."""
    crash = evidence.crash
    place = crash.place if crash is not None else None
    if crash is None or place is None or crash.function not in ("zeros", "eye", "diag"):
        return
    if crash.function == "zeros":
        yield from _filled_later(evidence, place)
    elif isinstance(place.node, ast.Call) and len(place.node.args) == 1:
        yield from _on_diagonal(evidence, place, crash.function == "eye")


def _filled_later(evidence: Evidence, place: Place) -> Iterator[Candidate]:
    made = place.statement().node
    sizes = _sizes(place)
    if not isinstance(made, ast.Assign) or made.value is not place.node or len(sizes) != 2:
        return
    name = place.source.text(made.targets[0])
    filled = [one for node in place.source.nodes() for one in _filled(place, node, name)]
    if not filled or any(one.at.node.lineno < made.lineno for one in filled):
        return
    edits = partial(_entries_alone, place.at(made), name, filled, sizes)
    yield from evidence.made(edits, "replace", place, "sparse", what=name)


def _sizes(place: Place) -> list[str]:
    given = list(place.node.args) if isinstance(place.node, ast.Call) else []
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        given = given[0].elts
    return [place.source.text(one) for one in given]


def _filled(place: Place, node: ast.AST, name: str) -> Iterator[_Filled]:
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    if not isinstance(target, ast.Subscript) or place.source.text(target.value) != name:
        return
    function = place.source.function_at(place.line)
    if isinstance(target.slice, ast.Tuple) and len(target.slice.elts) == 2:
        rows, columns = (place.source.text(one) for one in target.slice.elts)
        if place.source.function_at(node.lineno) is function and ":" not in rows + columns:  # type: ignore[attr-defined]
            yield _Filled(place.at(node), rows, columns, node.value)  # type: ignore[arg-type, attr-defined]


def _entries_alone(made: Place, name: str, filled: list[_Filled], sizes: list[str]) -> Any:
    """The matrix made of its entries where the last of them were written; the statements before are dropped."""
    rows, columns, values = ([one.rows for one in filled], [one.columns for one in filled], [_value(o) for o in filled])
    parts = [texts[0] if len(texts) == 1 else f"torch.cat([{', '.join(texts)}])" for texts in (rows, columns, values)]
    text = f"{name} = torch.sparse_coo_tensor(torch.stack([{parts[0]}, {parts[1]}]), {parts[2]}, ({', '.join(sizes)}))"
    gone = [edit for one in [made, *(one.at for one in filled[:-1])] for edit in delete_statement(one)]
    put = changed(made.source, [(filled[-1].at.span, text)])
    if len({(edit.start_line, edit.end_line) for edit in [*gone, *put]}) != len(gone) + len(put):
        raise EditError("two statements share a line")
    return (*gone, *put)


def _value(one: _Filled) -> str:
    text = one.at.source.text(one.value)
    return f"torch.full((len({one.rows}),), {float(text)})" if isinstance(one.value, ast.Constant) else text


def _on_diagonal(evidence: Evidence, place: Place, ones: bool) -> Iterator[Candidate]:
    """`diag(w) @ x` -> `w.unsqueeze(1) * x`; `eye(n)` and `diag(w)` as sparse matrices."""
    text = place.source.text(place.node.args[0])  # type: ignore[union-attr]
    parent = place.parent()
    if not ones and isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.MatMult):
        left = parent.left is place.node
        other = as_operand(place.source.text(parent.right if left else parent.left))
        new = f"{as_operand(text)}.unsqueeze(1) * {other}" if left else f"{other} * {text}"
        yield from evidence.replaced(place.at(parent), new, "replace", "rename", new=new, old=place.text[:48])
    size = text if ones else f"len({text})"
    values = f"torch.ones({size})" if ones else text
    new = f"torch.sparse_coo_tensor(torch.arange({size}).repeat(2, 1), {values}, ({size}, {size}))"
    yield from evidence.replaced(place, new, "replace", "sparse", what=place.text[:48])


def factors(evidence: Evidence) -> Iterator[Candidate]:
    """A product that a size is, `n * height * width`, without one of its factors."""
    crash = evidence.crash
    yield from _repeated(evidence)
    layers = [tree for layer in evidence.on_stack[-1:] for trees in layer.numbers.values() for tree in trees]
    for tree in [*(crash.numbers if crash is not None else ()), *layers]:
        for node in _products(tree):
            place = evidence.place(node[4]) if node[4] else None
            if (
                place is not None and isinstance(place.node, ast.BinOp) and loaded(place.node)
            ):  # not a number written so
                for side in (place.node.left, place.node.right):
                    new = place.source.text(side)
                    yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text[:48])


def _repeated(evidence: Evidence) -> Iterator[Candidate]:
    """`zeros(n * side * side, side, side)`: the factors left out that are sizes of their own beside the product."""
    place = evidence.crash.place if evidence.crash is not None else None
    sizes = _sizes(place) if place is not None else []
    for node in place.node.args if place is not None and isinstance(place.node, ast.Call) else ():
        given = _factors(node)
        left = [ast.unparse(one) for one in given if ast.unparse(one) not in sizes]
        if place is not None and 0 < len(left) < len(given):
            new = " * ".join(left)
            yield from evidence.replaced(
                place.at(node), new, "replace", "rename", place, new=new, old=ast.unparse(node)
            )


def _factors(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _factors(node.left) + _factors(node.right)
    return [node]


def _products(tree: Tree) -> Iterator[Tree]:
    if tree[0] == "op":
        if tree[1] in ("*", "**") and int(tree[-1]) >= _HUGE // 1024:
            yield tree
        yield from _products(tree[2])
        yield from _products(tree[3])
