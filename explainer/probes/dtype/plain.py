"""A tensor that a module keeps as a plain attribute, and that kept its dtype when the model was given another one."""

from __future__ import annotations

from collections import Counter
from typing import Any

from explainer.facts import SpanFact, TensorFact
from explainer.probes import probe
from explainer.probes.device.misplaced import tensors_within
from explainer.probes.module import root_module
from explainer.probes.owners import assignment, owners, parameters_of
from explainer.probes.scene import Scene
from explainer.probes.tensor import fact_of
from explainer.probes.values import fields_of, is_tensor


@probe
def unconverted(scene: Scene) -> TensorFact | None:
    """The floating tensor of the failing expression that has another dtype than the model; of several, the first."""
    return _first(scene, lambda value, home: value.is_floating_point() and value.dtype != home)


@probe
def converted(scene: Scene) -> TensorFact | None:
    """The first tensor of the failing expression that has the dtype of the model's parameters."""
    return _first(scene, lambda value, home: value.dtype == home)


@probe
def unconverted_beside(scene: Scene, of: TensorFact | None = None) -> tuple[SpanFact, ...] | None:
    """Every `self.name = tensor` of the model's modules that kept the dtype of `of`; None for fewer than two."""
    root, odd = root_module(scene), scene.objects.get(of.name) if of is not None else None
    if root is None or odd is None:
        return None
    plain = (
        (owner, path, name)
        for owner, path in owners(root, scene)
        for name, value in fields_of(owner).items()
        if is_tensor(value) and value.dtype == odd.dtype and not value.requires_grad
    )
    found = [assignment(owner, name, "attribute", path) for owner, path, name in plain]
    every = tuple({one.span: one for one in found if one is not None and one.detail["times"] == 1}.values())
    return every if len(every) > 1 else None


def _first(scene: Scene, chosen: Any) -> TensorFact | None:
    home = _home(scene)
    for text, node, value in tensors_within(scene) if home is not None else ():
        if chosen(value, home):
            scene.objects[text] = value
            return fact_of(text, value, scene.failing.source.span(node))  # type: ignore[union-attr]
    return None


def _home(scene: Scene) -> Any:
    """The floating dtype of most of the model's parameters."""
    root = root_module(scene)
    own = parameters_of(root) if root is not None else ()
    dtypes = Counter(one.dtype for one in own if one.is_floating_point())
    return dtypes.most_common(1)[0][0] if dtypes else None
