"""Class weights written as a list of numbers, which a new class left one too short."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.decided import given
from explainer.probes.files import calls_named
from explainer.probes.literals import setting
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source

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
            at = given(scene, source, one, ()) if isinstance(one, ast.Name) else setting(scene, one)
            yield from _lists(scene, *at, left - 1) if at is not None and at[1] is not node else ()


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)
