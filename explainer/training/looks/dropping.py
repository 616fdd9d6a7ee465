"""Functions that drop values whatever mode the model is in."""

from __future__ import annotations

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep

_DROPS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


@looks(*_DROPS)
def drops_always(deep: Deep, call: Call) -> None:
    """A function that drops values inside of a layer that is in evaluation mode."""
    inner = deep.stack[-1] if deep.stack else None
    dropping = call.get("training", 2, True) and call.get("p", 1, 0.5)
    if inner is not None and dropping and not inner.training and deep.evaluation is not None:
        deep.watcher.notes.saw("dropout-always-on", call.site, name=call.name, layer=type(inner).__name__)
