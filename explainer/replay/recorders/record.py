"""What every recorder shares: the user's place in the source, the modules on the stack, the tensors of a call."""

from __future__ import annotations

import os
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from explainer.frozen import frozen
from explainer.replay.recorders.values import those
from explainer.userframes import is_user_file
from explainer.wrappers import named_modules

_CALLS = ("_wrapped_call_impl", "_call_impl")
_DEEPEST = 200


@frozen
class Site:
    """Where the user's code stood: its frames, innermost first, and the modules being called, outermost first.

    `inner` tells whether the innermost module was called from the innermost user frame (a library layer did the work).
    """

    frames: tuple[tuple[types.CodeType, int, int], ...]
    modules: tuple[Any, ...]
    inner: bool

    def data(self) -> dict[str, Any]:
        """The place as plain data; columns are UTF-8 bytes as code objects have them."""
        own = self.modules[-1] if self.inner and self.modules else None
        return {
            "frames": [_position(*frame) for frame in self.frames[:8]],
            "module": type(own).__name__ if own is not None else None,
            "owner": _owner(self.modules, own),
            "path": _path(self.modules),
        }


def here(skip: int = 1) -> Site:
    """The user's place above the caller's caller."""
    frame: types.FrameType | None = sys._getframe(skip + 1)
    found: list[tuple[types.CodeType, int, int]] = []
    modules: list[Any] = []
    inner = False
    for _ in range(_DEEPEST):
        if frame is None:
            break
        code = frame.f_code
        if code.co_name == "run" and code.co_filename == _WINDOW:
            break  # who asked for the explanation stands further out
        if is_user_file(code.co_filename):
            found.append((code, frame.f_lasti, frame.f_lineno))
        elif code.co_name in _CALLS and "self" in frame.f_locals:
            module = frame.f_locals["self"]
            if not modules or modules[-1] is not module:
                modules.append(module)
                inner = inner or not found
        frame = frame.f_back
    return Site(tuple(found), tuple(reversed(modules)), inner)


_WINDOW = os.path.join(os.path.dirname(os.path.dirname(__file__)), "window.py")


def tensors_in(*values: Any) -> Iterator[Any]:
    """The tensors of a call's arguments or results, lists, tuples and dicts gone into twice."""
    import torch

    return those(values, torch.Tensor)


def nodes(roots: list[Any], most: int = 200_000) -> Iterator[Any]:
    """Every node of the graph below some tensors, each once, in the order of a breadth-first walk."""
    waiting = [root.grad_fn for root in roots if root is not None and root.grad_fn is not None]
    seen = set(waiting)
    while waiting and len(seen) < most:
        node = waiting.pop()
        yield node
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)


def node_of(tensor: Any) -> Any:
    """The node of the graph that made a tensor; None of one without, and of one whose node torch refuses to give.

    It refuses for a view made under `no_grad` whose base was written to since: `weight[0].fill_(0)`.
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def leaf(node: Any) -> bool:
    """Whether a node stands for a leaf tensor, at which gradients end."""
    return node.name() == "torch::autograd::AccumulateGrad"


def origin(node: Any) -> list[dict[str, Any]]:
    """The user's frames at which a node was made, innermost first, from the text that anomaly mode keeps."""
    text = "".join(node.metadata.get("traceback_") or [])
    found = re.findall(r'  File "([^"]+)", line (\d+), in (\S+)', text)
    own = [(file, int(line), name) for file, line, name in found if is_user_file(file)]
    return [{"file": file, "line": line, "function": name, "bounds": [line, line, None, None]}
            for file, line, name in reversed(own)]  # fmt: skip


def name_of(function: Any) -> str:
    """The plain name of a torch function: `relu_`, `add`, `__setitem__`."""
    return str(getattr(function, "__name__", function))


def _position(code: types.CodeType, lasti: int, line: int) -> dict[str, Any]:
    bounds: tuple[Any, ...] = (line, line, None, None)
    if hasattr(code, "co_positions"):
        found = next((p for i, p in enumerate(code.co_positions()) if i == lasti // 2), None)
        bounds = found if found is not None and None not in found else bounds
    return {"file": code.co_filename, "function": getattr(code, "co_qualname", code.co_name), "line": line,
            "bounds": list(bounds)}  # fmt: skip


def _owner(modules: tuple[Any, ...], own: Any) -> dict[str, Any] | None:
    """The nearest module of the user's own class around a library's layer, where it was written, and the way down."""
    for module in reversed(modules):
        code = getattr(type(module).__dict__.get("__init__"), "__code__", None)
        if module is own or code is None or not is_user_file(code.co_filename):
            continue
        way = next((name for name, one in named_modules(module) if one is own), None) if own is not None else ""
        if way is not None:
            return {"type": type(module).__name__, "file": code.co_filename, "line": code.co_firstlineno, "way": way}
    return None


def _path(modules: tuple[Any, ...]) -> str:
    """The innermost module's name below the outermost one."""
    if not modules:
        return ""
    return next((name for name, one in named_modules(modules[0]) if one is modules[-1]), "")
