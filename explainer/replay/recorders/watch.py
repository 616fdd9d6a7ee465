"""What is wrapped while a recorder watches a run: layers' constructors, arrays and parameters, every torch call."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

from explainer.replay.recorders import taint
from explainer.replay.recorders.scope import scope
from explainer.replay.recorders.stacks import arguments

if TYPE_CHECKING:
    from explainer.replay.recorders.recorder import Recorder

#: Calls that read metadata: they make nothing and do not fail.
READS = {"size", "__get__", "dim", "numel", "item", "stride", "__len__", "tolist", "is_floating_point"}
#: Attributes that are tensors made of their owner.
TURNED = ("T", "mT", "H", "mH")
#: What Python asks of a tensor that it takes apart, as in `a, b = x`.
TAKEN = ("unbind", "__iter__")


def watch_modules(recorder: Recorder) -> None:
    """Note for every layer the call in the user's code that built it and the integers it was given."""
    module = sys.modules["torch"].nn.Module
    plain = module.__init__

    def init(self: Any, *given: Any, **words: Any) -> None:
        plain(self, *given, **words)
        top: Any = sys._getframe(1)
        frame: Any = top
        while frame is not None and frame.f_code.co_name == "__init__" and frame.f_locals.get("self") is self:
            top, frame = frame, frame.f_back
        if top is frame:
            return
        recorder.made[id(self)] = (weakref.ref(self), _making(recorder, top))

    module.__init__ = init


def _making(recorder: Recorder, top: Any) -> dict[str, Any]:
    calls = [
        {"at": taint.position(frame), "scope": scope(frame), "function": frame.f_code.co_name}
        for frame, _ in zip(recorder.frames(top.f_back), range(6), strict=False)
    ]
    own = recorder.owns(top.f_code.co_filename)
    numbers: dict[str, Any] = {}
    frame: Any = sys._getframe(2)  # the constructors from the base class's up to the one that was called
    while frame is not None and frame is not top.f_back:
        numbers.update(arguments(frame))
        frame = frame.f_back
    parameters = top.f_code.co_varnames[1 : top.f_code.co_argcount]
    return {"numbers": numbers, "calls": calls, "own": own, "parameters": parameters}


def watch_arrays(recorder: Recorder) -> None:
    """`from_numpy` and the program's own parameters go past function modes: wrapped."""
    torch: Any = sys.modules["torch"]
    plain = torch.from_numpy

    def from_numpy(array: Any) -> Any:
        made = plain(array)
        recorder.note("from_numpy", [], made, sys._getframe(1))
        return made

    torch.from_numpy = from_numpy
    parameter = torch.nn.Parameter
    new = parameter.__new__

    def made(owner: Any, data: Any = None, requires_grad: bool = True) -> Any:
        one = new(owner, data, requires_grad)
        code = sys._getframe(1).f_code  # a module that is moved makes its parameters anew
        known = recorder.owns(code.co_filename) or code.co_name == "_apply"
        step = recorder.step_of(data) if known else None
        if step is not None:
            recorder.steps[id(one)] = (weakref.ref(one), step)
        return one

    parameter.__new__ = staticmethod(made)


def watch_calls(recorder: Recorder) -> Any:
    """A function mode under which every torch call is noted, the one that fails with its operands."""
    from torch.overrides import TorchFunctionMode

    class Watching(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, given: Any = (), words: Any = None) -> Any:
            return _noted(recorder, function, given, words or {}, sys._getframe(1))

    return Watching()


def watch_saves(recorder: Recorder) -> None:
    """Save plain numbers in the place of those with a memory: `torch.load` takes no others with `weights_only`."""
    torch: Any = sys.modules["torch"]
    plain = torch.save

    def save(value: Any, *given: Any, **words: Any) -> Any:
        numbers, recorder.numbers = recorder.numbers, False  # sizes are asked for as tensors are pickled
        try:
            return plain(taint.forgotten(value), *given, **words)
        finally:
            recorder.numbers = numbers

    torch.save = save


def watch_functions(recorder: Recorder) -> None:
    """Watch the program's own autograd functions as they run backward, too: the mode is off in the call that failed."""
    owner = sys.modules["torch"].autograd.function.BackwardCFunction
    plain = owner.apply

    def apply(self: Any, *gradients: Any) -> Any:
        with recorder.mode:
            return plain(self, *gradients)

    owner.apply = apply


def watch_subscripts(recorder: Recorder) -> None:
    """Wrap `x[i]` where function modes do not see it, as in torch 2.1."""
    tensor = sys.modules["torch"].Tensor
    plain = tensor.__getitem__

    def get(self: Any, index: Any) -> Any:
        return _noted(recorder, plain, (self, index), {}, sys._getframe(1))

    if not _subscripts_seen(tensor):
        tensor.__getitem__ = get


def _subscripts_seen(tensor: Any) -> bool:
    from torch.overrides import TorchFunctionMode

    seen = []

    class Seeing(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, given: Any = (), words: Any = None) -> Any:
            seen.append(function)
            return function(*given, **(words or {}))

    one = tensor([0.0])
    with Seeing():
        one[0]
    return bool(seen)


def _noted(recorder: Recorder, function: Any, given: Any, words: Any, frame: Any) -> Any:
    """Make a call and note what it made, or with what it failed."""
    name, values = getattr(function, "__name__", str(function)), [*given, *words.values()]
    if name in TAKEN:
        recorder.taken_apart(given[0], name)
    latest = recorder.latest
    try:
        out = function(*given, **words)
    except BaseException as error:
        recorder.fail(error, recorder.step(name, values, frame), values, latest)
        raise
    if name == "size" or (name == "__get__" and type(out).__name__ == "Size"):
        recorder.taken_apart(given[0], "shape")
        return recorder.sizes(given[0], out)
    if name == "__get__" and getattr(function.__self__, "__name__", "") in TURNED:
        recorder.note(function.__self__.__name__, values, out, frame)
    if name == "__set__" and getattr(function.__self__, "__name__", "") == "data":
        recorder.given(given[0], given[1])
    if name not in READS:
        recorder.note(name, values, out, frame)
    return out
