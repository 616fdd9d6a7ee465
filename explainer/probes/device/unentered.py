"""Helpers that move the tensors of a batch and hand on a kind of container as it came, with the tensors inside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType
from typing import Any

from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.files import sources
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, is_tensor, read
from explainer.source import Source, called, source_of

_KINDS = {"list": list, "tuple": tuple, "dict": dict}
#: Names that stand for a container in a test.
_ROWS, _KEYED = ("list", "tuple"), ("dict",)
_ALSO = {"Mapping": _KEYED, "MutableMapping": _KEYED, "Sequence": _ROWS, "Iterable": _ROWS}
_DEEP = 6


@frozen
class Helper:
    """A function that moves what it is given, the statement that hands the rest on, the kinds it does not enter."""

    source: Source
    function: ast.FunctionDef
    given: str
    last: ast.Return
    missing: tuple[str, ...]


@probe
def unentered(scene: Scene) -> SpanFact | None:
    """The `return batch` of a helper that moves tensors, by which a list (or dict) went on whose tensors stayed behind.

    `detail`: the helper's name `function`, the `kind` of container, `what` holds it, the `device` that its tensors are
    on and that they were to go to (`home`), `branch`, the statement that is missing.
    """
    for source in sources(scene):
        for helper in filter(None, (_helper(source, one) for one in source.nodes())):
            for text, value, home in _results(scene, helper.function.name):
                found = _left(value, helper.missing, text, home)
                if found is not None:
                    kind, what, device = found
                    about = {"kind": kind, "what": what, "device": device, "home": home}
                    name = helper.function.name
                    return span_fact(source, helper.last, function=name, branch=_branch(helper), **about)
    return None


def _helper(source: Source, node: ast.AST) -> Helper | None:
    if not isinstance(node, ast.FunctionDef) or not isinstance(_final(node.body), ast.Return):
        return None
    last = _final(node.body)
    name = getattr(getattr(last, "value", None), "id", "")
    if name not in [one.arg for one in node.args.args] or not _moves(node, name):
        return None
    tested = _tested(node, name)
    missing = tuple(kind for kind in _KINDS if kind not in tested)
    return Helper(source, node, name, last, missing) if missing else None  # type: ignore[arg-type]


def _final(body: list[ast.stmt]) -> ast.stmt:
    """The statement that is left when no test held: the last, also that of an `else`."""
    last = body[-1]
    return _final(last.orelse) if isinstance(last, ast.If) and last.orelse else last


def _moves(function: ast.FunctionDef, name: str) -> bool:
    """Whether a function returns `name.to(...)` somewhere."""
    returned = [one.value for one in ast.walk(function) if isinstance(one, ast.Return)]
    calls = [one for one in returned if isinstance(one, ast.Call) and called(one) in ("to", "cuda")]
    return any(isinstance(one.func, ast.Attribute) and ast.unparse(one.func.value) == name for one in calls)


def _tested(function: ast.FunctionDef, name: str) -> set[str]:
    """The kinds of containers that `isinstance(name, ...)` is asked for."""
    found: set[str] = set()
    for one in ast.walk(function):
        if isinstance(one, ast.Call) and called(one) == "isinstance" and ast.unparse(one.args[0]) == name:
            kinds = getattr(one.args[1], "elts", one.args[1:2])
            for kind in (ast.unparse(part).rpartition(".")[2] for part in kinds):
                found.update(_ALSO.get(kind, (kind,)))
    return found


def _results(scene: Scene, function: str) -> Iterator[tuple[str, Any, str]]:
    """What the program's frames hold of the helper's results, with the device that they were to go to."""
    for frame in scene.live.user if scene.live is not None else ():
        source = source_of(frame.file, frame.frame.f_globals)
        for node in ast.walk(source.scope_at(frame.line) or ast.Module([], [])):
            call = node.value if isinstance(node, ast.Assign) else None
            if not isinstance(call, ast.Call) or called(call) != function:
                continue
            given = [*call.args[1:], *(word.value for word in call.keywords)]
            home = next(filter(None, (_device(one, frame.frame) for one in given)), "")
            targets: list[ast.expr] = node.targets  # type: ignore[attr-defined]
            for target in getattr(targets[0], "elts", targets):
                value = read(target, frame.frame)
                if value is not MISSING and home:
                    yield ast.unparse(target), value, home


def _device(node: ast.AST, frame: FrameType) -> str:
    """The kind of device that an argument is: of `device`, `"cuda:1"`, `torch.device("meta")`."""
    inner = node.args[0] if isinstance(node, ast.Call) and called(node) == "device" and node.args else node
    value = read(inner, frame)
    known = isinstance(value, str) or type(value).__name__ == "device"
    return str(value).partition(":")[0] if known else ""


def _left(value: Any, missing: tuple[str, ...], text: str, home: str, deep: int = 0) -> tuple[str, str, str] | None:
    """The first container of a kind that is not entered with a tensor elsewhere: kind, where, that device."""
    kind = next((name for name, one in _KINDS.items() if type(value) is one), None)
    if kind is None or deep > _DEEP:
        return None
    if kind in missing:
        apart = next((device for device in _devices(value) if device != home), None)
        return (kind, text, apart) if apart is not None else None
    parts = value.items() if kind == "dict" else enumerate(value)
    plain = ((key, one) for key, one in parts if type(key) in (str, int))
    found = (_left(one, missing, f"{text}[{_key(key)}]", home, deep + 1) for key, one in plain)
    return next(filter(None, found), None)


def _key(key: str | int) -> str:
    return f'"{key}"' if isinstance(key, str) else str(key)


def _devices(value: Any, deep: int = 0) -> Iterator[str]:
    if is_tensor(value):
        yield value.device.type
    elif type(value) in _KINDS.values() and deep <= _DEEP:
        for one in value.values() if type(value) is dict else value:
            yield from _devices(one, deep + 1)


def _branch(helper: Helper) -> str:
    """The statement that enters the containers which the helper hands on as they are."""
    function, given = helper.function, helper.given
    again = next((one for one in ast.walk(function) if isinstance(one, ast.Call) and _same(one, function)), None)
    if again is not None:
        call, rest = ast.unparse(again.func), [ast.unparse(one) for one in (*again.args[1:], *again.keywords)]
    else:
        call, rest = _itself(function)
    inner = f"{call}({', '.join(['value', *rest])})"
    kinds = [kind for kind in helper.missing if kind != "dict"]
    parts = []
    if kinds:
        test = f"({', '.join(kinds)})" if len(kinds) > 1 else kinds[0]
        parts.append(f"if isinstance({given}, {test}):\n    return type({given})({inner} for value in {given})")
    if "dict" in helper.missing:
        made = f"{{key: {inner} for key, value in {given}.items()}}"
        parts.append(f"if isinstance({given}, dict):\n    return {made}")
    return "\n".join(parts)


def _itself(function: ast.FunctionDef) -> tuple[str, list[str]]:
    """How a function calls itself: its name, as a method's, and the parameters behind the first."""
    names = [one.arg for one in function.args.args]
    if names[:1] in (["self"], ["cls"]):
        return f"{names[0]}.{function.name}", names[2:]
    return function.name, names[1:]


def _same(call: ast.Call, function: ast.FunctionDef) -> bool:
    return called(call) == function.name and bool(call.args)
