"""One iteration looked at closely: every call of torch with its place and its inputs' origin, every module's call."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from explainer.replay.recorders.record import tensors_in
from explainer.training.sites import Site, frames

#: Calls of torch after which an iteration is left alone: nobody waits for a watcher.
_MOST = 6000
#: Properties that make a tensor of another; all other ones are only looked up.
_VIEWS = ("data", "T", "mT", "H", "mH")


class Made:
    """How a tensor came about in this iteration: the call, its place, what its inputs came from."""

    __slots__ = ("args", "inputs", "kwargs", "module", "name", "shape", "shapes", "site", "tracked")

    def __init__(self, name: str, inputs: tuple[Made | None, ...], site: Site, out: Any, module: Any):
        self.name, self.inputs, self.site, self.module = name, inputs, site, module
        self.shape = tuple(out.shape)
        self.tracked = bool(out.requires_grad)
        self.shapes: tuple[tuple[int, ...], ...] = ()
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}

    def argument(self, name: str, place: int, default: Any = None) -> Any:
        """A plain argument by its name or its place; tensors stand as None."""
        return self.kwargs.get(name, self.args[place] if place < len(self.args) else default)

    def behind(self, through: frozenset[str], most: int = 30) -> Iterator[Made]:
        """This and what it was made from, as long as calls of certain names alone lie between."""
        made: Made | None = self
        while made is not None and most:
            yield made
            if made.name not in through:
                return
            made, most = (made.inputs[0] if made.inputs else None), most - 1

    def all_behind(self, most: int = 4000) -> Iterator[Made]:
        """This and all it was made from."""
        waiting, seen = [self], {id(self)}
        while waiting and len(seen) < most:
            made = waiting.pop()
            yield made
            for one in made.inputs:
                if one is not None and id(one) not in seen:
                    seen.add(id(one))
                    waiting.append(one)


class Call:
    """One call of torch with its live arguments, for those who look at it while it happens."""

    __slots__ = ("args", "kwargs", "made", "name", "out", "site")

    def __init__(self, name: str, args: Any, kwargs: Any, out: Any, made: Made | None, site: Site):
        self.name, self.args, self.kwargs, self.out, self.made, self.site = name, args, kwargs, out, made, site

    def get(self, name: str, place: int, default: Any = None) -> Any:
        """An argument by its name or its place."""
        return self.kwargs.get(name, self.args[place] if place < len(self.args) else default)


class Deep:
    """Looks at one iteration at a time, or at one stretch without gradients; asleep otherwise."""

    def __init__(self, watcher: Any):
        self.watcher = watcher
        self.awake = False
        self.evaluation: Any = None
        self.stack: list[Any] = []
        self.roots: list[tuple[Any, tuple[Any, ...], Site, bool, bool]] = []
        self._mode: Any = None
        self._hooks: list[Any] = []
        self._known: dict[int, tuple[Any, Made]] = {}
        self._count = 0
        self.seconds = 0.0

    def wake(self, evaluation: Any = None) -> None:
        """Begin to look, unless another mode is at work or torch's compiler is."""
        if self.awake or torch.overrides._get_current_function_mode_stack() or _compiling():
            return
        hooks = torch.nn.modules.module
        self._hooks = [
            hooks.register_module_forward_pre_hook(self.watcher.guarded(self._enters)),
            hooks.register_module_forward_hook(self._leaves, **_ALWAYS),
        ]
        self._mode = _Mode(self)
        self._mode.__enter__()
        self.awake, self.evaluation, self._count = True, evaluation, 0
        self.stack.clear()
        self.roots.clear()

    def sleep(self) -> None:
        """Stop looking; what was known of tensors is let go of."""
        if not self.awake:
            return
        stack = torch.overrides._get_current_function_mode_stack()
        self._mode.on = False
        if stack and stack[-1] is self._mode:
            self._mode.__exit__(None, None, None)
        for hook in self._hooks:
            hook.remove()
        self.awake, self.evaluation, self._hooks = False, None, []
        self.stack.clear()
        self._known.clear()
        self.watcher.tokens.clear()
        self.watcher.future.clear()
        self.watcher.embedded.clear()
        self.watcher.leaves.clear()

    def made(self, tensor: Any) -> Made | None:
        """How a tensor came about, where that was seen in this iteration."""
        known = self._known.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def _enters(self, module: Any, given: tuple[Any, ...]) -> None:
        from explainer.training import inspect

        if not self.stack:
            self.roots.append((module, (), frames(), torch.is_grad_enabled(), bool(module.training)))
            inspect.root_called(self.watcher, module, given)
        self.stack.append(module)
        inspect.module_called(self.watcher, module, given)

    def _leaves(self, module: Any, given: Any, out: Any) -> None:
        try:
            if self.stack and self.stack[-1] is module:
                self.stack.pop()
            from explainer.training import inspect

            inspect.module_returned(self.watcher, module, given, out)
        except Exception as error:
            self.watcher.failed(error)

    def note(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """Note a call of torch."""
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", "")
            if name not in _VIEWS:
                return
        self._count += 1
        if self._count > _MOST:
            self._mode.on = False
            return
        from explainer.training import sequences  # noqa: F401 - it registers what looks at calls
        from explainer.training.calls import NOTED, looked_at

        outs = list(tensors_in(out))[:8]
        if not outs and name not in NOTED:
            return
        site = frames(1, 4)
        given = list(tensors_in(args, kwargs))
        made = None
        for one in outs:
            made = Made(
                name, tuple(self.made(each) for each in given), site, one, self.stack[-1] if self.stack else None
            )
            made.args = tuple(_plain(value) for value in args)
            made.kwargs = {key: _plain(value) for key, value in kwargs.items()}
            made.shapes = tuple(tuple(each.shape) for each in given)
            self._known[id(one)] = (weakref.ref(one), made)
        looked_at(self, Call(name, args, kwargs, out, made, site))


def _plain(value: Any) -> Any:
    if isinstance(value, (int, float, str, bool, torch.dtype)):
        return value
    if isinstance(value, (tuple, list)) and all(isinstance(one, int) for one in value):
        return tuple(value)
    return None


def _compiling() -> bool:
    from explainer.replay.confine.compiler import compiles

    return bool(compiles())


_ALWAYS = (
    {"always_call": True}
    if "always_call" in torch.nn.modules.module.register_module_forward_hook.__code__.co_varnames
    else {}
)


class _Mode(TorchFunctionMode):
    """Hands each call of torch on, and then notes it."""

    def __init__(self, deep: Deep):
        super().__init__()
        self.deep, self.on = deep, True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if self.on:
            began = time.perf_counter()
            try:
                self.deep.note(func, args, kwargs, out)
            except Exception as error:
                self.deep.watcher.failed(error)
            self.deep.seconds += time.perf_counter() - began
        return out
