"""The recorder of second backwards: where a graph that an earlier backward freed is taken up again."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from explainer.replay.record import leaf, nodes, origin


class Second:
    """Runs a window with node origins recorded; nodes made before it belong to an earlier backward.

    Freed state is no evidence: the backward that failed has freed a part of the present graph as well.
    """

    def __init__(self) -> None:
        self.anomaly = torch.autograd.detect_anomaly(check_nan=False)

    def __enter__(self) -> Second:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.anomaly.__enter__()
        one = torch.ones((), requires_grad=True) * 1
        self.start = one.grad_fn._sequence_nr()
        return self

    def __exit__(self, *error: Any) -> None:
        self.anomaly.__exit__(*error)

    def result(self, roots: list[Any]) -> dict[str, Any] | None:
        """The new node that hangs on an old one, by its line; {} where the whole graph is older than the window."""
        joints = []
        for node in nodes(roots):
            if node._sequence_nr() <= self.start or leaf(node):
                continue
            old = [child for child, _ in node.next_functions if child is not None and not leaf(child)]
            old = [child for child in old if child._sequence_nr() <= self.start]
            if old:
                joints.append((node._sequence_nr(), node, old[0]))
        if joints:
            _, node, old = min(joints, key=lambda one: one[0])
            return {"node": node.name(), "old": old.name(), "frames": origin(node), "count": len(joints)}
        made = [root.grad_fn for root in roots if root is not None and root.grad_fn is not None]
        if made and all(node._sequence_nr() <= self.start for node in made):
            return {"node": made[0].name(), "old": made[0].name(), "frames": [], "count": 0}
        return None
