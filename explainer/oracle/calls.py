"""The first call of each outermost module: what it was given, what it handed back, and the same call made again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from explainer.oracle.effects import held_by
from explainer.oracle.trees import digest, mapped, tensors

#: Modules whose calls are kept, and entries of their inputs.
_MOST, _ENTRIES = 4, 1 << 23
#: Parameters by which two runs are told to have the same model.
_DIGESTED = 12
#: Seconds of processor time that a call may take to be made again a few times.
_LONG = 1.0


class Call:
    """A module with what it was given at first (a copy), and `out`, what it handed back, once it has."""

    def __init__(self, module: Any, args: Any, words: Any):
        self.module = module
        self.given = mapped((args, words), lambda one: one.detach().clone())
        self.held = self.digests()
        self.out: Any = None
        self.returned = False
        self.began = time.process_time()
        self.seconds = 0.0

    def digests(self) -> list[list[float] | None]:
        """What tells the values of the module's first parameters, as they are now."""
        return [digest(one) for one, _ in zip(self.module.parameters(), range(_DIGESTED), strict=False)]

    def done(self, out: Any) -> None:
        """It has handed something back."""
        self.returned, self.seconds = True, time.process_time() - self.began
        self.out = mapped(out, lambda one: one.detach())

    @property
    def quick(self) -> bool:
        """Whether it can be made again a few times."""
        return self.returned and self.seconds <= _LONG

    @property
    def repeats(self) -> bool:
        """Whether it can be made again as it was: without gradients a hook of the user's may fail, say."""
        try:
            self.again()
        except Exception:
            return False
        return True

    def again(self, change: Callable[[Any], Any] = lambda one: one) -> Any:
        """What the module, set to evaluate, hands back for its first inputs, changed."""
        import torch

        args, words = mapped(self.given, change)
        torch.default_generator.manual_seed(0)
        self.module.eval()
        with torch.no_grad():
            return mapped(self.module(*args, **words), lambda one: one.detach())

    def plainly(self, change: Callable[[Any], Any]) -> tuple[Any, bool]:
        """The same, and whether a call leaves no trace: it draws no random numbers and changes nothing it holds."""
        import torch

        before = [(id(one), one._version) for _, one in held_by(self.module)]
        torch.default_generator.manual_seed(0)
        drawn = torch.get_rng_state()
        out = self.again(change)
        same = bool(torch.equal(drawn, torch.get_rng_state()))
        return out, same and before == [(id(one), one._version) for _, one in held_by(self.module)]


class Calls:
    """Keeps the first calls of outermost modules that have parameters."""

    def __init__(self) -> None:
        self.kept: dict[int, Call] = {}

    def begun(self, module: Any, args: Any, words: Any) -> Call | None:
        """An outermost module is called; the call where it is kept."""
        new = id(module) not in self.kept and len(self.kept) < _MOST
        if not new or not any(True for _ in module.parameters()):
            return None
        given = list(tensors((args, words)))
        if not given or sum(one.numel() for one in given) > _ENTRIES or any(one.is_sparse for one in given):
            return None
        call = self.kept[id(module)] = Call(module, args, words)
        return call

    @property
    def roots(self) -> list[Any]:
        """The modules whose calls are kept."""
        return [call.module for call in self.kept.values()]


def agree(one: Any, other: Any) -> bool:
    """Whether two results hold the same values, but for how sums are rounded."""
    import torch

    pairs = list(zip(tensors(one), tensors(other), strict=True))
    return all(a.shape == b.shape and _close(torch, a, b) for a, b in pairs)


def _close(torch: Any, one: Any, other: Any) -> bool:
    if not (one.is_floating_point() or one.is_complex()):
        return bool(torch.equal(one, other))
    scale = float(one.abs().nan_to_num().max()) if one.numel() else 0.0
    return bool(torch.allclose(one, other, rtol=1e-3, atol=1e-4 * max(scale, 1e-6), equal_nan=True))
