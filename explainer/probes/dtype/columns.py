"""The columns of a table that are used as indices, where the table as a whole has a dtype that indices cannot have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.bindings import only_value
from explainer.edits.cut_out import is_column
from explainer.edits.kinds.dtypes import cast_of
from explainer.edits.place import place_of
from explainer.facts import SpanFact, TensorFact
from explainer.probes import probe
from explainer.probes.dtype.entered import Dtype
from explainer.probes.follow import At, Follow
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, is_module, is_tensor, read
from explainer.source import Source


@probe
def index_columns(scene: Scene, of: TensorFact | None = None) -> tuple[SpanFact, ...] | None:
    """The expressions that cut the index `of` out of a table: `table[:, 0]`, and those of the indices used beside it.

    `detail.table` is what is cut, `detail.cast` the method by which a part of it becomes whole numbers. Beside it are
    the other arguments of tables (Embedding) in the failing function that have the dtype of `of`. None where an
    index is not cut out of anything that others are cut out of too.
    """
    live = scene.live
    if of is None or of.span is None or live is None or not live.user:
        return None
    place, last = place_of(scene.source, of), len(live.user) - 1
    starts = [At(place.source, place.node, of.span.line, last), *_beside(scene, place.source, of.dtype)]
    found = [_ToColumn(live.user, Dtype(of.dtype), scene).entry(one) for one in starts]
    if found[0] is None or not is_column(found[0].source, found[0].node):
        return None
    cut = [one for one in found if one is not None and is_column(one.source, one.node)]
    spans = {(one.source.file, one.node.lineno, one.node.col_offset): one for one in cut}  # type: ignore[attr-defined]
    return tuple(span_fact(one.source, one.node, table=_base(one), cast=_cast(one)) for one in spans.values())


def _base(at: At) -> str:
    return at.source.text(at.node.value)  # type: ignore[attr-defined]


def _cast(at: At) -> str:
    """The method by which a part of a table becomes whole numbers, by what made the table in the same function."""
    base, scope = at.node.value, at.source.scope_at(at.node.lineno)  # type: ignore[attr-defined]
    made = only_value(scope, base.id) if isinstance(base, ast.Name) else None
    return cast_of(at.source.text(made) if made is not None else "", "int64")


class _ToColumn(Follow):
    """Goes back to where a value was cut out of a table, no further."""

    def entry(self, at: At) -> At | None:
        """The expression that cuts it out, or what `Follow` finds."""
        return at if is_column(at.source, at.node) else super().entry(at)


def _beside(scene: Scene, source: Source, dtype: str) -> Iterator[At]:
    """The arguments of embeddings in the failing function that are tensors of a dtype."""
    frame, number = scene.user_frame, len(scene.live.user) - 1  # type: ignore[union-attr]
    if frame is None:
        return
    for node in ast.walk(source.scope_at(frame.line)):
        if isinstance(node, ast.Call) and node.args and _looks_up(read(node.func, frame.frame)):
            value = read(node.args[0], frame.frame)
            if is_tensor(value) and str(value.dtype) == f"torch.{dtype}":
                yield At(source, node.args[0], frame.line, number)


def _looks_up(module: object) -> bool:
    return module is not MISSING and is_module(module) and type(module).__name__.startswith("Embedding")
