"""One part of what a call gives, `rnn(x)[0]`; where a place in a flattened table lies; an index kept in its table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.edits.evidence import Evidence
from explainer.edits.place import as_primary
from explainer.repair.atoms.arguments import replaced
from explainer.repair.atoms.common import expressions, integers, row_of, shape_of, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot, statement_around
from explainer.source import called, loaded, stored, walked

_PARTS = re.compile(
    r"tuple|return_types|has no attribute|must be Tensor|not (?:a )?[Tt]ensor|unsupported operand|'list'|list ind|"
    r"BaseModelOutput"
)


_BEYOND = re.compile(r"out of (?:bounds|range)")
_BEYOND_SIZE = re.compile(r"out of (?:bounds|range).*?(?:with|of) size (\d+)", re.DOTALL)
#: What picks places, and what makes one row of a table; what reads a table at places.
_PICKS = ("topk", "argmax", "argmin", "max", "min", "sort", "argsort", "multinomial", "randperm", "nonzero")
_FLAT = ("flatten", "view", "reshape", "ravel")
_READS = ("index_select", "gather", "take_along_dim", "index_add", "index_add_", "index_copy")


def unflattened(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`rows[best]` -> `rows[best // width]`: of a place in a flattened table the row, or the column.

    Where the function takes the other of both, or picked the place in a flattened table; all who read with it alike.
    """
    if not _BEYOND.search(evidence.message):
        return
    function = spot.place.source.scope_at(spot.place.line)
    for node in expressions(spot):
        if isinstance(node, ast.Name) and _reads_at(spot, node):
            others = [one for one in walked(function) if isinstance(one, ast.Name)
                      and one.id == node.id and one is not node and _reads_at(spot, one)]  # fmt: skip
            for at, new in enumerate(_halves(spot, function, node.id)):
                yield Offer("unflattened", spot, node, new, "split", 0.2 * at)
                twins = tuple((one, new) for one in others)
                yield Offer("unflattened", spot, node, new, "split", 0.2 * at, twins=twins)


def _reads_at(spot: Spot, node: ast.AST) -> bool:
    """Whether something is read at the place that a name is."""
    parent = spot.place.source.parent_of(node)
    if isinstance(parent, ast.Tuple):
        node, parent = parent, spot.place.source.parent_of(parent)
    if isinstance(parent, ast.Subscript):
        return parent.slice is node
    return isinstance(parent, ast.Call) and called(parent) in _READS and node in parent.args


def _halves(spot: Spot, function: ast.AST, name: str) -> list[str]:
    """The quotient of a place where the function takes its remainder, and the other way round; else both."""
    found = []
    for one in walked(function):
        if isinstance(one, ast.BinOp) and isinstance(one.left, ast.Name) and one.left.id == name:
            if isinstance(one.op, (ast.Mod, ast.FloorDiv)):
                found.append(f"{name} {'//' if isinstance(one.op, ast.Mod) else '%'} {_operand(spot, one.right)}")
        elif isinstance(one, ast.Assign) and name in stored(one) and not found:
            tables = _flattened(spot, one.value)
            found += [f"{name} {sign} {table}.size(-1)" for table in tables for sign in ("//", "%")]
    return list(dict.fromkeys(found))


def _operand(spot: Spot, node: ast.expr) -> str:
    whole = text(spot, node)
    return whole if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Subscript)) else f"({whole})"


def _flattened(spot: Spot, node: ast.expr) -> Iterator[str]:
    """The named tables of which places are picked once they are one row."""
    picks = any(isinstance(one, ast.Call) and called(one) in _PICKS for one in walked(node))
    for one in walked(node) if picks else ():
        owner = one.func.value if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) else None
        if isinstance(owner, (ast.Name, ast.Attribute)) and called(one) in _FLAT:  # type: ignore[arg-type]
            yield text(spot, owner)


def paired(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`places = n * rows + columns` behind `kept = rows < n`: a pair outside of the table is none."""
    statement = statement_around(spot.place)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.BinOp):
        return
    if not isinstance(statement.value.op, ast.Add) or "kept" in loaded(spot.place.source.tree):  # type: ignore[arg-type]
        return
    sides = (statement.value.left, statement.value.right)
    for product, beside in (sides, sides[::-1]):
        if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
            continue
        for width, row in ((product.left, product.right), (product.right, product.left)):
            if (
                isinstance(row, ast.Name)
                and isinstance(beside, ast.Name)
                and len(shape_of(spot, row, evidence) or ()) == 1
            ):
                names = [(one, f"{one.id}[kept]") for one in walked(statement.value)
                         if isinstance(one, ast.Name) and one.id in (row.id, beside.id)]  # fmt: skip
                head = f"kept = {row.id} < {text(spot, width)}\n{' ' * statement.col_offset}"
                yield Offer("paired", spot, row_of([statement]), head + replaced(spot, statement, names), "inside")


def index(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`self.rnn(x)` -> `self.rnn(x)[0]`, where a tuple came and a tensor was to."""
    if not _PARTS.search(evidence.message):
        return
    for node in expressions(spot):
        if isinstance(node, (ast.Call, ast.Name, ast.Attribute)) and not _called(spot, node):
            for at, part in enumerate(("[0]", "[1]", "[-1]")):
                yield Offer("index", spot, node, f"{text(spot, node)}{part}", part, 0.5 + 0.4 * at)


def state(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`state[-1]` -> `state[0][-1]`: the last layer's of the first part of a state, where the state is a tuple."""
    for node in expressions(spot):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and _is_state(spot, node.value.id):
            yield Offer("state", spot, node.value, f"{node.value.id}[0]", "[0]")


def _is_state(spot: Spot, name: str) -> bool:
    """Whether a name stands for a tuple that a call handed back behind its output, as an LSTM does its state."""
    function = spot.place.source.function_at(spot.place.line)
    rows = [one for one in walked(function) if isinstance(one, ast.Assign)] if function is not None else []
    behind = [one.targets[0].elts[1:] for one in rows if isinstance(one.targets[0], ast.Tuple)]
    named = any(isinstance(part, ast.Name) and part.id == name for row in behind for part in row)
    return named and spot.scope.get(f"type({name})") == "sequence"


def _called(spot: Spot, node: ast.AST) -> bool:
    parent = spot.place.source.parent_of(node)
    return (isinstance(parent, ast.Call) and parent.func is node) or isinstance(parent, ast.Attribute)


def bound(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`(v - low) / width` -> `((v - low) / width).clamp(0, bins - 1)`, where it is an index that is out of bounds.

    Ids are whole numbers from the start: one that is too large names something else, and stays what it is.
    """
    said, step = _BEYOND_SIZE.search(evidence.message), spot.step
    if said is None or step is None or spot.role != "slice" or not step.dtype.startswith("float"):
        return
    if isinstance(spot.place.node, ast.expr):
        size = int(said[1])
        ends = [f"{name} - 1" for name, value in integers(spot).items() if value == size] or [str(size - 1)]
        for at, end in enumerate(ends[:3]):
            text = f"{as_primary(spot.place.at(spot.place.node))}.clamp(0, {end})"
            yield Offer("bound", spot, spot.place.node, text, "bound", 0.1 * at)
