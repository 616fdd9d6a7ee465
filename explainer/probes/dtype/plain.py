"""A tensor that a module keeps as a plain attribute, and that kept its dtype when the model was given another one."""

from __future__ import annotations

from collections import Counter
from typing import Any

from explainer.facts import SpanFact, TensorFact
from explainer.probes import probe
from explainer.probes.device.misplaced import first_within
from explainer.probes.module import root_module
from explainer.probes.owners import parameters_of, plain_tensors
from explainer.probes.scene import Scene


@probe
def unconverted(scene: Scene) -> TensorFact | None:
    """The floating tensor of the failing expression that has another dtype than the model; of several, the first."""
    home = _home(scene)
    odd = lambda _, value: home is not None and value.is_floating_point() and value.dtype != home  # noqa: E731
    return first_within(scene, odd)


@probe
def converted(scene: Scene) -> TensorFact | None:
    """The first tensor of the failing expression that has the dtype of the model's parameters."""
    home = _home(scene)
    return first_within(scene, lambda _, value: value.dtype == home)


@probe
def unconverted_beside(scene: Scene, of: TensorFact | None = None) -> tuple[SpanFact, ...] | None:
    """Every `self.name = tensor` of the model's modules that kept the dtype of `of`; None for fewer than two."""
    root, odd = root_module(scene), scene.objects.get(of.name) if of is not None else None
    if root is None or odd is None:
        return None
    return plain_tensors(root, scene, lambda value: value.dtype == odd.dtype)


def _home(scene: Scene) -> Any:
    """The floating dtype of most of the model's parameters."""
    root = root_module(scene)
    own = parameters_of(root) if root is not None else ()
    dtypes = Counter(one.dtype for one in own if one.is_floating_point())
    return dtypes.most_common(1)[0][0] if dtypes else None
