"""What alone was put on another device than the rest: the one place in the program that names that device."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.files import sources
from explainer.probes.module import root_module
from explainer.probes.owners import parameters_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_module
from explainer.source import Source

_TYPES = ("cpu", "cuda", "meta", "mps", "xpu", "hpu")


@probe
def placed_apart(scene: Scene) -> SpanFact | None:
    """The only `.to("cuda")`, `.cuda()` or `device="cuda"` that names the device on which few of the parameters lie.

    `detail.device` is that device, `home` that of most parameters, `form` method or argument. None where the parameters
    at hand all lie there, or the program names the device more than once.
    """
    home = _of_most(scene)
    named = {value for key, value in scene.captures.items() if key in ("first", "second") and isinstance(value, str)}
    others = [one for one in named if one.partition(":")[0] in _TYPES and one != home]
    if home is None or home not in named or len(others) != 1:
        return None
    device = others[0]
    found = [(source, *one) for source in sources(scene) for one in _mentions(source, device.partition(":")[0])]
    if len(found) != 1 or device == "cpu":
        return None
    source, node, form = found[0]
    return span_fact(source, node, device=device, home=home, form=form)


def _of_most(scene: Scene) -> str | None:
    """The device of most of the parameters of all modules at hand; None where there are none, or no two modules."""
    counts: Counter[str] = Counter()
    seen: set[int] = set()
    for module in _modules(scene):
        for one in parameters_of(module):
            if id(one) not in seen:
                seen.add(id(one))
                counts[str(one.device)] += 1
    return counts.most_common(1)[0][0] if counts else None


def _modules(scene: Scene) -> Iterator[Any]:
    """The root module, and the modules that variables of the user's frames, or fields of their objects, hold."""
    root = root_module(scene)
    if root is not None:
        yield root
    for frame in scene.live.user if scene.live is not None else ():
        for value in [*frame.locals.values(), *frame.frame.f_globals.values()]:
            if is_module(value):
                yield value
            elif not isinstance(value, type):
                yield from (one for one in fields_of(value).values() if is_module(one))


def _mentions(source: Source, device: str) -> Iterator[tuple[ast.AST, str]]:
    """The calls in a file that place something on a device by its own name."""
    for node in source.nodes():
        if not isinstance(node, ast.Call):
            continue
        if any(word.arg == "device" and _names(word.value, device) for word in node.keywords):
            yield node, "argument"
        elif isinstance(node.func, ast.Attribute):
            moved = node.func.attr == "to" and any(_names(one, device) for one in node.args)
            if moved or (node.func.attr == device and not node.args):
                yield node, "method"
        if _is_device(node, device) and not _inside_move(source, node):
            yield node, "name"


def _names(node: ast.AST, device: str) -> bool:
    if isinstance(node, ast.Call):
        return _is_device(node, device)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.partition(":")[0] == device


def _is_device(node: ast.Call, device: str) -> bool:
    named = isinstance(node.func, ast.Attribute) and node.func.attr == "device"
    return named and bool(node.args) and _names(node.args[0], device) if not _is_nested(node) else False


def _is_nested(node: ast.Call) -> bool:
    return bool(node.args) and isinstance(node.args[0], ast.Call)


def _inside_move(source: Source, node: ast.Call) -> bool:
    """Whether a `torch.device(...)` stands in a call that places something itself."""
    return any(
        isinstance(outer, ast.Call) and (node in outer.args or any(word.value is node for word in outer.keywords))
        for outer in source.nodes()
    )
