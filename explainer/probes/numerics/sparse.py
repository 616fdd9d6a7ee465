"""Sparse tensors (COO) that a call makes dense: how many entries they have, and how many the dense form would."""

from __future__ import annotations

import ast
from math import prod

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node, operands
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import is_tensor
from explainer.source import called

_DENSE = ("to_dense", "todense")


@probe
def made_dense(scene: Scene) -> SpanFact | None:
    """The failing `to_dense()` of a sparse tensor.

    `detail`: `name` of the tensor, its `shape`, `stored` entries and `entries` that the dense form has.
    """
    failing = scene.failing
    node = call_node(failing.node) if failing is not None else None
    given = operands(scene)
    value = given[0].value if given else None
    if failing is None or not isinstance(node, ast.Call) or called(node) not in _DENSE or not is_tensor(value):
        return None
    if str(value.layout) != "torch.sparse_coo":
        return None
    shape = tuple(value.shape)
    stored = value._nnz()
    return span_fact(failing.source, node, name=given[0].name, shape=shape, stored=stored, entries=prod(shape))
