"""Square tables made for the longest sequence ever, of which a model uses a corner: a causal mask of max_len."""

from __future__ import annotations

import ast
import math
import os

from explainer.bindings import given_to_name, name_of_value
from explainer.edits.kinds.where_used import table_of
from explainer.edits.place import Place
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.files import sources
from explainer.probes.numerics.memory import asked_bytes
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import read
from explainer.source import Source

_LARGE = 4096


@probe
def square_table(scene: Scene) -> SpanFact | None:
    """The failing call that makes a square of one large size for `self`, of which methods use a corner alone.

    `detail`: `name` the table's, `size` its source, `count` its value, `use` the first use and `used` its size.
    """
    frame, failing, asked = scene.user_frame, scene.failing, asked_bytes(scene)
    node = call_node(failing.node) if failing is not None else None
    table = table_of(Place(failing.source, node)) if failing is not None and isinstance(node, ast.Call) else None
    if frame is None or failing is None or table is None or node is None or asked is None:
        return None
    names = (one for one in ast.walk(node) if isinstance(one, ast.expr) and failing.source.text(one) == table.size)
    count = read(next(names), frame.frame)
    if type(count) is not int or count < _LARGE or asked % (count * count):
        return None
    use = span_fact(failing.source, table.uses[0])
    return span_fact(failing.source, node, name=table.name, size=table.size, count=count, use=use, used=table.used)


@probe
def number_set(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The only place in the user's files where the size of a table is written.

    `detail`: `key` under which it stands, "" for none, its `file` and `others`: smaller numbers that stand
    under the same key there.
    """
    count = of["count"] if of is not None else None
    found = [(source, node) for source in sources(scene) for node in source.nodes() if _number(node) == count]
    found = [(source, node) for source, node in found if not _inner(source, node, count)]
    if count is None or len(found) != 1:
        return None
    source, node = found[0]
    key = name_of_value(source, node)
    values = [_number(value) for value in given_to_name(source, key) if value is not node] if key else []
    file = os.path.basename(source.file)
    return span_fact(
        source, node, key=key, file=file, others=tuple(sorted({one for one in values if one and one < count}))
    )


def _number(node: ast.AST) -> int | None:
    """A whole number that is written out, also as `1 << 20` and `1024 * 1024`."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    sides = [_number(node.left), _number(node.right)] if isinstance(node, ast.BinOp) else []
    numbers = [one for one in sides if one is not None]
    if len(numbers) != 2 or not isinstance(node, ast.BinOp) or max(numbers) > 1 << 40:
        return None
    if isinstance(node.op, ast.Mult):
        return math.prod(numbers)
    power = isinstance(node.op, (ast.LShift, ast.Pow)) and 0 <= numbers[1] <= 48
    return (
        (numbers[0] << numbers[1] if isinstance(node.op, ast.LShift) else numbers[0] ** numbers[1]) if power else None
    )


def _inner(source: Source, node: ast.AST, count: int | None) -> bool:
    """Whether a number is a part of an expression that gives the same number: 1048576 of `1048576 * 1`."""
    outer = (one for one in source.nodes() if isinstance(one, ast.BinOp) and node in (one.left, one.right))
    return any(_number(one) == count for one in outer)
