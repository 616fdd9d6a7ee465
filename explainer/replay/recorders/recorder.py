"""Watches one run of the program: what made each tensor, what each layer was built with, which operation failed."""

from __future__ import annotations

import itertools
import os
import sys
import weakref
from collections.abc import Iterator
from typing import Any

from explainer.replay.recorders import numbered, taint
from explainer.replay.recorders.scope import scope
from explainer.replay.recorders.stacks import frames_of, given, modules_of, position_at, unpacks
from explainer.replay.recorders.steps import Step, led_to, listed
from explainer.replay.recorders.usual import Usual
from explainer.replay.recorders.values import described, extent, flat, greatest, is_number, is_parameter, is_tensor
from explainer.replay.recorders.watch import (
    READS,
    watch_arrays,
    watch_calls,
    watch_functions,
    watch_modules,
    watch_saves,
    watch_subscripts,
)
from explainer.userframes import chain

_MOST_DEPTH = 60


class Recorder:
    """Installed before the program starts; `taken(error)` hands over what led to an error as plain data."""

    def __init__(self, folder: str, numbers: bool = True):
        self.folder = folder + os.sep
        self.steps: dict[int, tuple[Any, Step]] = {}
        self.made: dict[int, tuple[Any, dict[str, Any]]] = {}
        self.files: list[str] = []
        #: What was in scope in functions that have returned, by their code: as they were met again, ever more rarely.
        self.scopes: dict[int, tuple[Any, int, dict[str, Any]]] = {}
        #: The lines, by their code, at which that was looked at.
        self.lines: set[tuple[int, int]] = set()
        self.failed: list[tuple[BaseException, Step, list[Any]]] = []
        self.passed: dict[tuple[Any, ...], bool] = {}
        self.returned: set[int] = set()
        self.numbers = numbers
        self.parted: Step | None = None
        self.usual = Usual()
        #: The call that was noted last: where one fails that calls the program's own code, what that code did last.
        self.latest: Step | None = None
        self.refusing: Any = None
        if numbers or numbered.NEEDED:
            taint.install(self.owns, numbers)
            taint.told = self.see
        if "torch" in sys.modules:
            watch_modules(self)
            sys.modules["torch"].nn.modules.module.register_module_forward_hook(self._returns)
            watch_arrays(self)
            watch_subscripts(self)
            watch_functions(self)
            watch_saves(self)
            self.mode = watch_calls(self)
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

    def see(self, frame: Any) -> None:
        """Remember what is in scope where a call is made, and where the function that makes it was called."""
        for one in itertools.islice(self.frames(frame), 2):
            code, times, known = self.scopes.get(id(one.f_code), (one.f_code, 0, {}))
            if not times & (times + 1):  # the 1st, 2nd, 4th, 8th ... time
                known.update(scope(one))
            elif (id(code), one.f_lineno) not in self.lines:  # and what a line further down has beside
                known.update({name: value for name, value in scope(one).items() if name not in known})
            self.lines.add((id(code), one.f_lineno))
            self.scopes[id(code)] = code, times + 1, known

    def step_of(self, tensor: Any) -> Step | None:
        """What made a tensor."""
        known = self.steps.get(id(tensor))
        return known[1] if known and known[0]() is tensor else None

    def note(self, function: str, given: list[Any], out: Any, frame: Any) -> None:
        """Remember a call and what it made."""
        tensors = [value for value in flat(out) if is_tensor(value)]
        if not tensors or function in READS or all(is_parameter(value) for value in tensors):
            return
        step = self.step(function, given, frame)
        step.out = [described(value) for value in tensors]
        step.lies, step.greatest = str(tensors[0].device), greatest(tensors[0])
        self.usual.note(step)
        self.latest = step
        for call in (_call_of(step), _layer_of(step, step.module)):
            self.passed[call] = self.passed.get(call, True) and _square(step)
        for value in tensors:
            self.steps[id(value)] = (weakref.ref(value), step)

    def fail(self, error: BaseException, step: Step, values: list[Any], latest: Step | None) -> None:
        """Remember a call that failed; what the program's own code did in it since `latest` led to that, too."""
        if self.latest is not latest:
            step.inputs = [*step.inputs, self.latest]
        self.failed.append((error, step, values))
        del self.failed[:-4]

    def _returns(self, module: Any, *_: Any) -> None:
        self.returned.add(id(module))

    def given(self, tensor: Any, data: Any) -> None:
        """Remember that a tensor got another's data."""
        step = self.step_of(data)
        if step is not None:
            self.steps[id(tensor)] = (weakref.ref(tensor), step)

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
        values = list(flat(given))
        tensors = [value for value in values if is_tensor(value)]
        sources = [self.step_of(value) for value in tensors]
        own = next(self.frames(frame), None)
        step = Step(function, self.stack(own), before=[described(value) for value in tensors])
        self.see(own)
        step.devices = [str(value.device) for value in tensors]
        step.numbers = [taint.tree_of(value) for value in values if is_number(value)]
        step.module, step.owner = _layer(frame, self), _owner(own)
        step.depth = 1 + max((source.depth for source in sources if source), default=0)
        # A chain that grows with every iteration is cut, else the whole training run stays in memory.
        step.inputs = sources if step.depth % _MOST_DEPTH else [None] * len(sources)
        return step

    def taken(self, error: BaseException) -> dict[str, Any]:
        """The failing call, the steps that led to its operands (nearest first), the layers, the program's frames."""
        self.mode.__exit__(None, None, None)
        own = [frame for frame in frames_of(error) if self.owns(frame[0].f_code.co_filename)]
        crash = next((step for raised, step, _ in self.failed if any(one is raised for one in chain(error))), None)
        passed = crash is not None and _call_of(crash) in self.passed
        if crash is None:
            crash = self._of_stack(error)
            passed = crash is not None and self._accepted(crash)
        if crash is not None:
            floats = crash.function.startswith("binary_cross_entropy")
            crash.extents = [extent(value, floats) for value in flat(self._operands(crash)) if is_tensor(value)]
        steps = led_to(crash) if crash is not None else []
        number = {id(step): index for index, step in enumerate(steps)}
        layers = _Layers(self)
        on_stack = [layers.index(module) for module in modules_of(error)]
        self._imported()
        return {
            "steps": [self._plain(step, number, layers) for step in steps],
            "on_stack": [index for index in on_stack if index is not None],
            "layers": layers.rows,
            "files": [path[len(self.folder) :] for path in self.files],
            "frames": [self._frame(frame, lasti) for frame, lasti in own],
            "scopes": [self._scope(code, known) for code, _, known in self.scopes.values()],
            "passed": passed,
            "square": crash is not None and self.passed.get(_call_of(crash), False),
            "outgrown": [[self._place(at), was, now] for at, was, now in taint.outgrown()],
        }

    def _accepted(self, crash: Step) -> bool:
        """Whether the layer that refuses what it is called with has handed something back there before."""
        return id(self.refusing) in self.returned and _layer_of(crash, self.refusing) in self.passed

    def _imported(self) -> None:
        """Count in the program's files that call nothing of torch: helpers, settings."""
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and "site-packages" not in path:
                self.owns(path)

    def taken_apart(self, tensor: Any, what: str) -> None:
        """Remember the tensor whose entries, or whose sizes (`what` is "shape"), were asked for last."""
        self.parted = Step(what, [], [self.step_of(tensor)], [described(tensor)])

    def _of_parts(self, error: BaseException) -> Step | None:
        """The tensor, or the shape, that had another number of entries than there were names for them."""
        frames, parted = frames_of(error), self.parted
        if parted is None or not frames or not self.owns(frames[-1][0].f_code.co_filename):
            return None
        shape = parted.before[0][0]
        count = len(shape) if parted.function == "shape" else next(iter(shape), 0)
        if not isinstance(error, ValueError) or not unpacks(str(error), count):
            return None
        stack = [position_at(*frame) for frame in reversed(frames) if self.owns(frame[0].f_code.co_filename)]
        parted.function, parted.stack = "unpack_shape" if parted.function == "shape" else "unpack", stack[:5]
        return parted

    def _of_stack(self, error: BaseException) -> Step | None:
        """What the innermost layer was called with, or a package's function, where no torch call failed itself.

        That of a package (einops' `rearrange`) is the nearer of the two where a layer's own code calls it with tensors.
        """
        parted = self._of_parts(error)
        if parted is not None:
            return parted
        called = self._of_call(error)
        for frame, _ in reversed(frames_of(error)):
            if called is not None and called.before and self.owns(frame.f_code.co_filename):
                return called
            given = frame.f_locals.get("args") if frame.f_code.co_name == "_call_impl" else None
            if given:
                owner = next(self.frames(frame), None)
                self.refusing = frame.f_locals["self"]
                return self.step(type(frame.f_locals["self"]).__name__, list(given), owner or frame)
        return called

    def _of_call(self, error: BaseException) -> Step | None:
        """What the function was given that the program's innermost frame called: a constructor that refused."""
        frames = frames_of(error)
        inner = max((at for at, (frame, _) in enumerate(frames) if self.owns(frame.f_code.co_filename)), default=-1)
        if inner < 0 or inner + 1 >= len(frames):
            return None
        frame, lasti = frames[inner]
        called = frames[inner + 1][0]
        step = self.step(called.f_code.co_name, list(given(called, star=True).values()), frame)
        step.stack = [position_at(frame, lasti), *step.stack[1:]]
        return step

    def _operands(self, crash: Step) -> list[Any]:
        return next((values for _, step, values in self.failed if step is crash), [])

    def _plain(self, step: Step, number: dict[int, int], layers: _Layers) -> dict[str, Any]:
        return {
            "function": step.function,
            "stack": [self._place(one) for one in step.stack],
            "inputs": [listed(one, number, step.depth) for one in step.inputs],
            "before": step.before,
            "out": step.out,
            "numbers": [self._tree(tree) for tree in step.numbers[:12]],
            "layer": layers.index(step.module),
            "extents": step.extents,
            "greatest": step.greatest,
            "devices": step.devices,
            "lies": step.lies,
            "unlike": self.usual.unlike(step),
        }

    def _frame(self, frame: Any, lasti: int) -> dict[str, Any]:
        return {"at": self._place(position_at(frame, lasti)), "scope": scope(frame), "function": frame.f_code.co_name}

    def _scope(self, code: Any, known: dict[str, Any]) -> dict[str, Any]:
        return {"file": code.co_filename[len(self.folder) :], "line": code.co_firstlineno, "scope": known}

    def _place(self, place: Any) -> Any:
        return [place[0][len(self.folder) :], *place[1:]] if place else None

    def _tree(self, tree: list[Any]) -> list[Any]:
        if tree[0] == "op":
            return ["op", tree[1], self._tree(tree[2]), self._tree(tree[3]), self._owned(tree[4]), tree[5]]
        if tree[0] in ("lit", "len"):
            return [tree[0], self._place(tree[1]), tree[2]]
        return ["size", tree[-1]] if tree[0] == "size" else tree

    def _owned(self, place: Any) -> Any:
        return self._place(place) if place and self.owns(place[0]) else None


def _call_of(step: Step) -> tuple[Any, ...]:
    """What two calls share that differ in their data alone: the place, the layers and the numbers given."""
    place = tuple(step.stack[0]) if step.stack and step.stack[0] else None
    own = [tree for tree in step.numbers if step.function != "__getitem__" or tree[0] == "lit"]  # an index is data
    return step.function, place, id(step.module), step.owner, tuple(int(tree[-1]) for tree in own)


def _layer_of(step: Step, module: Any) -> tuple[Any, ...]:
    """What two calls of a layer share, of which one got as far as torch's operators, and the other did not."""
    return tuple(step.stack[0]) if step.stack and step.stack[0] else None, id(module)


def _square(step: Step) -> bool:
    """Whether the last two sizes of all that a call was given are equal: it takes them in either order."""
    return all(len(shape) > 1 and shape[-1] == shape[-2] for shape, _ in step.before if shape)


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
        about = {"type": type(module).__name__, "own": made["own"], "parameters": list(made["parameters"])}
        return {**about, "numbers": numbers, "calls": calls}


def _owner(frame: Any) -> int:
    """Which layer of the program's own a frame is a method of; 0 of none."""
    owner = frame.f_locals.get("self") if frame is not None and "self" in frame.f_code.co_varnames[:1] else None
    return id(owner) if isinstance(owner, sys.modules["torch"].nn.Module) else 0


def _layer(frame: Any, recorder: Recorder) -> Any:
    """The layer of torch's own in whose forward a call was made."""
    while frame is not None and not recorder.owns(frame.f_code.co_filename):
        if frame.f_code.co_name in ("forward", "_call_impl"):
            return frame.f_locals.get("self")
        frame = frame.f_back
    return None
