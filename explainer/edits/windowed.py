"""What convolutions and pools make of an image's side, and which side they were made for: arithmetic, no tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from explainer.edits.evidence import Step
from explainer.frozen import frozen


@frozen
class Window:
    """A window that moves over the last dimension: its reach (dilation included), its stride, padding at each end."""

    reach: int
    stride: int
    padding: int

    def places(self, size: int) -> int:
        """In how many places it fits."""
        return (size + 2 * self.padding - self.reach) // self.stride + 1


def window_of(step: Step) -> Window | None:
    """The window of a convolution or a pool; None for any other call, and where its numbers are not known."""
    before = step.before[0][0] if step.before else []
    pool = "pool" in step.function and "adaptive" not in step.function
    if (not pool and step.function not in ("conv1d", "conv2d", "conv3d")) or len(before) < 3:
        return None
    kernel, stride, padding, dilation = _of_layer(step) if step.layer is not None else _of_call(step, pool)
    if not kernel or kernel < 1:
        return None
    found = Window(dilation * (kernel - 1) + 1, stride or (kernel if pool else 1), padding)
    return found if not step.shape or found.places(before[-1]) == step.shape[-1] else None


def _of_layer(step: Step) -> tuple[Any, ...]:
    layer = step.layer
    assert layer is not None
    numbers = {name: int(trees[-1][-1]) for name, trees in layer.numbers.items() if trees}
    return tuple(numbers.get(name) or other for name, other in
                 (("kernel_size", 0), ("stride", 0), ("padding", 0), ("dilation", 1)))  # fmt: skip


def _of_call(step: Step, pool: bool) -> tuple[Any, ...]:
    """Those of a call of a function: of pools the numbers given in turn, of convolutions what the sizes tell."""
    numbers = [int(tree[-1]) for tree in step.numbers]
    if pool:
        return (*numbers[:3], *(0, 0, 0)[len(numbers[:3]) :], 1)
    size, kernel = step.before[0][0][-1], step.before[1][0][-1] if len(step.before) > 1 else 0
    made = [(kernel, s, p, 1) for s in (1, 2, 3, 4) for p in range(kernel + 1)]
    fits = [one for one in made if step.shape and Window(kernel, one[1], one[2]).places(size) == step.shape[-1]]
    return fits[0] if fits else (0, 0, 0, 1)


def windows_behind(steps: Sequence[Step]) -> tuple[list[Window], int]:
    """The windows on the way of a map, nearest first, and the side of what went into the first of them; 0 if unknown.

    `steps` lead from the map backward. Calls that leave the sides as they are are passed over.
    """
    found: list[Window] = []
    side = 0
    for step in steps:
        before = step.before[0][0] if step.before else []
        window = window_of(step)
        if window is not None:
            found.append(window)
            side = before[-1]
        elif len(before) < 3 or before[-1] != (step.shape or before)[-1]:
            break
    return found, side


def side_for(windows: Sequence[Window], side: int, wanted: int = 1) -> int | None:
    """The side from which windows (nearest first) make `wanted` places: the roundest, the smaller of two as round."""
    fits = [size for size in range(1, 4 * max(side, 64)) if _after(windows, size) == wanted]
    return max(fits, key=lambda size: (size & -size, -size), default=None)


def _after(windows: Sequence[Window], size: int) -> int:
    for window in reversed(windows):
        size = window.places(size)
        if size < 1:
            return 0
    return size
