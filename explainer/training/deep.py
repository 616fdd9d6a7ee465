"""One iteration looked at closely: every call of torch with its place and its inputs' origin, every module's call."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from explainer.training.sites import Site, frames

#: Calls of torch after which an iteration is left alone: nobody waits for a watcher.
_MOST = 6000
#: Properties that make a tensor of another; all other ones are only looked up.
_VIEWS = ("data", "T", "mT", "H", "mH")
_GETTER = type(torch.Tensor.shape.__get__)  # type: ignore[attr-defined]
_NONE: dict[str, Any] = {}
#: What of torch is called inside of it is no call of the program.
unseen = torch._C.DisableTorchFunction
#: Layers whose evaluation torch fuses unless a function mode is at work; what is fused may come out otherwise.
_FUSED = (torch.nn.TransformerEncoder, torch.nn.TransformerEncoderLayer, torch.nn.MultiheadAttention)


#: How many modes of the program see every operator: they are not to see ours.
dispatched = getattr(torch._C, "_len_torch_dispatch_stack", int)


class unrecorded:
    """No graph is recorded inside: a value that one of ours saves is one too many where activations are recomputed.

    It sets the mode itself: `torch.no_grad` is watched.
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)

    def __exit__(self, *_: object) -> None:
        torch._C._set_grad_enabled(self._before)


class Made:
    """How a tensor came about in this iteration: the call, its place, what its inputs came from."""

    __slots__ = ("args", "cut", "inputs", "kwargs", "module", "name", "shape", "shapes", "site", "tracked")

    def __init__(self, name: str, inputs: tuple[Made | None, ...], site: Site, out: Any, module: Any):
        self.name, self.inputs, self.site, self.module = name, inputs, site, module
        self.shape = tuple(out.shape)
        self.tracked = bool(out.requires_grad)
        known = any(one.tracked for one in inputs if one is not None)
        self.cut = known and not self.tracked and out.is_floating_point()
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


def _fuses(module: Any, given: tuple[Any, ...]) -> bool:
    """Whether torch may fuse what a layer does: it evaluates, and nothing in it is a tensor of another class."""
    if not isinstance(module, _FUSED) or module.training or torch.is_grad_enabled():
        return False
    tensors = [one for one in given if isinstance(one, torch.Tensor)]
    return all(type(one) in (torch.Tensor, torch.nn.Parameter) for one in (*tensors, *module.parameters()))


class Deep:
    """Looks at one iteration at a time, or at one stretch without gradients; asleep otherwise."""

    def __init__(self, watcher: Any):
        self.watcher = watcher
        self.awake = False
        self.evaluation: Any = None
        self._stretch: Any = None
        self.examined: list[tuple[list[Any], int]] = []
        self.stack: list[Any] = []
        self.roots: list[tuple[Any, tuple[Any, ...], Site, bool, bool]] = []
        self._mode: Any = None
        self._hooks: list[Any] = []
        self._known: dict[int, tuple[Any, Made]] = {}
        self._count = 0
        self.refused = self.batch = 0
        self._held: Any = None
        self._exited = False
        self._fused: tuple[Any, Any] | None = None
        self.fed: list[Any] = []
        self.timed: list[Any] = []
        self.differences: dict[int, Any] = {}
        self.masked: dict[int, Any] = {}
        self.padded: dict[tuple[int, ...], tuple[int, float]] = {}
        self._looks: Any = None
        self._noted: Any = ()

    def wake(self, evaluation: Any = None) -> None:
        """Begin to look, unless another mode is at work or torch's compiler is."""
        if self.awake:
            self._stretch = evaluation
            return
        stack = torch.overrides._get_current_function_mode_stack()
        if any(mode is not self._held for mode in stack) or dispatched() or _compiling():
            self.refused += 1
            return
        if self._looks is None:
            from explainer.training.loading import LOOKS, NOTED

            self._looks, self._noted = LOOKS, NOTED
        hooks = torch.nn.modules.module
        self._hooks = [
            hooks.register_module_forward_pre_hook(self.watcher.guarded(self._enters)),
            hooks.register_module_forward_hook(self._leaves, **_ALWAYS),
        ]
        if self._held is not None:
            self._mode.on = True
        else:
            self._mode = _Mode(self)
            self._mode.__enter__()
            self._exited = False
        self.awake, self.evaluation, self._count = True, evaluation, 0
        self.stack.clear()
        self.roots.clear()

    def leaves(self, stretch: Any) -> None:
        """A stretch without gradients ends, and the look at it where it began with it."""
        if self._stretch is stretch:
            self._stretch = None
        elif self.evaluation is stretch:
            self.sleep()

    @property
    def examining(self) -> bool:
        """Whether a model that is called is examined: in a stretch of its own, or before the iteration calls any."""
        return self.evaluation is not None or (self._stretch is not None and not any(one[3] for one in self.roots))

    def learns(self) -> None:
        """A model learns in this iteration: what was called before it, without gradients, was a part of it."""
        for modes, at in self.examined:
            if at < len(modes):
                modes[at] = modes[at]._replace(evaluation=False)
        self.examined.clear()

    @property
    def at_work(self) -> bool:
        """Whether it is awake, or has yet to leave torch's modes."""
        return self.awake or self._held is not None

    def sleep(self) -> None:
        """Stop looking; what was known of tensors is let go of."""
        if self._held is not None:
            self.rest()
        if not self.awake:
            return
        self._see_again()
        self.rest()
        for hook in self._hooks:
            hook.remove()
        self.awake, self.evaluation, self._stretch, self._hooks = False, None, None, []
        self.examined.clear()
        self.stack.clear()
        self._known.clear()
        self.fed.clear()
        self.timed.clear()
        self.differences.clear()
        self.masked.clear()
        self.watcher.tokens.clear()
        self.watcher.future.clear()
        self.watcher.embedded.clear()
        self.watcher.leaves.clear()

    def rest(self) -> None:
        """Look at no more calls of this iteration; a mode that is inside of its own call comes back and is held."""
        self._mode.on = False
        stack = torch.overrides._get_current_function_mode_stack()
        if stack and stack[-1] is self._mode:
            self._mode.__exit__(None, None, None)
            self._held, self._exited = None, True
        elif not self._exited:
            self._held = self._mode

    def aside(self, function: Any, *given: Any) -> Any:
        """Call a function whose calls of torch are not looked at."""
        mode = self._mode
        on, mode.on = mode.on, False
        try:
            return function(*given)
        finally:
            mode.on = on

    def made(self, tensor: Any) -> Made | None:
        """How a tensor came about, where that was seen in this iteration."""
        known = self._known.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def _enters(self, module: Any, given: tuple[Any, ...]) -> None:
        from explainer.training import inspect
        from explainer.training.looks import axes

        if not self.stack and not dispatched():
            learning = torch.is_grad_enabled()
            self.roots.append((module, (), frames(), learning, bool(module.training)))
            self.batch = next((len(one) for one in given if isinstance(one, torch.Tensor) and one.dim()), 0)
            self.fed += [one for one in given if isinstance(one, torch.Tensor) and one.dim() > 1][:2]
            with unseen(), unrecorded():
                inspect.root_called(self.watcher, module, given, learning)
        if self._fused is None and _fuses(module, given):
            self._fused = module, unseen()
            self._fused[1].__enter__()
        self.stack.append(module)
        recurrent = isinstance(module, (torch.nn.RNNBase, torch.nn.RNNCellBase)) and torch.is_grad_enabled()
        if recurrent and not dispatched():
            with unseen(), unrecorded():
                inspect.recurrent_called(self.watcher, module, given)
                axes.entered(self, module, given)

    def _leaves(self, module: Any, given: Any, out: Any) -> None:
        try:
            if self._fused is not None and self._fused[0] is module:
                self._see_again()
            if self.stack and self.stack[-1] is module:
                self.stack.pop()
        except Exception as error:
            self.watcher.failed(error)

    def _see_again(self) -> None:
        """Look again: a fused layer is over."""
        fused, self._fused = self._fused, None
        if fused is not None:
            fused[1].__exit__(None, None, None)

    def note(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """Note a call of torch."""
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", "")
        self._count += 1
        if self._count > _MOST or dispatched():
            self._mode.on = self._count <= _MOST
            return
        outs = _tensors(out, [])[:8]
        if not outs and name not in self._noted:
            return
        site = frames(1, 4)
        ran, phase = self.watcher.ran, 1 if self.evaluation is None else 2
        for one in site:
            spot = (id(one.code), one.line)  # hashing a code object would read all of it
            known = ran.get(spot)
            ran[spot] = (one.code, phase if known is None else known[1] | phase)
        given = _tensors(args, [])
        if kwargs:
            _tensors(kwargs, given)
        if given and site:
            place, size = (site[0].file, site[0].line, name), given[0].dim()
            if self.watcher.sizes.setdefault(place, size) != size:
                self.watcher.sizes[place] = 0  # calls of different values: nothing is known
        made = self._made_by(name, outs, given, site, args, kwargs) if outs else None
        looks = self._looks.get(name)
        if looks:
            with unrecorded():
                for look in looks:
                    look(self, Call(name, args, kwargs, out, made, site))

    def derived(self, of: Any, derivatives: Any) -> None:
        """Note derivatives that are made without their own graph: what they came from gets nothing through them."""
        given = tuple(self.made(one) for one in _tensors(of, []))
        for one in _tensors(derivatives, [])[:8]:
            self._known[id(one)] = (weakref.ref(one), Made("grad", given, frames(1, 4), one, None))

    def _made_by(self, name: str, outs: Any, given: Any, site: Site, args: Any, kwargs: Any) -> Made:
        inputs = tuple([self.made(each) for each in given])
        shapes = tuple([tuple(each.shape) for each in given])
        plain = tuple([_plain(value) for value in args])
        named = {key: _plain(value) for key, value in kwargs.items()} if kwargs else {}
        module = self.stack[-1] if self.stack else None
        for one in outs:
            made = Made(name, inputs, site, one, module)
            made.args, made.kwargs, made.shapes = plain, named, shapes
            self._known[id(one)] = (weakref.ref(one), made)
        return made


def _tensors(value: Any, found: list[Any], depth: int = 3) -> list[Any]:
    """The tensors of a call's arguments or results, lists, tuples and dicts gone into twice, added to `found`."""
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif depth and isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, torch.Tensor):
                found.append(item)
            elif isinstance(item, (list, tuple, dict)):
                _tensors(item, found, depth - 1)
    elif depth and isinstance(value, dict):
        _tensors(list(value.values()), found, depth)
    return found


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
        out = func(*args, **kwargs) if kwargs else func(*args)
        if self.on and (type(func) is not _GETTER or func.__self__.__name__ in _VIEWS):
            try:
                self.deep.note(func, args, kwargs or _NONE, out)
            except Exception as error:
                self.deep.watcher.failed(error)
        return out
