"""A pinball loss of what is predicted less what came: over- and underestimates change places."""

from __future__ import annotations

from explainer.training.calls import looks
from explainer.training.deep import Call, Deep, Made


@looks("maximum", "max")
def pinball(deep: Deep, call: Call) -> None:
    """Note the larger of two products of one difference, which takes something from a prediction."""
    if deep.evaluation is not None or len(call.args) != 2 or not getattr(call.out, "requires_grad", False):
        return
    pair = [deep.made(one) if hasattr(one, "shape") else None for one in call.args]
    if any(one is None or one.name not in ("mul", "__mul__", "__rmul__") for one in pair):
        return
    both = [one for one in pair[0].inputs if one is not None and one in pair[1].inputs]  # type: ignore[union-attr]
    if any(map(_from_prediction, both)):
        deep.watcher.notes.saw("quantile-reversed", call.site)


def _from_prediction(made: Made) -> bool:
    """Whether a difference takes what needs no gradient from what does."""
    if made.name not in ("sub", "__sub__") or len(made.inputs) != 2:
        return False
    first, second = made.inputs
    return first is not None and first.tracked and (second is None or not second.tracked)
