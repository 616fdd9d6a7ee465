"""In-place writes: the line that changed a value which backward needs, found by a replay or read from the graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from explainer.diagnosis import Span
from explainer.edits.kinds.operators import SIGNS
from explainer.facts import SpanFact, WriteFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.places import constructor, layer_source, recorded, span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, is_tensor, read
from explainer.source import Source, called, source_of

#: Names of backward nodes whose operation has a plainer name.
_PLAIN = {
    "addmm": "linear", "mm": "matmul", "bmm": "matmul", "mv": "matmul", "convolution": "conv",
    "mkldnn_convolution": "conv",
    "native_batch_norm": "batch_norm", "native_layer_norm": "layer_norm", "max_pool2_d_with_indices": "max_pool2d",
}  # fmt: skip
_SHAPE = Pattern(r"\[[\w.]+ \[([\d, ]*)\]\]")


@probe
def overwritten(scene: Scene) -> WriteFact | None:
    """The write that made a saved value stale, from a replay of the statements before the failing backward."""
    found = stale(scene)
    return _fact(found) if found else None


overwritten.proves = True  # type: ignore[attr-defined]


@probe
def all_overwritten(scene: Scene) -> tuple[WriteFact, ...] | None:
    """All statements that made a value stale which the failing backward needs; None where it is one."""
    found = [_fact(one) for one in stale_values(scene)]
    plain = [one for one in found if one is not None and one.kind == "statement" and not one.holder]
    unique = {(one.span.file, one.span.line): one for one in plain}
    return tuple(unique.values()) if len(unique) > 1 else None


def stale(scene: Scene) -> dict[str, Any] | None:
    """The stale value that the message means, as the replay recorded it."""
    found = stale_values(scene)
    return _best(scene, found) if found else None


def stale_values(scene: Scene) -> list[dict[str, Any]]:
    """All stale values that the failing backward would meet, as the replay recorded them."""
    return scene.once("stale values", lambda: _recorded(scene)) or []


def _recorded(scene: Scene) -> Any:
    if scene.live is None or not scene.options.replay:
        return None
    from explainer.replay.recorders.inplace import Inplace, Stepped
    from explainer.replay.run import replay

    return replay(scene, Inplace) or replay(scene, Stepped)


def _best(scene: Scene, found: list[dict[str, Any]]) -> dict[str, Any]:
    """The stale value that the message means: by its shape, and by its node where the message names one."""
    shape = _SHAPE.search(scene.crash.message)
    wanted = [int(size) for size in shape[1].replace(" ", "").split(",") if size] if shape else None
    same = [one for one in found if one["shape"] == wanted] or found
    return same[0]


def _fact(one: Mapping[str, Any]) -> WriteFact | None:
    write = next((write for write in one["writes"] if write["frames"]), None)
    at = recorded(write, write["function"]) if write else None
    if write is None or at is None:
        return None
    source, inner = at
    node = _whole(inner, source.statement_at(inner.lineno))
    kept = recorded(one["kept"], plain_name(one["node"]))
    holder = one["holder"] or {}
    return WriteFact(
        source.span(node), source.text(node), write["function"], _kind(write, inner), one["node"], _keeper(one),
        "result" if one["attribute"] == "result" else "input", _target(source, inner), tuple(one["shape"]),
        one["dtype"],
        source.qualified_at(node.lineno), write["path"], write["module"] or "",  # type: ignore[attr-defined]
        holder.get("name", ""), holder.get("kind", ""), _kept(kept, one), _operand(kept, holder.get("name", "")),
        _built(write), _others(one["writes"], write),
    )  # fmt: skip


def _kind(write: Mapping[str, Any], node: ast.AST) -> str:
    if isinstance(node, ast.Call) and called(node) == "step":
        return "optimizer"
    return "layer" if write["module"] and isinstance(node, ast.Call) else "statement"


def _keeper(one: Mapping[str, Any]) -> str:
    """`SigmoidBackward0` -> sigmoid; a custom Function keeps its name."""
    return plain_name(one["node"])


def plain_name(node: str) -> str:
    """The operation of a backward node: `SigmoidBackward0` -> sigmoid, `AddmmBackward0` -> linear."""
    name = re.sub(r"Backward\d*$", "", node)
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return _PLAIN.get(snake, snake)


def _kept(kept: tuple[Source, ast.AST] | None, one: Mapping[str, Any]) -> SpanFact | None:
    if kept is None:
        return None
    return span_fact(*kept, module=one["kept"]["module"] or "", path=one["kept"]["path"])


def _target(source: Source, node: ast.AST) -> str:
    """What a statement writes through: `y` of `y += x`, `y[i] = v`, `y.add_(x)`, `relu(y, inplace=True)`."""
    target: ast.AST | None = None
    if isinstance(node, ast.AugAssign):
        target = node.target
    elif isinstance(node, ast.Assign):
        target = node.targets[0]
    elif isinstance(node, ast.Subscript):
        target = node
    elif isinstance(node, ast.Call):
        target = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_") else None
        target = target or (node.args[0] if node.args else None)
    while isinstance(target, (ast.Subscript, ast.Call)):
        target = target.value if isinstance(target, ast.Subscript) else getattr(target.func, "value", None)
    if isinstance(target, ast.Attribute) and target.attr == "data":
        target = target.value
    return source.text(target) if isinstance(target, (ast.Name, ast.Attribute)) else ""


def _operand(kept: tuple[Source, ast.AST] | None, holder: str) -> SpanFact | None:
    """The expression in the keeping operation that names what it kept: `self.codebook`, or a call's first argument."""
    if kept is None:
        return None
    source, node = kept
    named = [one for one in ast.walk(node) if isinstance(one, ast.Attribute) and one.attr == holder]
    if named:
        return span_fact(source, named[0])
    if holder:
        return None
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], (ast.Name, ast.Attribute, ast.Subscript)):
        return span_fact(source, node.args[0])
    return None


def _built(write: Mapping[str, Any]) -> SpanFact | None:
    """The constructor of the layer that wrote, where it says `inplace=True`."""
    at = layer_source(write) if write["module"] else None
    found = constructor(*at, write["module"]) if at is not None else _only_inplace(write)
    if found is None:
        return None
    source, call = found
    given = [source.text(part) for part in (*call.args, *call.keywords)]
    return span_fact(source, call, flag="inplace=True" in given, element=span_fact(*at) if at else None)


def _only_inplace(write: Mapping[str, Any]) -> tuple[Source, ast.Call] | None:
    """The one call in the files of the recorded frames that builds such a layer with `inplace=True`."""
    sources = [source_of(file) for file in dict.fromkeys(frame["file"] for frame in write["frames"])]
    found = [
        (source, node)
        for source in sources
        for node in source.nodes()
        if isinstance(node, ast.Call) and called(node) == write["module"] and "inplace=True" in source.text(node)
    ]
    return found[0] if len(found) == 1 else None


def _others(writes: list[Mapping[str, Any]], first: Mapping[str, Any]) -> tuple[SpanFact, ...]:
    places = [recorded(write, write["function"]) for write in writes if write is not first]
    return tuple(span_fact(*one) for one in places if one is not None)


@probe
def leaf_write(scene: Scene) -> WriteFact | None:
    """The write in the failing expression itself, and the leaf (or view of one) that it would change."""
    failing = scene.failing
    if failing is None or scene.user_frame is None:
        return None
    node = call_node(failing.node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = _inner_write(node) or node
    target = target_of_write(node)
    tensor = read(target, scene.user_frame.frame) if target is not None else MISSING
    name = failing.source.text(target) if target is not None else ""
    statement = failing.source.statement_at(node.lineno)  # type: ignore[attr-defined]
    shown = _whole(node, statement)
    kind = _leaf_kind(tensor)
    dtype = str(tensor.dtype).removeprefix("torch.") if is_tensor(tensor) else ""
    return WriteFact(
        failing.source.span(shown), failing.source.text(shown), _operator(node), kind, "", "", "", name,
        tuple(tensor.shape) if is_tensor(tensor) else (), dtype,
        failing.source.qualified_at(node.lineno),  # type: ignore[attr-defined]
        kept=span_fact(failing.source, statement) if statement is not None else None,
        update=bool(name) and (f"{name}.grad" in failing.source.text(shown) or _has_gradient(tensor)
                               or _after_gradients(failing.source, node) or _result_dropped(scene)),
    )  # fmt: skip


def _has_gradient(tensor: Any) -> bool:
    """Whether a gradient came back to a leaf already: it is what is learned."""
    return is_tensor(tensor) and tensor.is_leaf and tensor.grad is not None


def _result_dropped(scene: Scene) -> bool:
    """Whether who called the function of the write drops what it returns, and wants the write itself."""
    frames = scene.live.user if scene.live is not None else []
    if len(frames) < 2:
        return False
    stated = source_of(frames[-2].file).statement_at(frames[-2].line)
    call = stated.value if isinstance(stated, ast.Expr) else None
    return isinstance(call, ast.Call) and called(call) == frames[-1].frame.f_code.co_name


def _after_gradients(source: Source, node: ast.AST) -> bool:
    """Whether the function of a write computes gradients before it: what it writes then is an update."""
    line: int = node.lineno  # type: ignore[attr-defined]
    function = source.function_at(line)
    calls = [one for one in source.nodes() if isinstance(one, ast.Call) and called(one) in ("backward", "grad")]
    return any(one.lineno < line and source.function_at(one.lineno) is function for one in calls)


def _leaf_kind(tensor: Any) -> str:
    """parameter or input; of a view what its base is; tensor where it cannot be read."""
    import torch

    if not is_tensor(tensor):
        return "tensor"
    base = tensor._base if tensor._base is not None else tensor
    return "parameter" if isinstance(base, torch.nn.Parameter) else "input"


def _inner_write(node: ast.Call) -> ast.Call | None:
    """Of `x.sub_(a).div_(b)` the innermost call that writes."""
    found: ast.Call | None = None
    inner: ast.expr = node
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
        if inner.func.attr.endswith("_") and not inner.func.attr.endswith("__"):
            found = inner
        inner = inner.func.value
    return found


def target_of_write(node: ast.AST) -> ast.AST | None:
    """What an in-place operation writes through, without its subscripts."""
    if isinstance(node, ast.AugAssign):
        target: ast.AST | None = node.target
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            target = node.func.value
        else:
            target = node.args[0] if node.args else None
    else:
        target = node
    while isinstance(target, ast.Subscript):
        target = target.value
    return target


def _whole(node: ast.AST, statement: ast.stmt | None) -> ast.AST:
    """The whole chain of calls that a write begins: what an edit replaces."""
    if isinstance(node, ast.Subscript) and statement is not None:
        return statement
    outer = node
    for one in ast.walk(statement) if statement is not None else ():
        if not isinstance(one, ast.Call) or not isinstance(one.func, ast.Attribute) or not _starts_with(one, node):
            continue
        if one.func.attr.endswith("_") and _length(one) > _length(outer):
            outer = one
    return outer


def _starts_with(call: ast.AST, node: ast.AST) -> bool:
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        if call is node:
            return True
        call = call.func.value
    return call is node


def _length(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0  # type: ignore[attr-defined]


def _operator(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return called(node)
    if isinstance(node, ast.AugAssign):
        return f"{SIGNS[type(node.op)]}="
    return "[...] =" if isinstance(node, ast.Subscript) else "="


@probe
def crash_span(scene: Scene) -> Span | None:
    """The failing expression in the user's frame."""
    return scene.failing.span if scene.failing is not None else None


@probe
def unbound_by(scene: Scene, of: WriteFact | None = None) -> SpanFact | None:
    """The statement of the failing function that last bound the name that is written through."""
    from explainer.probes.origin import last_binding

    failing, frame = scene.failing, scene.user_frame
    if of is None or failing is None or frame is None or not of.target.isidentifier():
        return None
    found = last_binding(failing.source, frame, of.target)
    value = getattr(found, "value", None) or getattr(found, "iter", None)
    return span_fact(failing.source, value) if value is not None else None
