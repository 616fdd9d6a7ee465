"""Constants written as a list of numbers, a weight or a mean each, which a new class or feature left too short."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.bindings import only_value
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.decided import given
from explainer.probes.files import calls_named
from explainer.probes.literals import setting
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, of_self

#: What takes a factor for each class, and how far a list is followed back from there.
_LOSSES = ("CrossEntropyLoss", "NLLLoss", "cross_entropy", "nll_loss")
_MOST = 4


@probe
def weights_listed(scene: Scene) -> SpanFact | None:
    """The one list of as many numbers as there are class weights that a loss is given; `detail`: `count`."""
    said = str(scene.captures.get("weight") or "")
    found = {
        (source.file, node.lineno): (source, node)
        for where, call in calls_named(scene, *_LOSSES)
        for word in call.keywords
        if word.arg == "weight"
        for source, node in _lists(scene, where, word.value, _MOST)
        if str(len(node.elts)) == said
    }
    return span_fact(*next(iter(found.values())), count=int(said)) if len(found) == 1 else None


def _lists(scene: Scene, source: Source, node: ast.AST, left: int) -> Iterator[tuple[Source, ast.List | ast.Tuple]]:
    """The lists of numbers that an expression reads, through names and settings."""
    for one in ast.walk(node) if left else ():
        if isinstance(one, (ast.List, ast.Tuple)) and one.elts and all(map(_is_number, one.elts)):
            yield source, one
        elif isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)):
            at = _bound(scene, source, one)
            yield from _lists(scene, *at, left - 1) if at is not None and at[1] is not node else ()


def _bound(scene: Scene, source: Source, node: ast.expr) -> tuple[Source, ast.AST] | None:
    """What a name, an attribute of the object or a setting stands for."""
    if isinstance(node, ast.Name):
        return given(scene, source, node, ())
    own = only_value(source.class_at(node.lineno), source.text(node)) if of_self(node) else None
    return (source, own) if own is not None else setting(scene, node)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


@probe
def numbers_listed(scene: Scene) -> SpanFact | None:
    """The list of numbers behind an operand of arithmetic, as long as one of two sizes that do not fit together.

    `detail`: `count`, how many it holds; `other`, the other size.
    """
    sizes = [str(scene.captures.get(name) or "") for name in ("a", "b")]
    failing = scene.failing
    rows = _lists(scene, failing.source, failing.node, _MOST) if failing is not None else ()
    found = [(source, node) for source, node in rows if str(len(node.elts)) in sizes]
    if not found or len(set(sizes)) < 2:
        return None
    count = len(found[0][1].elts)
    return span_fact(*found[0], count=count, other=next(one for one in sizes if one != str(count)))
