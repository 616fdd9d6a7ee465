"""The parts of the failing call by what they are for: the odd operand, the index that is too large, the dimension."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.built import bound, construction
from explainer.probes.call import Operand, call_node, fact_of_operand, function_name, operands
from explainer.probes.module import below_user
from explainer.probes.places import span_fact as span_fact
from explainer.probes.scene import Scene
from explainer.probes.shape.indices import LARGEST
from explainer.probes.values import MISSING, fields_of, is_tensor, picked, read, readable

#: Parameters that name a dimension, in torch's functions and layers.
DIMENSIONS = ("dim", "axis", "start_dim", "end_dim", "dim0", "dim1", "dims")


@probe
def operand_at(scene: Scene, index: int = 0, name: str = "") -> Any:
    """One operand of the failing call: the keyword `name` where it is given so, else the one at a position."""
    found = operands(scene)
    keyword = next((one for one in found if name and one.parameter == name and _is_keyword(one, scene)), None)
    chosen = keyword or (found[index] if index < len(found) else None)
    return fact_of_operand(chosen, scene) if chosen is not None and chosen.value is not MISSING else None


def _is_keyword(operand: Operand, scene: Scene) -> bool:
    node = call_node(scene.failing.node) if scene.failing else None
    return any(word.value is operand.node for word in getattr(node, "keywords", ()))


@probe
def operand_of_kind(scene: Scene, kinds: list[str], skip: int = 0) -> Any:
    """The first tensor among the operands, after the first `skip`, whose dtype is of one of some kinds.

    Kinds are bool, integer, floating and complex.
    """
    for operand in operands(scene)[skip:]:
        if is_tensor(operand.value) and kind_of(operand.value) in kinds:
            return fact_of_operand(operand, scene)
    return None


def kind_of(tensor: Any) -> str:
    """What sort of numbers a tensor holds: bool, integer, floating or complex."""
    if tensor.is_complex():
        return "complex"
    if tensor.is_floating_point():
        return "floating"
    return "bool" if str(tensor.dtype) == "torch.bool" else "integer"


@probe
def written_operand(scene: Scene, index: int = 0) -> SpanFact | None:
    """The source of an operand of the failing call, also where its value cannot be read (`f(x).mean()`)."""
    failing, found = scene.failing, operands(scene)
    if failing is None or index >= len(found) or found[index].node is None:
        return None
    return SpanFact(failing.source.span(found[index].node), found[index].name)  # type: ignore[arg-type]


@probe
def negation(scene: Scene) -> SpanFact | None:
    """`1 - mask` or `-mask` where the mask is boolean: `detail.mask` is what is inverted, `shape` its shape."""
    failing, frame = scene.failing, scene.user_frame
    node = call_node(failing.node) if failing else None
    if failing is None or frame is None:
        return None
    inner = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Constant):
        inner = node.right if node.left.value == 1 else None
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = node.operand
    if inner is None or node is None:
        return None
    value = read(inner, frame.frame)
    if is_tensor(value) and kind_of(value) != "bool":
        return None
    shape = tuple(value.shape) if is_tensor(value) else None
    mask = failing.source.text(inner)
    new = mask if isinstance(inner, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) else f"({mask.strip('()')})"
    return span_fact(failing.source, node, mask=mask, shape=shape, new=f"~{new}")


@probe
def index_too_large(scene: Scene) -> SpanFact | None:
    """The part of `x[..., i, ...]` that is a number outside the dimension it indexes.

    `detail.tensor` is the indexed tensor's source, `index` the number, `text` its source, `dim` and `size` of the
    dimension, `shape` of the tensor, `literal` whether the number is written there.
    """
    failing, frame = scene.failing, scene.user_frame
    node = call_node(failing.node) if failing else None
    if failing is None or frame is None or not isinstance(node, ast.Subscript):
        return None
    tensor = read(node.value, frame.frame)
    if not is_tensor(tensor):
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for dim, part in _dimensions(parts, tensor.dim()):
        index, size = read(part, frame.frame), tensor.shape[dim] if dim < tensor.dim() else None
        if type(index) is int and size is not None and not -size <= index < size:
            about: dict[str, Any] = {"dim": dim, "index": index, "size": int(size), "shape": tuple(tensor.shape)}
            about |= {"tensor": failing.source.text(node.value), "text": failing.source.text(part)}
            return span_fact(failing.source, part, **about, literal=isinstance(part, (ast.Constant, ast.UnaryOp)))
    return None


def _dimensions(parts: list[ast.expr], rank: int) -> list[tuple[int, ast.expr]]:
    """The parts of a subscript that are no slice, with the dimension that each indexes; none where unsure."""
    dim, found = 0, []
    for place, part in enumerate(parts):
        if isinstance(part, ast.Constant) and part.value is None:
            continue
        if isinstance(part, ast.Constant) and part.value is Ellipsis:
            after = [one for one in parts[place + 1 :] if not (isinstance(one, ast.Constant) and one.value is None)]
            dim = rank - len(after)
            continue
        if not isinstance(part, ast.Slice):
            found.append((dim, part))
        dim += 1
    return found


@probe
def subscript(scene: Scene) -> SpanFact | None:
    """The failing `x[i, j, k]`: `detail.tensor`, `shape` and `rank` of x, `given` the number of its indices."""
    failing, frame = scene.failing, scene.user_frame
    node = call_node(failing.node) if failing else None
    if failing is None or frame is None or not isinstance(node, ast.Subscript):
        return None
    owner = node.value
    owner = owner.value if isinstance(owner, ast.Attribute) and owner.attr == "data" else owner
    tensor = read(owner, frame.frame)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not is_tensor(tensor) or any(isinstance(part, ast.Starred) for part in parts):
        return None
    given = sum(not (isinstance(part, ast.Constant) and part.value in (None, Ellipsis)) for part in parts)
    text, shape = failing.source.text(node.value), tuple(tensor.shape)
    return span_fact(failing.source, node, tensor=text, shape=shape, rank=len(shape), given=given)


@probe
def dimension(scene: Scene) -> SpanFact | None:
    """The argument that names a dimension which the tensor lacks: in the failing call, or where its layer was built.

    Decided by the number in the message. `detail.dim` is the number, `tensor` what was given, `shape` and `rank` its
    shape, `function` what was called, `layer` the layer's name ("" for a function).
    """
    asked = scene.captures.get("dim")
    tensor = _first_tensor(scene)
    if type(asked) is not int or tensor is None or scene.failing is None:
        return None
    name, value = tensor
    shape = tuple(value.shape)
    about = {"dim": asked, "tensor": name, "shape": shape, "rank": len(shape)}
    found = [one for one in operands(scene) if type(one.value) is int and one.value == asked and one.node is not None]
    if len(found) == 1:
        function = function_name(call_node(scene.failing.node))
        return span_fact(scene.failing.source, found[0].node, **about, function=function, layer="")  # type: ignore[arg-type]
    return _of_layer(scene, asked, about) if not found else None


@probe
def dimension_asked(scene: Scene) -> SpanFact | None:
    """The argument that names a missing dimension, where the tensor is what another call in the expression gives.

    `detail.dim` is the number, `rank` the tensor's dimensions as the message has them, `function` what was called.
    """
    asked, high = scene.captures.get("dim"), scene.captures.get("high")
    if type(asked) is not int or type(high) is not int or high < 0 or scene.failing is None or _first_tensor(scene):
        return None
    found = [one for one in operands(scene) if type(one.value) is int and one.value == asked and one.node is not None]
    if len(found) != 1 or found[0].node is None:
        return None
    function = function_name(call_node(scene.failing.node))
    return span_fact(scene.failing.source, found[0].node, dim=asked, rank=high + 1, function=function)


def _of_layer(scene: Scene, asked: int, about: dict[str, Any]) -> SpanFact | None:
    """The argument of the constructor of a layer that holds the dimension: `nn.Softmax(dim=2)`."""
    called = below_user(scene)
    module = called[-1].module if called else None
    own = fields_of(module) if module is not None else {}
    name = next((name for name in DIMENSIONS if type(own.get(name)) is int and own[name] == asked), None)
    built = construction(scene, module) if name is not None else None
    if built is None or name is None:
        return None
    source, call = built
    node = bound(call, type(module)).get(name)
    if not isinstance(node, (ast.Constant, ast.UnaryOp)):
        return None
    layer = type(module).__name__
    return span_fact(source, node, **about, function=layer, layer=layer)


def _first_tensor(scene: Scene) -> tuple[str, Any] | None:
    """The first tensor among the operands, that of a list of tensors too, with its source."""
    for operand in operands(scene):
        if is_tensor(operand.value):
            return operand.name, operand.value
        if type(operand.value) in (list, tuple) and operand.value and is_tensor(operand.value[0]):
            return f"the first of {operand.name}", operand.value[0]
    return None


#: Where a function's index stands among its operands, the tensor itself being the first.
INDEX = {
    "gather": 2, "index_select": 2, "scatter": 2, "scatter_": 2, "scatter_add": 2, "scatter_add_": 2, "index_add": 2,
    "index_add_": 2, "index_copy": 2, "index_copy_": 2, "index_fill": 2, "index_fill_": 2, "take": 1,
    "take_along_dim": 1, "embedding": 0, "embedding_bag": 0, "one_hot": 0,
}  # fmt: skip
#: So many numbers may be zeros and ones by chance.
FEW = 2
MASK = {"masked_fill": 1, "masked_fill_": 1, "masked_select": 1, "masked_scatter": 1, "masked_scatter_": 1, "where": 0}


@probe
def index_operand(scene: Scene) -> Any:
    """The tensor that the failing call uses as an index: of `gather`, `embedding`, `one_hot`, or a subscript."""
    called = below_user(scene)
    if called and type(called[-1].module).__name__ in ("Embedding", "EmbeddingBag"):
        return _given(scene, operands(scene)[0]) if len(called) == 1 and operands(scene) else None
    function = function_name(call_node(scene.failing.node)) if scene.failing else ""
    if function == "getitem":
        odd = next(_fractional(scene), None)
        return _given(scene, odd) if odd is not None and not _is_mask(odd, scene) else None
    return operand_at(scene, INDEX[function], "index") if function in INDEX else None


@probe
def mask_operand(scene: Scene) -> Any:
    """The tensor that the failing call uses as a mask or condition: of `masked_fill`, `masked_select`, `where`.

    In a subscript it is a floating tensor of zeros and ones that has the size of what it picks from.
    """
    node = call_node(scene.failing.node) if scene.failing else None
    if isinstance(node, ast.Subscript):
        return _given(scene, next((one for one in _fractional(scene) if _is_mask(one, scene)), None))
    place = MASK.get(function_name(node)) if isinstance(node, ast.Call) else None
    if place is None:
        return None
    receiver = getattr(node.func, "value", None)  # type: ignore[union-attr]
    method = bool(operands(scene)) and operands(scene)[0].node is receiver
    word = "condition" if place == 0 else "mask"
    return operand_at(scene, 1 if place == 0 and method else place, word)


def _fractional(scene: Scene) -> Iterator[Operand]:
    """The floating tensors in the failing subscript, those too that are picked from another there: `keep[:, 0]`."""
    frame = scene.user_frame
    for operand in operands(scene)[1:] if frame is not None else ():
        value = operand.value
        if value is MISSING and operand.node is not None and frame is not None:
            value = picked(operand.node, frame.frame)
        if is_tensor(value) and kind_of(value) == "floating":
            yield replace(operand, value=value)


def _is_mask(operand: Operand, scene: Scene) -> bool:
    """Whether a tensor on the CPU holds zeros and ones alone and is as large as the dimensions that it picks from.

    Where those are not known, three entries or more have to be zeros and ones.
    """
    from_, mask, frame = operands(scene)[0], operand.value, scene.user_frame
    whole = picked(from_.node, frame.frame) if from_.value is MISSING and from_.node and frame else from_.value
    if not readable(mask, LARGEST):
        return False
    fits = tuple(mask.shape) == tuple(whole.shape[: mask.dim()]) if is_tensor(whole) else mask.numel() > FEW
    plain = mask.detach()
    return fits and bool(((plain == 0) | (plain == 1)).all())


def _given(scene: Scene, operand: Operand | None) -> Any:
    return fact_of_operand(operand, scene) if operand is not None and operand.value is not MISSING else None


@probe
def loop_of(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The `for i in ...` around the failing line whose variable an index is: the loop's iterable."""
    frame, failing = scene.user_frame, scene.failing
    if of is None or frame is None or failing is None or of["literal"]:
        return None
    for node in failing.source.nodes():
        around = isinstance(node, ast.For) and node.lineno < frame.line <= (node.end_lineno or 0)
        if around and getattr(node.target, "id", None) == of["text"]:  # type: ignore[attr-defined]
            return span_fact(failing.source, node.iter, name=of["text"])  # type: ignore[attr-defined]
    return None
