"""Which parameters that an optimizer was to train got a gradient by the time it stepped, and whether its steps stay."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from typing import Any

from explainer.oracle.places import Places

_STEPS = 20


class Gradients:
    """Watches the steps of optimizers. `used` are modules that were called with gradients on.

    `most` is how many parameters each optimizer, told by its kind and size, had a gradient for at one step; `kept`: how
    many steps were taken when an optimizer's state was asked for first; `undone`: how often a state was loaded into an
    optimizer that had stepped; `moves`: some gradient of the first steps was not zero.
    """

    def __init__(self) -> None:
        self.trained: dict[int, Any] = {}
        self.graded: set[int] = set()
        self.used: set[int] = set()
        self.steps = self.undone = 0
        self.most: dict[str, int] = {}
        self.kept: int | None = None
        self.moves = False
        self._used: list[Any] = []

    def watch(self, torch: Any, places: Places) -> None:
        """Begin to look at what is loaded into optimizers, and taken from them."""
        plain, plainly = torch.optim.Optimizer.load_state_dict, torch.optim.Optimizer.state_dict

        @functools.wraps(plain)
        def load_state_dict(optimizer: Any, *args: Any, **words: Any) -> Any:
            self.undone += any(one is optimizer for one in self._used)
            return plain(optimizer, *args, **words)

        @functools.wraps(plainly)
        def state_dict(*args: Any, **words: Any) -> Any:
            self.kept = self.steps if self.kept is None else self.kept
            return plainly(*args, **words)

        places.put(torch.optim.Optimizer, "load_state_dict", load_state_dict)
        places.put(torch.optim.Optimizer, "state_dict", state_dict)

    def stepped(self, optimizer: Any, *_: Any) -> None:
        """Look at an optimizer's parameters when it has stepped."""
        self.steps += 1
        if not any(one is optimizer for one in self._used):
            self._used.append(optimizer)
        if self.steps > _STEPS and len(self.graded) >= len(self.trained):
            return
        every = [one for group in optimizer.param_groups for one in group["params"]]
        self.moves = self.moves or any(one.grad is not None and _tells(one.grad) for one in every)
        graded = {id(one) for one in every if one.grad is not None}
        self.trained.update((id(one), one) for one in every)
        self.graded |= graded
        kind = f"{type(optimizer).__name__} of {len(every)}, {sum(one.numel() for one in every)}"
        self.most[kind] = max(self.most.get(kind, 0), len(graded))

    def missing(self, roots: list[Any], written: Collection[int]) -> list[str]:
        """The names of parameters of modules that were called, were to be trained, and never got a gradient.

        What the program writes into itself it trains by hand; `written` are the ids of such. The last of several blocks
        may hand something on to a next one that is not there: see `left_at_the_end`.
        """
        found = []
        for number, root in enumerate(roots):
            every = not self.trained and any(one.grad is not None for one in root.parameters())
            named = dict(root.named_parameters(remove_duplicate=False))
            graded = {name for name, one in named.items() if id(one) in self.graded or one.grad is not None}
            known = graded | left_at_the_end(named, graded)
            for path, module in root.named_modules():
                for name, one in module.named_parameters(recurse=False) if id(module) in self.used else ():
                    wanted = one.requires_grad and (every or id(one) in self.trained) and id(one) not in written
                    if wanted and f"{path}.{name}".removeprefix(".") not in known:
                        found.append(f"{number}.{path}.{name}".replace("..", "."))
        return found


def left_at_the_end(names: Collection[str], graded: Collection[str]) -> set[str]:
    """The parameters of the last of several modules that got no gradient, though those of one in front did."""
    last: dict[tuple[str, str], int] = {}
    in_front: set[tuple[str, str]] = set()
    for name in names if set(names) - set(graded) else ():
        for key, at in _in_row(name):
            last[key] = max(last.get(key, 0), at)
            in_front |= {key} if name in graded else set()
    return {name for name in names if name not in graded and any(
        at == last[key] > 0 and key in in_front for key, at in _in_row(name))}  # fmt: skip


def _in_row(name: str) -> Iterator[tuple[tuple[str, str], int]]:
    """Where the modules are numbered that a parameter is part of: what stands around each number, and the number."""
    parts = name.split(".")
    yield from (((".".join(parts[:at]), ".".join(parts[at + 1 :])), int(one))
                for at, one in enumerate(parts) if one.isdecimal())  # fmt: skip


def _tells(gradient: Any) -> bool:
    """Whether a gradient is not zero, or may not be."""
    try:
        return bool(gradient.any())
    except (RuntimeError, NotImplementedError):  # on meta
        return True
