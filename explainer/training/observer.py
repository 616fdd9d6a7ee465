"""In the sandboxed child: the program's training seen again, handed back as plain data for a comparison."""

from __future__ import annotations

import os
import random
import sys
from typing import Any

from explainer.training import waiting

#: Characters of the program's own output that are kept from its end and from its beginning, and losses at most.
_TAIL, _EARLY, _LOSSES = 6000, 6000, 3000


class Observer:
    """Watches a run of the program in a child. `shift` in the request moves every seed that the program sets.

    With `still` its optimizers take their steps at a rate of 0, so that nothing is learned.
    """

    def __init__(self, request: dict[str, Any]):
        from explainer.training.watcher import Watcher

        self.watcher = Watcher(dense=True)
        self.tail = _Tail(self.watcher.notes)
        sys.stdout = self.tail  # type: ignore[assignment]
        if request.get("shift"):
            _shifted(int(request["shift"]))
        if request.get("still"):
            _stilled()
        if request.get("kept"):
            waiting.served_from_memory()
        self.watcher.start()
        self.sampler = waiting.Sampler(self.watcher) if request.get("sampled") else None
        self._folder = request["folder"]

    def taken(self) -> dict[str, Any]:
        """Losses in their order with the place of each, what was printed last, the rules that hold in this run."""
        from explainer.training.directions import directions
        from explainer.training.finding import findings
        from explainer.training.looks.fits import fits, last_fit
        from explainer.training.sources import program_sources

        notes = self.watcher.stop()
        every = max(1, len(notes.losses) // _LOSSES)
        return {
            "losses": notes.losses[::every],
            "sites": notes.loss_sites[::every],
            "steps": notes.steps,
            "printed": self.tail.text,
            "early": self.tail.early,
            "fits": fits(self.watcher, False),
            "evaluated": last_fit(self.watcher, True),
            "rules": sorted({one.rule for one in findings(self.watcher) if one.proved or one.fact}),
            "directions": directions(program_sources(self.watcher)),
            "trouble": notes.trouble,
            **self._waits(),
        }

    def _waits(self) -> dict[str, Any]:
        """How long the loaders were waited for, and at which lines, where that was asked for."""
        if self.sampler is None:
            return {}
        waits = [one["waits"] for one in self.watcher.notes.loaders.values()]
        lines = [(os.path.relpath(file, self._folder), *rest) for (file, *rest) in self.sampler.told]
        return {"waits": max((one.told for one in waits), default=(0.0, 0.0, 0)), "lines": lines,
                "looks": self.sampler.looks}  # fmt: skip


class _Tail:
    """Standard output of which the end is kept, and the beginning with the step behind which it was written."""

    encoding, errors, closed = "utf-8", "replace", False

    def __init__(self, notes: Any) -> None:
        self.text = ""
        self.early: list[tuple[int, str]] = []
        self._notes, self._left = notes, _EARLY

    def write(self, text: str) -> int:
        """Keep it."""
        self.text = (self.text + text)[-_TAIL:]
        if self._left > 0:
            self.early.append((self._notes.steps, text))
            self._left -= len(text)
        return len(text)

    def flush(self) -> None:
        """Nothing to do."""

    def isatty(self) -> bool:
        """No terminal."""
        return False

    def writelines(self, lines: Any) -> None:
        """Keep the end of them."""
        for line in lines:
            self.write(line)


def _stilled() -> None:
    """Have every optimizer step at a rate of 0, which leaves all weights as they are."""
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    rates: list[Any] = []

    def before(optimizer: Any, *_: Any) -> None:
        rates[:] = [group["lr"] for group in optimizer.param_groups]
        for group in optimizer.param_groups:
            group["lr"] = 0.0

    def after(optimizer: Any, *_: Any) -> None:
        for group, rate in zip(optimizer.param_groups, rates, strict=False):
            group["lr"] = rate

    register_optimizer_step_pre_hook(before)
    register_optimizer_step_post_hook(after)


def _shifted(by: int) -> None:
    """Have every seed that is set be another one: the same program on other random numbers."""
    import torch

    def moved(owner: Any, name: str) -> None:
        original = getattr(owner, name)
        if isinstance(original, type):
            return

        def seed(value: Any = None, *args: Any, **kwargs: Any) -> Any:
            return original(value + by if type(value) is int else value, *args, **kwargs)

        setattr(owner, name, seed)

    moved(torch, "manual_seed")
    moved(random, "seed")
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        moved(numpy.random, "seed")
        moved(numpy.random, "default_rng")
    torch.manual_seed(0)
