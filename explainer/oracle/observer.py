"""Watches one run of a program in the child, and tries its models once more when it has ended: plain data."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import Any

from explainer.oracle import lengths, reads, samples
from explainer.oracle.broadcasts import Broadcasts
from explainer.oracle.calls import Call, Calls
from explainer.oracle.casts import Casts
from explainer.oracle.draws import Draws
from explainer.oracle.effects import Effects
from explainer.oracle.entered import Entered
from explainer.oracle.gradients import Gradients
from explainer.oracle.joins import Joins
from explainer.oracle.places import Lines, Places
from explainer.oracle.saves import Saves
from explainer.oracle.trees import digest, outline, tensors
from explainer.oracle.usual import Usual

#: Functions that make masks of what comes later.
_CAUSAL = ("tril", "triu", "tril_", "triu_")


class Observer:
    """Begins before the program does; `edited` are the lines of its files (below `folder`) that an edit stands in.

    `failed` is the file and the name of the function that failed, `refused` the shapes of two operands that did not fit
    together there; `usual` what an edited call usually made.
    """

    def __init__(
        self, folder: str, edited: Lines, failed: tuple[str, str] | None = None, usual: Any = None, refused: Any = None
    ):
        self.places = Places(folder, edited)
        self.calls, self.gradients, self.effects = Calls(), Gradients(), Effects(folder)
        self.casts, self.joins, self.draws = Casts(self.places), Joins(self.places), Draws(self.places)
        self.saves, self.usual = Saves(), Usual(self.places, usual)
        self.entered = Entered(folder, failed) if failed else None
        self.broadcasts = Broadcasts(self.places, failed, refused) if failed and refused else None
        self.warned: list[list[Any]] = []
        self.masks = self.over = False
        self.depth = 0

    def watch(self, torch: Any) -> None:
        """Begin to watch."""
        from torch.optim.optimizer import register_optimizer_step_post_hook

        register_optimizer_step_post_hook(self.gradients.stepped)
        self._watch_calls(torch)
        self.draws.watch(torch)
        self.gradients.watch(torch, self.places)
        self.saves.watch(torch, self.places)
        if self.entered is not None:
            self.entered.watch()
        if self.places.edited:
            self.casts.watch(torch)
            self.joins.watch(torch)
            self.usual.watch(torch)
        if self.broadcasts is not None:
            self.broadcasts.watch(torch)
        self._watch_masks(torch)
        torch.jit.script = self._compiling(torch.jit.script)

    def _compiling(self, script: Any) -> Any:
        @functools.wraps(script)
        def compiling(*args: Any, **words: Any) -> Any:
            self.places.restore()
            return script(*args, **words)

        return compiling

    def _watch_masks(self, torch: Any) -> None:
        for owner in (torch, torch.Tensor):
            for name in [name for name in _CAUSAL if hasattr(owner, name)]:
                self.places.put(owner, name, self._noting_masks(getattr(owner, name)))

    def _noting_masks(self, plain: Any) -> Any:
        @functools.wraps(plain)
        def masked(*args: Any, **words: Any) -> Any:
            self.masks = True
            return plain(*args, **words)

        return masked

    def warning(self, text: str) -> None:
        """Note where in the program a warning came up."""
        frame = self.places.innermost()
        if frame is not None and len(self.warned) < 50:
            at = self.places.at(frame)
            self.warned.append([text, *at, self.places.edits(*at)])

    def _watch_calls(self, torch: Any) -> None:
        """Put a watched call in the place of modules': hooks are not told of keywords, nor of calls that fail."""
        plain = torch.nn.Module.__call__

        @functools.wraps(plain)
        def called(module: Any, *args: Any, **words: Any) -> Any:
            if self.over:
                return plain(module, *args, **words)
            if torch.is_grad_enabled():
                self.gradients.used.add(id(module))
            self.depth += 1
            try:
                call = self._begun(module, args, words) if self.depth == 1 else None
                out = plain(module, *args, **words)
            finally:
                self.depth -= 1
            if call is not None:
                with suppress(Exception):
                    call.done(out)
            return out

        torch.nn.Module.__call__ = called

    def _begun(self, module: Any, args: Any, words: Any) -> Call | None:
        with suppress(Exception):
            call = self.calls.begun(module, args, words)
            if call is not None:
                self.effects.begin(module)
            return call
        return None

    def taken(self, error: BaseException | None) -> dict[str, Any]:
        """What was seen; models are tried once more only where the program got through."""
        self.over, self.places.over = True, True
        roots = self.calls.roots
        seen: dict[str, Any] = {
            "warned": self.warned,
            "cut": self.casts.cut,
            "mixed": self.joins.mixed,
            "spread": self.broadcasts.spread if self.broadcasts is not None else None,
            "itself": self.broadcasts.itself if self.broadcasts is not None else None,
            "draws": self.draws.of_data(roots),
            "saved": self.saves.rows,
            "entered": self.entered.times if self.entered is not None else None,
            "steps": self.gradients.steps,
            "most": self.gradients.most,
            "undone": self.gradients.undone,
            "kept": self.gradients.kept,
            "moves": self.gradients.moves,
            "masks": self.masks,
            "usual": self.usual.taken(),
            "failed_at": self.places.failed_at(error) if error is not None else None,
        }
        with suppress(Exception):
            seen["ungraded"] = self.gradients.missing(roots, self.effects.overwritten())
        with suppress(Exception):
            seen["written"] = self.effects.written(roots)
        tried = error is None or not self.places.edited  # an edited run that failed tells nothing more
        seen["models"] = [self._model(call, tried) for call in self.calls.kept.values()]
        return seen

    def _model(self, call: Call, tried: bool) -> dict[str, Any]:
        seen: dict[str, Any] = {"name": type(call.module).__name__, "returned": call.returned}
        with suppress(Exception):
            seen["out"], seen["held"] = outline(call.out) if call.returned else None, call.held
            given, made = list(tensors(call.given)), list(tensors(call.out)) if call.returned else None
            seen["given"], seen["came"] = list(map(digest, given)), [list(one.shape) for one in given]
            seen["back"] = [list(one.shape) for one in made] if made is not None else None
            seen["made"] = list(map(digest, made)) if made is not None else None
            seen["ends"] = call.digests()
        if tried and call.quick:
            with suppress(Exception):
                seen.update(self._tried(call))
        return seen

    def _tried(self, call: Call) -> dict[str, Any]:
        """What other inputs show."""
        seen: dict[str, Any] = {}
        size = samples.batch_of(call)
        few = samples.few_of(call)
        try:
            with samples.time_first(call, size) as by_time:
                outcome, steady = call.plainly(few)
            seen["samples"] = samples.with_one_more(call, outcome, steady)
        except Exception as error:
            if not call.repeats:
                return {}
            at = self.places.failed_at(error)
            own = at is not None and self.places.edits(*at)
            return {"samples": {"runs": False, "at": at, "own": own, "apart": None}}
        seen["samples"].update(time_first=bool(by_time)) if seen["samples"] else None
        if not seen["samples"].get("apart"):
            seen["shorter"] = lengths.shorter_runs(call, few)
        if steady and self.masks:
            with suppress(Exception):
                seen["causal"] = lengths.causal(call, outcome, few)
        if steady and self.places.edited:
            with suppress(Exception):  # each input costs a call of the model, and only a cut is asked about
                seen["unread"] = "[" in self.places.edited_text() and reads.unread(call, outcome, few)
        return seen
