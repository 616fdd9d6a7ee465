"""In the sandboxed child: the program's training seen again, handed back as plain data for a comparison."""

from __future__ import annotations

import random
import sys
from typing import Any

#: Characters of the program's own output that are kept from its end, and losses handed back at most.
_TAIL, _LOSSES = 6000, 3000


class Observer:
    """Watches a run of the program in a child. `shift` in the request moves every seed that the program sets."""

    def __init__(self, request: dict[str, Any]):
        from explainer.training.watcher import Watcher

        self.tail = _Tail()
        sys.stdout = self.tail  # type: ignore[assignment]
        if request.get("shift"):
            _shifted(int(request["shift"]))
        self.watcher = Watcher(dense=True).start()

    def taken(self) -> dict[str, Any]:
        """Losses in their order with the place of each, what was printed last, the rules that hold in this run."""
        from explainer.training.finding import findings
        from explainer.training.fits import fits, last_fit

        notes = self.watcher.stop()
        every = max(1, len(notes.losses) // _LOSSES)
        return {
            "losses": notes.losses[::every],
            "sites": notes.loss_sites[::every],
            "steps": notes.steps,
            "printed": self.tail.text,
            "fits": fits(self.watcher, False),
            "evaluated": last_fit(self.watcher, True),
            "rules": sorted({one.rule for one in findings(self.watcher) if one.proved or one.fact}),
            "trouble": notes.trouble,
        }


class _Tail:
    """Standard output of which only the end is kept."""

    encoding, errors, closed = "utf-8", "replace", False

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        """Keep the end."""
        self.text = (self.text + text)[-_TAIL:]
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
