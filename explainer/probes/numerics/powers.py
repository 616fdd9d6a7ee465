"""Powers of numbers that may be negative: nan for a fraction as exponent, and for the gradient of a learned one."""

from __future__ import annotations

import ast

from explainer.edits.place import Place, as_primary
from explainer.facts import NanFact, SpanFact
from explainer.probes import probe
from explainer.probes.numerics.births import LIBRARIES
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called, source_of


@probe
def power_before(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """What the first power in the function where nan was born is taken of; None where that is the only one.

    `detail.base` is its text, to be followed by a method. Powers with whole numbers written out are defined everywhere.
    """
    if of is None:
        return None
    source = source_of(of.span.file)
    bases = [base for node in ast.walk(source.scope_at(of.span.line)) if (base := _base(source, node)) is not None]
    before = [one for one in bases if (one.lineno, one.col_offset) < (of.span.line, of.span.column or 0)]
    if not before:
        return None
    first = min(before, key=lambda one: (one.lineno, one.col_offset))
    return span_fact(source, first, base=as_primary(Place(source, first)))


def _base(source: Source, node: ast.AST) -> ast.expr | None:
    """What a node takes a power of, by an exponent that is no plain whole number."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base, exponent = node.left, node.right
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and called(node) == "pow":
        given = [*node.args] if source.text(node.func.value) in LIBRARIES else [node.func.value, *node.args]
        if len(given) != 2:
            return None
        base, exponent = given
    else:
        return None
    whole = isinstance(exponent, ast.Constant) and isinstance(exponent.value, int)
    return None if whole or isinstance(base, ast.Constant) else base
