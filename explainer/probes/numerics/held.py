"""What holds memory where there is no room for more: weights, gradients, optimizer, activations, graphs in lists."""

from __future__ import annotations

import ast
import itertools
import os
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.bindings import dotted, targets_of
from explainer.facts import Settings, SpanFact
from explainer.probes import probe
from explainer.probes.module import module_calls
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import fields_of, is_module, is_optimizer, is_tensor
from explainer.source import Source, source_of
from explainer.userframes import is_user_file

_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "KB": 2**10, "MB": 2**20, "GB": 2**30}
#: How many tensors of its own size an optimizer keeps for each weight.
_STATES = {"Adam": 2, "AdamW": 2, "NAdam": 2, "RAdam": 2, "Adamax": 2, "Adagrad": 1, "RMSprop": 1, "Adadelta": 2}
#: How many that keep graphs are compared.
_WEIGHED = 6
#: Lists of fewer tensors than this are no collection of steps.
STEPS = 2


@probe
def step_memory(scene: Scene) -> Settings | None:
    """What one training step of the model on the stack takes, in bytes, computed without data in a sandboxed child.

    `weights`, `gradients`, `state` (of `optimizer`), `activations` for `batch` samples, their sum `needed`; `layers`
    the paths that keep most; `available` what this process's tensors could have; `largest` the batch that would fit
    (None where the batch cannot be told apart). None where the forward was not recording a graph.
    """
    calls = module_calls(scene)
    if not calls or not _records(scene, calls[0].index):
        return None
    root = calls[0].module
    kept = _measured(scene, root, calls[0])
    if kept is None:
        return None
    weights, trained = _weights(root)
    optimizer, state = _optimizer_state(scene, trained)
    available = available_bytes(scene)
    needed = weights + trained + state + kept["bytes"]
    largest = _largest(kept, available, weights + trained + state)
    layers = tuple((path or "the model itself", size) for path, size in kept["layers"])
    return Settings((
        ("weights", weights), ("gradients", trained), ("state", state), ("optimizer", optimizer),
        ("activations", kept["bytes"]), ("batch", kept["batch"]), ("needed", needed), ("layers", layers),
        ("available", available), ("largest", largest), ("fixed", weights + trained + state),
    ))  # fmt: skip


step_memory.proves = True  # type: ignore[attr-defined]


def _measured(scene: Scene, root: Any, call: Any) -> dict[str, Any] | None:
    from explainer.replay import run

    why = run.why_not(scene)
    if why is not None and "CUDA is in use" not in why:  # nothing on meta calls CUDA
        return None

    def work() -> Any:
        from explainer.replay import footprint

        return footprint.measured(root, call.args, call.kwargs)

    return run.sandboxed(scene, work)


def _records(scene: Scene, index: int) -> bool:
    """Whether the forward that failed was building a graph: one of its tensors is a result that needs a gradient."""
    frames = scene.live.frames[index:] if scene.live else []
    values = [value for frame in frames for value in frame.locals.values()]
    return any(is_tensor(value) and value.grad_fn is not None for value in values)


def _weights(root: Any) -> tuple[int, int]:
    """Bytes of a module's parameters and buffers, and of the gradients that its parameters will have."""
    sizes: dict[int, tuple[int, bool]] = {}
    for module in root.modules():
        own = fields_of(module)
        for value in (*own.get("_parameters", {}).values(), *own.get("_buffers", {}).values()):
            if value is not None:
                sizes[id(value)] = value.numel() * value.element_size(), bool(value.requires_grad)
    return sum(size for size, _ in sizes.values()), sum(size for size, trained in sizes.values() if trained)


def _optimizer_state(scene: Scene, trained: int) -> tuple[str, int]:
    """The name of the optimizer in sight, and the bytes that its state takes or will take."""
    for value in _values(scene):
        if is_optimizer(value):
            states = fields_of(value).get("state", {}).values()
            held = [one for state in states for one in state.values() if is_tensor(one)]
            if held:
                return type(value).__name__, sum(one.numel() * one.element_size() for one in held)
            momentum = any(group.get("momentum") for group in fields_of(value).get("param_groups", ()))
            return type(value).__name__, trained * _STATES.get(type(value).__name__, int(momentum))
    return "", 0


def _values(scene: Scene) -> Iterator[Any]:
    for frame in reversed(scene.live.user if scene.live else []):
        yield from list(frame.locals.values())
        own = frame.locals.get("self")
        yield from list(fields_of(own).values()) if own is not None else ()


def available_bytes(scene: Scene) -> int | None:
    """Bytes that this process's tensors could have: of a GPU as its message says, of the CPU as the system does."""
    captured = {name: _bytes(scene.captures, name) for name in ("allowed", "live", "free", "idle", "reserved", "total")}
    if captured["allowed"] is not None:
        return captured["allowed"]
    if captured["live"] is not None and captured["free"] is not None:
        idle = captured["idle"] or max(0, (captured["reserved"] or 0) - captured["live"])
        return captured["live"] + captured["free"] + idle
    if captured["total"] is not None:
        return captured["total"]
    return _of_process() if scene.live is not None and "bytes" in scene.captures else None


def _bytes(captures: Mapping[str, Any], name: str) -> int | None:
    number, unit = captures.get(f"{name}_n"), captures.get(f"{name}_u")
    return round(float(number) * _UNITS.get(str(unit), 1)) if number is not None else None


def _of_process() -> int | None:
    """Bytes of memory that this process may use: the machine's, a limit on the process, a limit on its container."""
    limits = []
    try:
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        import resource

        limits += [one for one in (resource.getrlimit(resource.RLIMIT_AS)[0],) if one != resource.RLIM_INFINITY]
        with open("/sys/fs/cgroup/memory.max") as file:
            limits += [int(word) for word in file.read().split() if word.isdigit()]
    except (ImportError, OSError, ValueError):
        pass
    return min(limits, default=None)


def _largest(kept: dict[str, Any], available: int | None, fixed: int) -> int | None:
    """The largest batch that fits: what a sample keeps is the difference that doubling the batch makes."""
    if available is None or not kept["batch"] or kept["more"] is None:
        return None
    each = (kept["more"] - kept["bytes"]) / kept["batch"]
    constant = kept["bytes"] - each * kept["batch"]
    return max(0, int((available - fixed - constant) // each)) if each > 0 else None


@probe
def kept_graphs(scene: Scene) -> SpanFact | None:
    """The line that puts results into a list with the graphs that made them, where no backward has run on those.

    `detail`: the list's `name`, how many tensors it holds (`count`), the `bytes` that their graphs keep alive, and
    `available`, what this process's tensors could have. The span is the value that is put in.
    """
    frames = reversed(scene.live.user if scene.live else [])
    found = itertools.islice((one for frame in frames for one in _of_frame(scene, frame)), _WEIGHED)
    most = max(found, key=lambda one: one[0], default=None)
    if most is None:
        return None
    size, name, tensors, (source, node) = most
    detail: dict[str, Any] = {"name": name, "count": len(tensors), "bytes": size, "available": available_bytes(scene)}
    return span_fact(source, node, **detail)


def _of_frame(scene: Scene, frame: LiveFrame) -> Iterator[tuple[int, str, list[Any], tuple[Source, ast.AST]]]:
    for name, tensors, place in (*_collected(frame), *_summed(frame), *_in_objects(frame)):
        size = None if _needed_for_backward(frame, name) else _kept(scene, tensors)
        if size:
            yield size, name, tensors, place


kept_graphs.proves = True  # type: ignore[attr-defined]


def _kept(scene: Scene, tensors: list[Any]) -> int | None:
    """What the graphs of tensors keep, beyond that of the step that is under way; computed in a child."""
    from explainer.replay import graphs, run

    why = run.why_not(scene)
    if why is not None and "CUDA is in use" not in why:
        return None
    now = [value for value in _values(scene) if is_tensor(value)]
    return run.sandboxed(scene, lambda: graphs.kept_bytes(tensors, now))


_Kept = tuple[str, list[Any], tuple[Source, ast.AST]]


def _collected(frame: LiveFrame) -> Iterator[_Kept]:
    """Collections of results, each with the value that is put in."""
    for name, tensors in _collections(frame):
        place = _put_in(frame, name)
        if place is not None:
            yield name, tensors, place


def _summed(frame: LiveFrame) -> Iterator[_Kept]:
    """Results to which a loop adds more: `total += loss`, each with what is added."""
    source = source_of(frame.file, frame.frame.f_globals)
    for node in _body(source, frame):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            value = frame.locals.get(node.target.id)
            if is_tensor(value) and value.grad_fn is not None:
                yield node.target.id, [value], (source, node.value)


def _in_objects(frame: LiveFrame) -> Iterator[_Kept]:
    """Results that the program's own objects keep, each with the value that a method of theirs gives last."""
    for name, holder in list(frame.locals.items()):
        if is_module(holder) or is_tensor(holder) or not is_user_file(_file_of(type(holder))):
            continue
        for attribute, value in fields_of(holder).items():
            place = _given(type(holder), attribute) if is_tensor(value) and value.grad_fn is not None else None
            if place is not None:
                yield f"{name}.{attribute}", [value], place


def _file_of(kind: type) -> str:
    return str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "<unknown>")


def _given(kind: type, attribute: str) -> tuple[Source, ast.AST] | None:
    """What the methods of a class assign to an attribute in the last place."""
    source = source_of(_file_of(kind))
    found: tuple[Source, ast.AST] | None = None
    for whole in (one for one in source.nodes() if isinstance(one, ast.ClassDef) and one.name == kind.__name__):
        for node in ast.walk(whole):
            targets = targets_of(node) if isinstance(node, (ast.Assign, ast.AugAssign)) else ()
            plain = isinstance(getattr(node, "value", None), ast.Constant)
            if not plain and any(source.text(one) == f"self.{attribute}" for one in targets):
                found = source, node.value  # type: ignore[attr-defined]
    return found


def _collections(frame: LiveFrame) -> Iterator[tuple[str, list[Any]]]:
    """The lists and dicts of results that a frame can name, in its variables and in `self`'s attributes."""
    held = dict(frame.locals)
    own = held.get("self")
    if own is not None and not is_module(own):
        held.update({f"self.{name}": value for name, value in fields_of(own).items()})
    for name, value in held.items():
        if type(value) in (list, dict, deque):
            items = list(value.values()) if type(value) is dict else list(value)
            tensors = [one for item in items[:10_000] for one in (item if type(item) is tuple else (item,))]
            results = [one for one in tensors if is_tensor(one) and one.grad_fn is not None]
            if len(results) >= STEPS:
                yield name, results


def _put_in(frame: LiveFrame, name: str) -> tuple[Source, ast.AST] | None:
    """The value in `losses.append(loss)` or `outputs[key] = out`, in the frame's own function."""
    source = source_of(frame.file, frame.frame.f_globals)
    for node in _body(source, frame):
        owner = value = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            owner, value = node.func.value, node.args[0] if len(node.args) == 1 else None
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            owner, value = node.targets[0].value, node.value
        if owner is not None and value is not None and source.text(owner) == name:
            return source, value
    return None


def _needed_for_backward(frame: LiveFrame, name: str) -> bool:
    """Whether what is collected, or something made of it, has `backward` called on it further on."""
    source = source_of(frame.file, frame.frame.f_globals)
    names, nodes = {name}, list(_body(source, frame))
    for _ in range(3):
        for node in nodes:
            if isinstance(node, (ast.Assign, ast.AugAssign)) and _mentions(source, node.value, names):
                names |= {dotted(one) for one in targets_of(node) if isinstance(one, (ast.Name, ast.Attribute))}
    receivers = [node.value for node in nodes if isinstance(node, ast.Attribute) and node.attr == "backward"]
    return any(_mentions(source, receiver, names) for receiver in receivers)


def _mentions(source: Source, node: ast.AST, names: set[str]) -> bool:
    used = [one for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute))]
    return any(source.text(one) in names for one in used)


def _body(source: Source, frame: LiveFrame) -> Iterator[ast.AST]:
    """The nodes of the function that a frame runs, of the whole file where that is its top level."""
    function = source.function_at(frame.line)
    top = frame.frame.f_code.co_name == "<module>"
    return source.nodes() if top or function is None else ast.walk(function)


@probe
def batch_size_place(scene: Scene, of: Settings | None = None) -> SpanFact | None:
    """Where the batch size of the step is written: the number in `batch_size=64`, in the user's files on the stack."""
    wanted = of["batch"] if of is not None else None
    for file in dict.fromkeys(frame.file for frame in (scene.live.user if scene.live else [])):
        source = source_of(file)
        for node in source.nodes():
            for word in node.keywords if isinstance(node, ast.Call) else ():
                value = word.value
                if word.arg == "batch_size" and isinstance(value, ast.Constant) and value.value == wanted:
                    return span_fact(source, value)
    return None
