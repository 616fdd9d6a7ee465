"""Watches one run of the program: what made each tensor, what each layer was built with, which operation failed."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from explainer.replay import taint

_MOST_STEPS, _MOST_DEPTH = 80, 60
#: Calls that read metadata: they make nothing and do not fail.
_READS = {"size", "__get__", "dim", "numel", "item", "stride", "__len__", "tolist", "is_floating_point"}


@dataclass(eq=False)
class Step:
    """One torch call: where the user's code made it (innermost frame first), what went in, what came out."""

    function: str
    stack: list[Any]
    inputs: list[Any] = field(default_factory=list)
    before: list[Any] = field(default_factory=list)
    numbers: list[Any] = field(default_factory=list)
    out: list[Any] = field(default_factory=list)
    module: Any = None
    depth: int = 0
    extents: list[Any] = field(default_factory=list)


class Recorder:
    """Installed before the program starts; `taken(error)` hands over what led to an error as plain data."""

    def __init__(self, folder: str, numbers: bool = True):
        self.folder = folder + os.sep
        self.steps: dict[int, tuple[Any, Step]] = {}
        self.made: dict[int, tuple[Any, dict[str, Any]]] = {}
        self.files: list[str] = []
        self.failed: list[tuple[BaseException, Step, list[Any]]] = []
        self.numbers = numbers
        if numbers:
            taint.install(self.owns)
        if "torch" in sys.modules:
            _watch_modules(self)
            _watch_arrays(self)
            self.mode = _mode(self)
            self.mode.__enter__()

    def owns(self, path: str) -> bool:
        """Whether a file belongs to the program."""
        owned = path.startswith(self.folder)
        if owned and path not in self.files:
            self.files.append(path)
        return owned

    def frames(self, frame: Any) -> Iterator[Any]:
        """The program's own frames from here outward."""
        while frame is not None:
            if self.owns(frame.f_code.co_filename):
                yield frame
            frame = frame.f_back

    def stack(self, frame: Any, most: int = 5) -> list[Any]:
        """Positions of the program's own frames, the innermost first."""
        return [taint.position(one) for one, _ in zip(self.frames(frame), range(most), strict=False)]

    def step_of(self, tensor: Any) -> Step | None:
        """What made a tensor."""
        known = self.steps.get(id(tensor))
        return known[1] if known and known[0]() is tensor else None

    def note(self, function: str, given: list[Any], out: Any, frame: Any) -> None:
        """Remember a call and what it made."""
        tensors = [value for value in _flat(out) if _is_tensor(value)]
        if not tensors or function in _READS or all(_is_parameter(value) for value in tensors):
            return
        step = self.step(function, given, frame)
        step.out = [_described(value) for value in tensors]
        for value in tensors:
            self.steps[id(value)] = (weakref.ref(value), step)

    def sizes(self, tensor: Any, out: Any) -> Any:
        """A size, or all of them, as numbers that remember which tensor had them."""
        step = self.step_of(tensor)
        if step is None or not self.numbers:
            return out
        if isinstance(out, int):
            return taint.made(out, ["size", step, out])
        return type(out)([taint.made(size, ["size", step, size]) for size in out])

    def step(self, function: str, given: list[Any], frame: Any) -> Step:
        """A step for a call that is about to be made or has failed."""
        flat = list(_flat(given))
        tensors = [value for value in flat if _is_tensor(value)]
        sources = [self.step_of(value) for value in tensors]
        step = Step(function, self.stack(frame), before=[_described(value) for value in tensors])
        step.numbers = [taint.tree_of(value) for value in flat if _is_number(value)]
        step.module = _layer(frame, self)
        step.depth = 1 + max((source.depth for source in sources if source), default=0)
        # A chain that grows with every iteration is cut, else the whole training run stays in memory.
        step.inputs = sources if step.depth % _MOST_DEPTH else [None] * len(sources)
        return step

    def taken(self, error: BaseException) -> dict[str, Any]:
        """The failing call, the steps that led to its operands (nearest first), the layers, the program's frames."""
        self.mode.__exit__(None, None, None)
        own = [frame for frame in _frames_of(error) if self.owns(frame[0].f_code.co_filename)]
        crash = next((step for raised, step, _ in self.failed if _caused(error, raised)), None)
        if crash is None:
            crash = self._of_stack(error)
        if crash is not None:
            crash.extents = [_extent(value) for value in _flat(self._operands(crash)) if _is_tensor(value)]
        steps = _slice(crash) if crash is not None else []
        number = {id(step): index for index, step in enumerate(steps)}
        layers = _Layers(self)
        on_stack = [layers.index(module) for module in _modules_of(error)]
        return {
            "steps": [self._plain(step, number, layers) for step in steps],
            "on_stack": [index for index in on_stack if index is not None],
            "layers": layers.rows,
            "files": [path[len(self.folder) :] for path in self.files],
            "frames": [self._frame(frame, lasti) for frame, lasti in own],
        }

    def _of_stack(self, error: BaseException) -> Step | None:
        """What the innermost layer was called with, where no torch call failed itself."""
        for frame, _ in reversed(_frames_of(error)):
            given = frame.f_locals.get("args") if frame.f_code.co_name == "_call_impl" else None
            if given:
                owner = next(self.frames(frame), None)
                return self.step(type(frame.f_locals["self"]).__name__, list(given), owner or frame)
        return self._of_call(error)

    def _of_call(self, error: BaseException) -> Step | None:
        """What the function was given that the program's innermost frame called: a constructor that refused."""
        frames = _frames_of(error)
        inner = max((at for at, (frame, _) in enumerate(frames) if self.owns(frame.f_code.co_filename)), default=-1)
        if inner < 0 or inner + 1 >= len(frames):
            return None
        frame, lasti = frames[inner]
        called = frames[inner + 1][0]
        numbers = [tree for trees in _arguments(called).values() for tree in trees]
        return Step(called.f_code.co_name, [_position_at(frame, lasti)], numbers=numbers)

    def _operands(self, crash: Step) -> list[Any]:
        return next((values for _, step, values in self.failed if step is crash), [])

    def _plain(self, step: Step, number: dict[int, int], layers: _Layers) -> dict[str, Any]:
        return {
            "function": step.function,
            "stack": [self._place(one) for one in step.stack],
            "inputs": [number.get(id(one)) for one in step.inputs],
            "before": step.before,
            "out": step.out,
            "numbers": [self._tree(tree) for tree in step.numbers[:12]],
            "layer": layers.index(step.module),
            "extents": step.extents,
        }

    def _frame(self, frame: Any, lasti: int) -> dict[str, Any]:
        return {"at": self._place(_position_at(frame, lasti)), "scope": scope(frame), "function": frame.f_code.co_name}

    def _place(self, place: Any) -> Any:
        return [place[0][len(self.folder) :], *place[1:]] if place else None

    def _tree(self, tree: list[Any]) -> list[Any]:
        if tree[0] == "op":
            return ["op", tree[1], self._tree(tree[2]), self._tree(tree[3]), self._owned(tree[4]), tree[5]]
        if tree[0] in ("lit", "len"):
            return [tree[0], self._place(tree[1]), tree[2]]
        return ["const", tree[-1]] if tree[0] == "size" else tree

    def _owned(self, place: Any) -> Any:
        return self._place(place) if place and self.owns(place[0]) else None


class _Layers:
    """Layers numbered as they are asked for."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self.rows: list[dict[str, Any]] = []
        self._known: dict[int, int] = {}

    def index(self, module: Any) -> int | None:
        """The number of a layer; None where its making was not seen."""
        known = self.recorder.made.get(id(module)) if module is not None else None
        if known is None or known[0]() is not module:
            return None
        if id(module) not in self._known:
            self._known[id(module)] = len(self.rows)
            self.rows.append(self._row(module, known[1]))
        return self._known[id(module)]

    def _row(self, module: Any, made: dict[str, Any]) -> dict[str, Any]:
        place, tree = self.recorder._place, self.recorder._tree
        numbers = {name: [tree(one) for one in trees] for name, trees in made["numbers"].items()}
        calls = [{**call, "at": place(call["at"])} for call in made["calls"]]
        return {"type": type(module).__name__, "numbers": numbers, "calls": calls, "own": made["own"]}


def scope(frame: Any) -> dict[str, Any]:
    """What a frame can name: integers, lengths, shapes of tensors; locals, globals its code mentions, their fields."""
    mentioned = {name: frame.f_globals[name] for name in frame.f_code.co_names if name in frame.f_globals}
    constants = {name: value for name, value in frame.f_globals.items() if _is_number(value)}
    names = {**frame.f_locals, **mentioned, **constants}
    found: dict[str, Any] = {}
    for name, value in names.items():
        if name.startswith("__") or len(found) > 200:
            continue
        found.update(_named(name, value))
        for key, inner in _fields(name, value):
            found.update(_named(key, inner))
    return found


def _named(name: str, value: Any) -> dict[str, Any]:
    if _is_number(value):
        return {name: int(value)}
    if _is_tensor(value):
        return {name: _described(value)}
    if isinstance(value, (list, tuple, dict, str)):
        return {f"len({name})": len(value)}
    return {}


def _fields(name: str, value: Any) -> list[tuple[str, Any]]:
    """The fields of a plain object or dict by the source that names them; asks no property."""
    if type(value) is dict:
        return [(f'{name}["{key}"]', one) for key, one in list(value.items())[:50] if isinstance(key, str)]
    if isinstance(value, (type, type(sys))):
        return []
    own = getattr(type(value), "__dict__", {}).get("__dict__")
    fields = object.__getattribute__(value, "__dict__") if own is not None or hasattr(value, "__dict__") else {}
    fields = {**fields, **fields.get("_buffers", {}), **fields.get("_parameters", {})}
    return [(f"{name}.{key}", one) for key, one in list(fields.items())[:60] if not str(key).startswith("_")]


def _watch_modules(recorder: Recorder) -> None:
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
        numbers.update(_arguments(frame))
        frame = frame.f_back
    return {"numbers": numbers, "calls": calls, "own": own}


def _arguments(frame: Any) -> dict[str, Any]:
    """The integers among a function's arguments, with their trees."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    trees = {name: [taint.tree_of(one) for one in _flat(frame.f_locals.get(name)) if _is_number(one)] for name in names}
    return {name: found for name, found in trees.items() if found}


def _watch_arrays(recorder: Recorder) -> None:
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
        step = recorder.step_of(data) if recorder.owns(sys._getframe(1).f_code.co_filename) else None
        if step is not None:
            recorder.steps[id(one)] = (weakref.ref(one), step)
        return one

    parameter.__new__ = staticmethod(made)


def _mode(recorder: Recorder) -> Any:
    from torch.overrides import TorchFunctionMode

    class Watching(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, given: Any = (), words: Any = None) -> Any:
            words = words or {}
            name = getattr(function, "__name__", str(function))
            try:
                out = function(*given, **words)
            except BaseException as error:
                frame = sys._getframe(1)
                values = [*given, *words.values()]
                recorder.failed.append((error, recorder.step(name, values, frame), values))
                del recorder.failed[:-4]
                raise
            if name == "size" or (name == "__get__" and type(out).__name__ == "Size"):
                return recorder.sizes(given[0], out)
            if name not in _READS:
                recorder.note(name, [*given, *words.values()], out, sys._getframe(1))
            return out

    return Watching()


def _layer(frame: Any, recorder: Recorder) -> Any:
    """The layer of torch's own in whose forward a call was made."""
    while frame is not None and not recorder.owns(frame.f_code.co_filename):
        if frame.f_code.co_name in ("forward", "_call_impl"):
            return frame.f_locals.get("self")
        frame = frame.f_back
    return None


def _slice(crash: Step) -> list[Step]:
    """The failing step and those that led to it, breadth first."""
    steps, seen, alike = [crash], {id(crash)}, set()
    for step in steps:
        for source in [*step.inputs, *(one for tree in step.numbers for one in _sized(tree))]:
            if source is None or id(source) in seen or len(steps) >= _MOST_STEPS:
                continue
            seen.add(id(source))
            like = (source.function, str(source.stack[:1]), str(source.out[:1]))
            if like not in alike:  # the samples of a batch all came the same way
                alike.add(like)
                steps.append(source)
    return steps


def _sized(tree: list[Any]) -> list[Any]:
    """The steps whose results' sizes a number was computed from."""
    if tree[0] == "op":
        return _sized(tree[2]) + _sized(tree[3])
    return [tree[1]] if tree[0] == "size" else []


def _caused(error: BaseException | None, raised: BaseException) -> bool:
    while error is not None:
        if error is raised:
            return True
        error = error.__cause__ or error.__context__
    return False


def _frames_of(error: BaseException) -> list[tuple[Any, int]]:
    found, trace = [], error.__traceback__
    while trace is not None:
        found.append((trace.tb_frame, trace.tb_lasti))
        trace = trace.tb_next
    return found


def _modules_of(error: BaseException) -> list[Any]:
    frames = [frame for frame, _ in _frames_of(error) if frame.f_code.co_name == "_call_impl"]
    return [frame.f_locals.get("self") for frame in frames]


def _position_at(frame: Any, lasti: int) -> Any:
    class At:
        f_code, f_lasti = frame.f_code, lasti

    return taint.position(At)


def _flat(value: Any, deep: int = 3) -> Iterator[Any]:
    if isinstance(value, (list, tuple)) and deep and type(value).__name__ != "Size":
        for one in value[:64]:
            yield from _flat(one, deep - 1)
    elif type(value).__name__ == "Size":
        yield from value
    else:
        yield value


def _extent(tensor: Any) -> list[int] | None:
    """The smallest and the largest value of an integer tensor."""
    if tensor.numel() == 0 or tensor.is_floating_point() or tensor.is_complex() or tensor.device.type != "cpu":
        return None
    return [int(tensor.min()), int(tensor.max())]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, sys.modules["torch"].Tensor)


def _is_parameter(value: Any) -> bool:
    return isinstance(value, sys.modules["torch"].nn.Parameter)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _described(tensor: Any) -> list[Any]:
    """Shape and dtype."""
    return [[int(size) for size in tensor.shape], str(tensor.dtype).replace("torch.", "")]
