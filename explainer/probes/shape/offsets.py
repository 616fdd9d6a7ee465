"""Offsets of parts that lie one behind another in a table, which are where the parts end and not where they begin."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from explainer.edits.place import Place, as_operand, fitted
from explainer.facts import ModuleFact, SpanFact
from explainer.probes import probe
from explainer.probes.files import sources
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import read, readable
from explainer.source import called, names_in

#: How many parts a table may have.
_MOST = 10_000


@probe
def ends_as_offsets(scene: Scene, of: ModuleFact | None = None) -> SpanFact | None:
    """The one place of the program that sums up sizes, where the failing function adds such sums to its ids.

    The sums are known by the last of them, which is the number of rows of the table `of`. `detail.name` is what is
    added, `last` its last entry, `count` how many it has, `new` what gives where parts begin ("" where that takes
    another order of statements).
    """
    frame = scene.user_frame
    source = scene.source(frame.file) if frame is not None else None
    if of is None or frame is None or source is None:
        return None
    scope = source.scope_at(frame.line)
    sums = [one for one in ast.walk(scope) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add)]
    added = [part for one in sums for part in names_in(one)]
    known = [(one, values) for one in added if (values := _values(one, frame)) and values[-1] == of["num_embeddings"]]
    found = _summed(scene) if known else []
    if len(found) != 1 or known[0][1][0] <= 0:
        return None
    name, values = source.text(known[0][0]), known[0][1]
    place, new = found[0]
    return span_fact(place.source, place.node, name=name, last=values[-1], count=len(values), new=new)


def _values(node: ast.AST, frame: LiveFrame) -> list[int]:
    """The whole numbers of a list, array or tensor of one dimension; none for anything else."""
    value: Any = read(node, frame.frame)
    if readable(value, _MOST) and value.dim() == 1 and "int" in str(value.dtype):
        return value.detach().tolist()
    if type(value).__name__ == "ndarray" and type(value).__module__ == "numpy" and value.ndim == 1:
        return [int(one) for one in value] if value.dtype.kind in "iu" and value.size < _MOST else []
    return list(value) if type(value) in (list, tuple) and all(type(one) is int for one in value) else []


def _summed(scene: Scene) -> list[tuple[Place, str]]:
    """The places that sum up sizes, each with what would give where parts begin."""
    found = []
    for source in sources(scene):
        calls = [Place(source, one) for one in source.nodes() if isinstance(one, ast.Call)]
        found += [(one, new) for one in calls if (new := _starts_of(one))]
        found += [(Place(source, second), "") for _, second in _noted_late(source.nodes())]
    return found


def _starts_of(place: Place) -> str:
    """Where parts of some sizes begin, in place of where they end; "" for another call, or one that begins with 0."""
    node = place.node
    if not isinstance(node, ast.Call) or _begins_with_zero(place):
        return ""
    name = called(node)
    if name == "list" and len(node.args) == 1 and isinstance(node.args[0], ast.Call):
        inner = node.args[0]
        plain = called(inner) == "accumulate" and len(inner.args) == 1
        return f"[0] + {place.text}[:-1]" if plain and not inner.keywords else ""
    if name != "cumsum" or not isinstance(node.func, ast.Attribute):
        return ""
    library = place.source.text(node.func.value)
    given = node.args[0] if library in ("np", "numpy", "torch") and node.args else node.func.value
    text = place.source.text(given)
    return fitted(place, f"{place.text} - {as_operand(text)}")


def _begins_with_zero(place: Place) -> bool:
    """Whether a 0 was put before the sizes or the sums, or one is taken off their end."""
    outer = place.parent()
    put = isinstance(outer, (ast.BinOp, ast.Subscript, ast.Starred, ast.List, ast.Tuple))
    return put or "0]" in place.text.replace(" ", "") or "(0," in place.text.replace(" ", "")


def _noted_late(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """`total += size` right before `starts.append(total)`."""
    for node in nodes:
        body = getattr(node, "body", None) if isinstance(node, ast.For) else None
        for first, second in zip(body or (), (body or [])[1:], strict=False):
            if isinstance(first, ast.AugAssign) and isinstance(first.op, ast.Add) and isinstance(second, ast.Expr):
                call = second.value
                noted = isinstance(call, ast.Call) and called(call) == "append" and len(call.args) == 1
                if noted and ast.unparse(call.args[0]) == ast.unparse(first.target):  # type: ignore[attr-defined]
                    yield first, second
