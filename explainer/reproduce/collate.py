"""Scripts for batches that cannot be put together: the samples' shapes, as `default_collate` got them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explainer.probes.scene import Scene
from explainer.reproduce.recipe import recipe_of
from explainer.reproduce.sketch import Sketch


def scripts(scene: Scene) -> Iterator[str]:
    """One call of `default_collate` on samples like those of the batch that failed."""
    for frame in reversed(scene.live.frames if scene.live else []):
        if frame.file.replace("\\", "/").endswith("torch/utils/data/_utils/collate.py"):
            batch: Any = frame.locals.get("batch")
            recipe = recipe_of(batch) if type(batch) in (list, tuple) else None
            if recipe is not None:
                yield from Sketch({"batch": recipe}, ("torch.utils.data.default_collate(batch)",)).scripts()
