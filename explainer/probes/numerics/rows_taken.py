"""Products of all rows with all rows of which the program then takes some: which, and how it reads with these alone."""

from __future__ import annotations

import ast
from typing import Any

from explainer.edits.kinds.products import factors
from explainer.edits.kinds.rows_first import index_of, selected
from explainer.edits.place import Place, as_primary
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.numerics.memory import asked_bytes, viewed
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import is_tensor, read
from explainer.source import Source, called, loaded, stored

_PAIRING = ("cdist", "cosine_similarity", "pairwise_distance")
#: Methods that leave the rows apart from each other.
_BY_VALUE = ("abs", "sqrt", "square", "exp", "neg", "pow", "clamp", "clamp_min", "clamp_max", "div", "mul", "float")
_OVER_LAST = ("sum", "mean", "norm", "amax", "amin", "softmax")


@probe
def rows_taken_later(scene: Scene) -> SpanFact | None:
    """The failing product of all rows with all others, of whose result only some rows are used.

    `detail`: `to`, the same with the rows taken first; `rows`, what picks them; `name` of the whole result and
    `places`, where rows are picked from it; `tensor`, what has the rows, and `made`, the shape of the whole product;
    `edited`, the expression to change, and `edit`, what it becomes.
    """
    failing, frame, asked = scene.failing, scene.user_frame, asked_bytes(scene)
    node: Any = call_node(failing.node) if failing is not None else None
    if failing is None or frame is None or asked is None or not isinstance(node, ast.expr):
        return None
    source, operands = failing.source, _operands(node)
    first = read(_rows_of(operands[0]), frame.frame) if operands else None
    sizes = [_size(one, frame.frame) for one in operands or ()]
    taken = _taken(source, node)
    if not is_tensor(first) or first.dim() != 2 or None in sizes or asked < 1 << 30 or taken is None:
        return None
    name, places = taken
    rows = source.text(index_of(places[0]))  # type: ignore[arg-type]
    if asked < first.shape[0] * sizes[-1] * first.element_size() or not _fewer(index_of(places[0]), first, frame.frame):
        return None
    edited = places[0] if not name else node
    later = [span_fact(source, one) for one in places] if name else []
    to = _first_rows(source, node, operands[0], rows)
    return span_fact(
        source, node, to=to, rows=rows, name=name, tensor=source.text(_rows_of(operands[0])), line=places[0].lineno,
        made=(first.shape[0], sizes[-1]), places=tuple(later),
        edited=span_fact(source, edited), edit=to if name else _at_once(source, edited, node, to),
    )  # fmt: skip


def _operands(node: ast.expr) -> list[ast.expr]:
    """The two operands that are paired row by row: of a matrix product, a distance, or a broadcast `a[:, None]`."""
    pair = factors(node)
    if pair is not None:
        return list(pair)
    if isinstance(node, ast.Call) and called(node) in _PAIRING and len(node.args) >= 2:
        return list(node.args[:2])
    if isinstance(node, ast.BinOp) and _rows_of(node.left) is not node.left:
        return [node.left, node.right]
    return []


def _rows_of(node: ast.expr) -> ast.expr:
    """`e` of `e[:, None]` and `e.unsqueeze(1)`; another expression as it is."""
    text = ast.unparse(node)
    if isinstance(node, ast.Subscript) and text.endswith(("[:, None]", "[:, None, :]")):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and text.endswith(".unsqueeze(1)"):
        return node.func.value
    return node


def _size(node: ast.expr, frame: Any) -> int | None:
    """How many rows the other operand is paired with: `e.T` and `e[None]` have those of `e`."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        value = read(node, frame)
        if is_tensor(value):
            return max(value.shape, default=None)
        inner = viewed(node, frame)
        if is_tensor(inner):
            return max(inner.shape, default=None)
        node = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else (
            node.value if isinstance(node, (ast.Attribute, ast.Subscript)) else ast.Constant(0))  # fmt: skip
    value = read(node, frame)
    return max(value.shape, default=None) if is_tensor(value) else None


def _taken(source: Source, node: ast.expr) -> tuple[str, list[ast.expr]] | None:
    """The name of the whole result and where rows are picked from it; no name where they are picked at once."""
    whole = _kept_apart(source, node)
    above = _parent(source, whole)
    above = _parent(source, above) if isinstance(above, ast.Attribute) and above.attr == "index_select" else above
    if selected(above) is whole:
        return "", [above]
    statement = source.statement_at(node.lineno)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if not isinstance(target, ast.Name) or statement.value is not whole:  # type: ignore[union-attr]
        return None
    places = _selections(source, statement, target.id)  # type: ignore[arg-type]
    return (target.id, places) if places else None


def _kept_apart(source: Source, node: ast.expr) -> ast.expr:
    """The largest expression around a product in which each row still stands for itself: `(a @ b) / t`."""
    while True:
        above: Any = _parent(source, node)
        if isinstance(above, ast.Attribute) and above.attr in (*_BY_VALUE, *_OVER_LAST):
            call = _parent(source, above)
            if not isinstance(call, ast.Call) or (above.attr in _OVER_LAST and not _last(call)):
                return node
            node = call
        elif isinstance(above, ast.UnaryOp) or (isinstance(above, ast.BinOp) and _number(above, node)):
            node = above
        else:
            return node


def _last(call: ast.Call) -> bool:
    return any(ast.unparse(one) == "-1" for one in (*call.args, *(word.value for word in call.keywords)))


def _number(above: ast.BinOp, node: ast.expr) -> bool:
    other = above.right if above.left is node else above.left
    return isinstance(other, ast.Constant) and not isinstance(above.op, ast.MatMult)


def _parent(source: Source, node: ast.AST) -> Any:
    return next((one for one in source.nodes() if any(inner is node for inner in ast.iter_child_nodes(one))), None)


def _selections(source: Source, statement: ast.stmt, name: str) -> list[ast.expr]:
    """The places that pick rows of a name after a statement, all the same; none where it is read in another way."""
    scope = source.scope_at(statement.lineno)
    later = [one for one in ast.walk(scope) if getattr(one, "lineno", 0) > (statement.end_lineno or 0)]
    picks = [one for one in later if getattr(selected(one), "id", None) == name]
    if not picks:
        return []
    first = min(picks, key=lambda one: one.lineno)  # type: ignore[attr-defined]
    holding = source.statement_at(first.lineno)  # type: ignore[attr-defined]
    again = isinstance(holding, ast.Assign) and holding.value is first and source.text(holding.targets[0]) == name
    end = (holding.end_lineno or 0) if again and holding is not None else 1 << 30
    picks = [one for one in picks if one.lineno <= end]  # type: ignore[attr-defined]
    reads = [one for one in later if isinstance(one, ast.Name) and one.id == name and one.lineno <= end]
    reads = [one for one in reads if isinstance(one.ctx, ast.Load)]
    index = index_of(first)
    same = {source.text(index_of(one)) for one in picks} == {source.text(index)} if index is not None else False  # type: ignore[arg-type]
    between = [one for one in later if isinstance(one, ast.stmt) and one.lineno < first.lineno]  # type: ignore[attr-defined]
    bound = {each for one in between for each in stored(one)}
    kept = index is not None and not loaded(index) & (bound | {name})
    return picks if same and kept and len(reads) == len(picks) else []  # type: ignore[return-value]


def _fewer(index: ast.expr | None, first: Any, frame: Any) -> bool:
    """Whether what picks the rows is no single number, and picks far fewer of them where that is known."""
    if isinstance(index, ast.Slice):
        return index.upper is not None
    value = read(index, frame) if index is not None else None
    if is_tensor(value):
        return value.dim() == 1 and 2 * value.shape[0] <= first.shape[0]
    return isinstance(value, (list, tuple)) and 2 * len(value) <= first.shape[0]


def _at_once(source: Source, picked: ast.expr, node: ast.expr, to: str) -> str:
    """`(a @ b)[i]` and the like without the selection, in parentheses where they are needed."""
    whole = selected(picked)
    text = source.text(whole).replace(source.text(node), to, 1) if whole is not None else to
    alone = isinstance(_parent(source, picked), (ast.Assign, ast.Return)) or not isinstance(whole, ast.BinOp)
    return text if alone else f"({text})"


def _first_rows(source: Source, node: ast.expr, operand: ast.expr, rows: str) -> str:
    """The expression with the rows taken from its first operand."""
    owner = _rows_of(operand)
    text, place = source.text(node), Place(source, owner)
    return text.replace(place.text, f"{as_primary(place)}[{rows}]", 1)
