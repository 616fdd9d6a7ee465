"""Where an operand came from: the view that shaped it and the statement that last bound its name."""

from __future__ import annotations

import ast
from math import prod
from typing import Any

from explainer.bindings import binds, registered
from explainer.facts import OriginFact, SpanFact
from explainer.probes import probe
from explainer.probes.call import function_name
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import is_tensor
from explainer.source import Source, of_self, source_of

#: grad_fn names that only rearrange: the operator's plain name.
_VIEWS = {
    "ViewBackward0": "view",
    "ReshapeAliasBackward0": "reshape",
    "UnsafeViewBackward0": "reshape",
    "PermuteBackward0": "permute",
    "TransposeBackward0": "transpose",
    "TBackward0": "t",
    "SqueezeBackward0": "squeeze",
    "SqueezeBackward1": "squeeze",
    "UnsqueezeBackward0": "unsqueeze",
    "ExpandBackward0": "expand",
    "SelectBackward0": "select",
    "SliceBackward0": "slice",
    "UnfoldBackward0": "unfold",
}
#: Calls that are known to move dimensions; where another one does so (an LSTM with batch_first) it is its own matter.
_MOVES = ("transpose", "permute", "t", "movedim", "moveaxis", "swapaxes", "swapdims", "rearrange", "getattr")


@probe
def view_origin(scene: Scene, of: Any = None) -> OriginFact | None:
    """The shape that an operand had before a view made it what it is: `flatten` of [4, 16, 6, 6].

    From `grad_fn`'s saved sizes, else from `_base` (which autograd keeps under `no_grad` too).
    """
    tensor = scene.objects.get(of.name) if of is not None else None
    if not is_tensor(tensor):
        return None
    before, operator = _before(tensor)
    after = tuple(int(n) for n in tensor.shape)
    if before is None or before == after:
        return None
    bound = bound_at(scene, of)
    called = _called(of.name) if bound is None else bound["function"]
    if called not in ("", *_MOVES) and sorted(before) == sorted(after):
        return None
    if called and called not in ("call", "expression"):
        operator = called
    return OriginFact("view", operator, before, after, joined(before, after), bound.span if bound else None)


def _called(text: str) -> str:
    """The function whose call an operand without a name is; empty for any other text."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    return function_name(node) if isinstance(node, ast.Call) else ""


def _before(tensor: Any) -> tuple[tuple[int, ...] | None, str]:
    node = tensor.grad_fn
    name = type(node).__name__ if node is not None else ""
    if name in _VIEWS:
        sizes = getattr(node, "_saved_self_sym_sizes", None)
        if sizes is not None:
            return tuple(int(n) for n in sizes), _VIEWS[name]
    base = tensor._base if tensor._is_view() else None
    if base is not None and base.numel() == tensor.numel():
        return tuple(int(n) for n in base.shape), "view"
    return None, ""


def joined(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[int, ...]:
    """The consecutive sizes of `before` whose product is the last size of `after`, where they are more than one."""
    for start in range(len(before) - 1):
        if after and prod(before[start:]) == after[-1] and prod(before[:start]) == prod(after[:-1]):
            return before[start:]
    return ()


@probe
def bound_at(scene: Scene, of: Any = None) -> SpanFact | None:
    """The statement of the same function that last gave a name its value before the crash; of a buffer its value.

    `detail.function` is the operator that the statement calls, `detail.target` the name. None for a parameter that is
    not bound again, and where a branch or loop leaves open which statement it was.
    """
    frame = scene.user_frame
    if frame is None or of is None or not of.name.replace("self.", "").isidentifier():
        return None
    source = source_of(frame.file, frame.frame.f_globals)
    statement = last_binding(source, frame, of.name)
    if statement is None:
        kept = _registered(source, frame.line, of.name)
        return span_fact(source, kept, of.name, function=function_name(kept), target=of.name) if kept else None
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) else None
    function = function_name(value) if value is not None else ""
    return span_fact(source, statement, of.name, function=function, target=of.name)


def _registered(source: Source, line: int, name: str) -> ast.expr | None:
    """What a class registers as the buffer `self.name`, at one place."""
    owner = source.class_at(line) if name.startswith("self.") else None
    nodes = (one for one in ast.walk(owner) if of_self(getattr(one, "func", None))) if owner is not None else ()
    rows = [row for row in map(registered, nodes) if row is not None and row[0] == name.removeprefix("self.")]
    return rows[0][1] if len(rows) == 1 else None


def last_binding(source: Source, frame: LiveFrame, name: str) -> ast.stmt | None:
    """The last statement before the frame's line that binds a name in the function of the frame."""
    scope = source.scope_at(frame.line)
    found = [node for node in ast.walk(scope) if binds(node, name) and node.lineno < frame.line] if scope else []  # type: ignore[attr-defined]
    return max(found, key=lambda node: node.lineno, default=None)  # type: ignore[return-value, arg-type, attr-defined]
