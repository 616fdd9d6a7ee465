"""Watches the training of this process: what is called is noted, every step at first, then ever more rarely."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import torch

from explainer.training import data, deep, growth, holding, inspect, models, ranks, rates, stretches
from explainer.training.deep import dispatched, unseen
from explainer.training.looks import precision
from explainer.training.notes import Notes, Optimizing
from explainer.training.patches import Patches
from explainer.training.sampling import FIRST, sampled
from explainer.training.seen import Seen
from explainer.training.sites import frames, key, named_within, stepping_package, user_frames

#: How often another optimizer that begins has steps looked at in a row.
_PHASES = 3
#: Of a trial, every so many steps are looked at.
_OFTEN = 16
#: At how many steps in a row weights are looked at that are trained again after they were frozen.
_AGAIN = 3


class Watcher(Seen):
    """One run that is watched. `dense` looks at every step's loss where that would make an accelerator wait."""

    def __init__(self, dense: bool = False):
        super().__init__()
        self.notes = Notes()
        self.dense = dense
        self.patches = Patches()
        self.thread = threading.get_ident()
        self.handles: list[Any] = []
        self.stepping = self.stopped = False
        self.deep = deep.Deep(self)
        self._inside = self._owed = False
        self._lately: deque[int] = deque(maxlen=4)
        self.turns = self._more = self._restarts = 0
        self._spots: dict[Any, Any] = {}
        self._dirty: dict[int, bool] = {}
        self._optimizing: dict[int, Optimizing] = {}

    # -- begin and end ----------------------------------------------------------------------------------------------

    def start(self) -> Watcher:
        """Put everything in place."""
        from explainer.training import loading  # noqa: F401 - at the start, whose time is told, not between steps

        wrap = self.patches.wrap
        wrap(torch.autograd, "backward", self._backward)
        wrap(torch.autograd, "grad", self._grad)
        wrap(torch.optim.Optimizer, "__init__", self._made_optimizer)
        wrap(getattr(torch, "export", torch), "export", self._exports)
        stretches.install(self)
        models.install(self)
        rates.install(self)
        data.install(self)
        ranks.install(self)
        hooks = sys.modules[torch.optim.Optimizer.__module__]
        for register, hook in (
            ("register_optimizer_step_pre_hook", self._before_step),
            ("register_optimizer_step_post_hook", self._after_step),
        ):
            if hasattr(hooks, register):
                self.handles.append(getattr(hooks, register)(self.guarded(hook)))
        return self

    def stop(self) -> Notes:
        """Put everything back; what was noted."""
        if self.stopped:
            return self.notes
        self.stopped = True
        self.deep.sleep()
        self.patches.remove()
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        try:
            inspect.at_end(self)
        except Exception as error:
            self.failed(error)
        holding.forget()
        return self.notes

    def guarded(self, hook: Callable[..., None]) -> Callable[..., None]:
        """A hook whose failure is noted and never seen by the program."""

        def safely(*given: Any) -> None:
            try:
                hook(*given)
            except Exception as error:
                self.failed(error)

        return safely

    def failed(self, error: Exception) -> None:
        """Note a failure of our own."""
        if len(self.notes.trouble) < 5:
            place = error.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            where = f"{place.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{place.tb_lineno}" if place else ""
            self.notes.trouble.append(f"{type(error).__name__}: {error} ({where})"[:300])

    def after(self, note: Callable[..., None], before: Callable[..., None] | None = None) -> Callable[[Any], Any]:
        """What wraps a function so that `note(result, args, kwargs)` is told of each call from outside of torch."""

        def make(original: Any) -> Any:
            def called(*args: Any, **kwargs: Any) -> Any:
                if self.stopped:  # somebody has wrapped this wrapper, which therefore stays
                    return original(*args, **kwargs)
                if before is not None:
                    try:
                        before(args, kwargs)
                    except Exception as error:
                        self.failed(error)
                result = original(*args, **kwargs)
                try:
                    note(result, args, kwargs)
                except Exception as error:
                    self.failed(error)
                return result

            return called

        return make

    # -- optimizers -------------------------------------------------------------------------------------------------

    def optimizer(self, of: Any) -> Optimizing:
        """The notes on an optimizer."""
        known = self._optimizing.get(id(of))
        if known is None or known.of() is not of:
            known = Optimizing(len(self.notes.optimizers), type(of).__name__, (), weakref.ref(of))
            self._optimizing[id(of)] = known
            self.notes.optimizers.append(known)
        return known

    def _made_optimizer(self, original: Any) -> Any:
        def note(_: Any, args: Any, __: Any) -> None:
            made = self.optimizer(args[0])
            made.site = frames()
            made.settings = {name: value for name, value in args[0].defaults.items() if isinstance(value, (int, float))}

        return self.after(note)(original)

    def zeroed(self, one: Optimizing, wiped: bool = False) -> None:
        """Note that an optimizer's gradients were cleared; `wiped`: no step had made use of them."""
        one.zeroed += 1
        if one.zeroed < 12 or not one.zeroed_at:
            one.zeroed_at = frames()
        self._dirty[one.number] = False
        self.notes.event("zero", one.zeroed_at, one.number, wiped)

    def _before_step(self, of: Any, args: Any, kwargs: Any) -> None:
        self.stepping = True
        if not self.turns:
            ranks.begins(self, of)
        if self.looking:
            with unseen():
                self._looks_at_step(of, self.optimizer(of))
            if len(args) < 2 and not kwargs:
                self.deep.rest()  # without a closure a step calls nothing of the program

    def _looks_at_step(self, of: Any, one: Optimizing) -> None:
        inspect.before_step(self, of, one)
        models.copies(self)
        precision.before_step(self, of)
        one.looked += 1
        gradients = [p.grad for group in of.param_groups for p in group["params"] if p.grad is not None]
        if not any(holding.size(gradient) != 0 for gradient in gradients[:40]):
            one.lost += 1
        elif self._dirty.get(one.number) and one.steps:
            one.stale += 1

    def _after_step(self, of: Any, *_: Any) -> None:
        self.stepping = self.between = False
        one = self.optimizer(of)
        one.steps += 1
        if one.steps < 12:
            one.stepped_at = frames()
        self._lately.append(one.number)
        if one.steps == 1:
            self._begins()
        self._dirty[one.number] = True
        if one.steps < 12 or self.looking:
            self.versions[one.number] = rates.versions(of)
        if self.lowly:
            precision.after_step(self, one.stepped_at)
        rates.stepped(one, of)
        self.notes.event("step", one.stepped_at, one.number)
        one.last = self.notes.steps
        if self._inside:
            self._owed = True  # one step of several that the hooks of a backward take: the iteration ends with it
        else:
            self._turn()

    def _begins(self) -> None:
        """An optimizer takes its first step."""
        if not self.loop_of:
            self.loop_of = stepping_package(sys._getframe(3))
        if self.turns > FIRST and self._restarts < _PHASES:
            self._more, self._restarts = FIRST, self._restarts + 1

    @property
    def looking(self) -> bool:
        """Whether this step is one of those that are looked at."""
        return self.deep.awake and not dispatched()

    def _turn(self) -> None:
        """The end of an iteration: whether the next one is looked at."""
        self.turns = turns = self.turns + 1
        if self.deep.at_work:
            self.deep.sleep()
        wanted = sampled(turns) or (self.dense and not turns % _OFTEN)
        if not turns % _OFTEN and holding.changes(self):
            self._more = max(self._more, _AGAIN)
        if not wanted and not self._more:
            return
        self._more -= self._more > 0
        if sampled(turns):  # several optimizers that step in turn are looked at one after the other
            self._more = max(self._more, len(set(self._lately)))
        if threading.get_ident() == self.thread and (self._more or wanted):
            self.deep.wake()

    def unchanged(self, module: Any) -> bool:
        """Whether none of a model's weights was written to since it was built, as far as versions tell."""
        return all(parameter._version <= 2 for parameter in module.parameters())

    # -- backward ---------------------------------------------------------------------------------------------------

    def _backward(self, original: Any) -> Any:
        def before(args: Any, kwargs: Any) -> None:
            self._inside = True
            if self.looking:
                with unseen():
                    self._clean()
                    inspect.before_backward(self, args[0] if args else kwargs.get("tensors"))

        def note(_: Any, args: Any, kwargs: Any) -> None:
            self._inside = False
            self._went_back("backward", args[0] if args else kwargs.get("tensors"))
            if self._owed:
                self._owed = False
                self._turn()

        return self.after(note, before)(original)

    def _grad(self, original: Any) -> Any:
        def note(result: Any, args: Any, kwargs: Any) -> None:
            inside = sys._getframe(3).f_code.co_filename == torch.overrides.__file__
            if kwargs.get("create_graph") or inside:  # torch calls itself again where a mode is at work
                return
            outputs = args[0] if args else kwargs.get("outputs")
            if self.looking:
                self.deep.derived(outputs, result)
            self._went_back("grad", outputs)
            if not self.notes.optimizers:
                self._turn()

        return self.after(note)(original)

    def _went_back(self, name: str, loss: Any) -> None:
        self.between = True
        caller = sys._getframe(4)  # of `Tensor.backward`; a frame's code and instruction cost less than all frames
        spot = (id(caller.f_code), caller.f_lasti)  # hashing a code object would read all of it
        place, _ = self._spots.get(spot, (None, None))
        if place is None:
            place = key(frames(1, 1))
            if place is not None and place[::2] == (caller.f_code.co_filename, spot[1]):
                self._spots[spot] = place, caller.f_code
        if self.stepping:
            self.closures = True  # gradients are cleared and made inside of `step`, as LBFGS asks for
        if place not in self.orders:
            self.orders[place] = len(self.orders)
            self.notes.backwards[place] = frames()
            self._names()
        count = self.notes.counts["backward"]
        if count < 6 or (not self.notes.counts["step"] and count < 40):
            self._reaches()
        if name == "backward" and count > 3 and not self.notes.counts["step"]:
            self._turn()
        self.notes.event(name, self.notes.backwards[place], None, self.orders[place])
        loss = loss[0] if isinstance(loss, (list, tuple)) and loss else loss
        known = isinstance(loss, torch.Tensor) and loss.numel() == 1 and len(self.notes.losses) < 200_000
        if known and (self.dense or loss.is_cpu) and not dispatched():
            self.notes.losses.append(loss.item())
            self.notes.loss_sites.append(self.orders[place])
        if count <= growth.LAST:
            growth.after_backward(self, loss, name)

    def _reaches(self) -> None:
        """Note the optimizers whose parameters have gradients."""
        for one in self.notes.optimizers:
            held = one.of()
            if held is not None and not one.reached:
                one.reached = any(p.grad is not None for group in held.param_groups for p in group["params"])

    def _names(self) -> None:
        """Under which names the frames at a backward know the optimizers."""
        for frame in user_frames(sys._getframe(3)):
            for one in self.notes.optimizers:
                held = one.of()
                if one.name is None and held is not None:
                    one.name = named_within(frame, held)
                    if one.name:
                        one.backward_at = frames()
            break

    def _clean(self) -> None:
        """Which optimizers' gradients were cleared by hand (`p.grad = None`) since their last step."""
        for one in self.notes.optimizers:
            held = one.of()
            if held is None or not self._dirty.get(one.number):
                continue
            gradients = [p.grad for group in held.param_groups for p in group["params"]][:20]
            if not any(grad is not None and holding.size(grad) != 0 for grad in gradients):
                self._dirty[one.number] = False

    def _exports(self, original: Any) -> Any:
        def before(*_: Any) -> None:
            self.deep.sleep()  # what traces a model would trace our hooks too

        return self.after(lambda *_: None, before)(original)
