"""Sizes that must agree by a layer's own rules: attention heads, hidden states, einsum letters, strides of a view."""

from __future__ import annotations

import ast
from math import gcd
from typing import Any

from explainer.facts import Settings, SpanFact
from explainer.probes import probe
from explainer.probes.built import construction, in_owner_class
from explainer.probes.call import call_node, next_frame, operands
from explainer.probes.module import below_user
from explainer.probes.origin import bound_at, last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.shape.shapes import joining_axis, listed_parts
from explainer.probes.tensor import fact_of
from explainer.probes.values import MISSING, is_module, is_tensor, read
from explainer.source import Source, source_of
from explainer.userframes import is_user_file

_GRAD_NAMES = {"TransposeBackward0": "transpose", "PermuteBackward0": "permute", "TBackward0": "t"}
_REORDERS = ("transpose", "permute", "t", "swapaxes", "movedim")


@probe
def divisor(scene: Scene, of: Any = None, near: Any = None) -> int | None:
    """The divisor of one number that is nearest to another, the smaller one of two equally near. Takes value facts."""
    number, wanted = getattr(of, "value", of), getattr(near, "value", near)
    if type(number) is not int or type(wanted) is not int or number < 1 or number > 10**6:
        return None
    return min((n for n in range(1, number + 1) if number % n == 0), key=lambda n: (abs(n - wanted), n))


@probe
def hidden_state(scene: Scene) -> Any:
    """The hidden state that a recurrent layer was given; of an LSTM's pair the first. None where none was given."""
    found = below_user(scene)
    given = [*found[-1].args, *found[-1].kwargs.values()] if found else []
    if len(given) < 2:
        return None
    state = given[1]
    first = state[0] if type(state) is tuple and state else state
    if not is_tensor(first):
        return None
    name, node = _written(scene, state, first)
    scene.objects[name] = first
    return fact_of(name, first, scene.failing.source.span(node) if node is not None and scene.failing else None)


def _written(scene: Scene, state: Any, first: Any) -> tuple[str, ast.AST | None]:
    """How the source writes a hidden state: `h0`, `state[0]`, or the first element of `(h0, c0)`."""
    for one in operands(scene):
        if one.node is None:
            continue
        if isinstance(one.node, ast.Tuple) and read(one.node.elts[0], scene.user_frame.frame) is first:  # type: ignore
            return scene.failing.source.text(one.node.elts[0]), one.node.elts[0]  # type: ignore[union-attr]
        if one.value is state:
            return one.name if first is state else f"{one.name}[0]", one.node
    return "the hidden state", None


@probe
def made_at(scene: Scene, of: Any = None) -> SpanFact | None:
    """Where an operand got its value in the same function, else the operand itself where it is used."""
    found = bound_at(scene, of)
    if found is not None or getattr(of, "span", None) is None:
        return found
    return SpanFact(of.span, of.name)


@probe
def attention_built(scene: Scene) -> SpanFact | None:
    """The call that built the failing MultiheadAttention, or the transformer layer that holds it.

    `detail.layer` is the class that the call names. None where several calls could be meant.
    """
    kinds = ("MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer")
    for called in reversed(below_user(scene)):
        if type(called.module).__name__ not in kinds:
            continue
        name = type(called.module).__name__
        for find in (construction, in_owner_class, _only_call):
            source, call = find(scene, called.module) or (None, None)
            if source is not None and call is not None and is_user_file(source.file):
                return SpanFact(source.span(call), source.text(call), Settings((("layer", name),)))
    return None


def _only_call(scene: Scene, module: Any) -> tuple[Source, ast.Call] | None:
    """The only call of a module's class in the files of the user's frames."""
    name = type(module).__name__
    sources = {frame.file: source_of(frame.file, frame.frame.f_globals) for frame in scene.live.user}  # type: ignore
    found = [
        (source, node)
        for source in sources.values()
        for node in source.nodes()
        if isinstance(node, ast.Call) and (getattr(node.func, "attr", None) or getattr(node.func, "id", "")) == name
    ]
    return found[0] if len(found) == 1 else None


@probe
def attention_mask(scene: Scene) -> Settings | None:
    """The mask that an attention refused: `kind` (key_padding_mask or attn_mask), `shape`, and the user's `name`."""
    kind = "attn_mask" if "attn_mask" in scene.crash.message else "key_padding_mask"
    frames = scene.live.frames if scene.live else []
    mask = next((f.locals[kind] for f in reversed(frames) if is_tensor(f.locals.get(kind))), None)
    if mask is None:
        return None
    shape = tuple(int(n) for n in mask.shape)
    same = [
        one.name
        for one in operands(scene)
        if is_tensor(one.value) and tuple(one.value.shape) == shape and "mask" in (one.parameter or "")
    ]
    return Settings((("kind", kind), ("shape", shape), ("name", same[0] if len(same) == 1 else kind)))


@probe
def view_receiver(scene: Scene) -> SpanFact | None:
    """What `.view(...)` was called on, where it is in another order than its memory.

    `text` is its source; `detail.made_by` the operator that reordered it (transpose, permute, ...) or "", `shape` its
    sizes or none where it cannot be read.
    """
    node = call_node(scene.failing.node) if scene.failing else None
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "view"):
        return None
    frame, receiver, source = scene.user_frame, node.func.value, scene.failing.source  # type: ignore[union-attr]
    value = read(receiver, frame.frame)  # type: ignore[union-attr]
    if value is not MISSING and (not is_tensor(value) or value.is_contiguous()):
        return None
    made, at = _reordered(receiver, value, source, frame)
    shape = tuple(int(n) for n in value.shape) if value is not MISSING else None
    return span_fact(source, receiver, made_by=made, line=at, shape=shape)


def _reordered(receiver: ast.AST, value: Any, source: Source, frame: Any) -> tuple[str, int | None]:
    """The operator that put dimensions in another order, and its line where the source shows it."""
    if isinstance(receiver, ast.Call) and getattr(receiver.func, "attr", "") in _REORDERS:
        return receiver.func.attr, receiver.end_lineno  # type: ignore[attr-defined]
    name = _GRAD_NAMES.get(type(value.grad_fn).__name__, "") if value is not MISSING else ""
    bound = last_binding(source, frame, source.text(receiver))
    made = getattr(bound, "value", None)
    operator = getattr(getattr(made, "func", None), "attr", "")
    if operator in _REORDERS:
        return operator, bound.lineno  # type: ignore[union-attr]
    return name, None


@probe
def einsum_letter(scene: Scene) -> Settings | None:
    """Two operands of an `einsum` that give one letter different sizes, neither of them 1: names, shapes, dimensions.

    `swapped` tells whether swapping the last two dimensions of the second operand would give each letter its size.
    """
    node = call_node(scene.failing.node) if scene.failing else None
    given = operands(scene)
    if not isinstance(node, ast.Call) or len(given) < 2 or type(given[0].value) is not str:
        return None
    equation, tensors = given[0].value.replace(" ", ""), given[1:]
    terms = equation.split("->")[0].split(",")
    if "." in equation or len(terms) != len(tensors) or not all(is_tensor(one.value) for one in tensors):
        return None
    seen: dict[str, tuple[Any, int]] = {}
    for term, one in zip(terms, tensors, strict=True):
        for place, name in enumerate(term):
            size = int(one.value.shape[place])
            first, at = seen.setdefault(name, (one, place))
            if size != int(first.value.shape[at]) and 1 not in (size, int(first.value.shape[at])):
                return _letter(name, equation, term, (first, at), (one, place), seen)
    return None


def _letter(name: str, equation: str, term: str, first: Any, second: Any, seen: dict[str, Any]) -> Settings:
    (a, at), (b, place) = first, second
    shape = tuple(int(n) for n in b.value.shape)
    turned = (*shape[:-2], shape[-1], shape[-2]) if len(shape) > 1 else shape
    known = {key: int(one.value.shape[where]) for key, (one, where) in seen.items() if one is not b}
    fits = turned != shape and all(known.get(key, size) == size for key, size in zip(term, turned, strict=True))
    pairs = {
        "letter": name,
        "equation": equation,
        "first_name": a.name,
        "first": tuple(int(n) for n in a.value.shape),
        "at": at,
        "second_name": b.name,
        "second": shape,
        "place": place,
        "term": term,
        "swapped": fits,
    }
    return Settings(tuple(pairs.items()))


@probe
def forward_of(scene: Scene) -> str | None:
    """The class of the user's module in whose method the failing expression stands; None outside of a module."""
    frame = scene.user_frame
    owner = frame.locals.get("self") if frame is not None else None
    return type(owner).__name__ if is_module(owner) else None


@probe
def stacked_tensors(scene: Scene) -> SpanFact | None:
    """The first tensor of a failing `stack` that differs from the one at the front of its list.

    `detail`: the list's source (`items`), both shapes and positions, how many are `different` of `count`; `ragged`
    where sequences of numbers or of equal rows differ in length alone, `batches` where only the last is shorter, of a
    list to which a loop appends: the results of one batch after another.
    """
    node = call_node(scene.failing.node) if scene.failing else None
    if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "stack" or not node.args:
        return None
    held, source = read(node.args[0], scene.user_frame.frame), scene.failing.source  # type: ignore[union-attr]
    if type(held) not in (list, tuple) or not held or not all(is_tensor(one) for one in held):
        return None
    shapes = [tuple(int(n) for n in one.shape) for one in held]
    wrong = [place for place, shape in enumerate(shapes) if shape != shapes[0]]
    if not wrong:
        return None
    alone = bool(shapes[0]) and all(len(s) == len(shapes[0]) and s[1:] == shapes[0][1:] for s in shapes)
    last = alone and wrong == [len(shapes) - 1] and shapes[-1][0] < shapes[0][0]
    batches = last and len(node.args) == 1 and not node.keywords and _appended(source, node.args[0])
    ragged = alone and len(shapes[0]) <= 2 and len(node.args) == 1 and not node.keywords and not batches
    detail = {
        "items": source.text(node.args[0]),
        "first": shapes[0],
        "first_at": 0,
        "second": shapes[wrong[0]],
        "second_at": wrong[0],
        "different": len(wrong),
        "count": len(shapes),
        "ragged": ragged,
        "joins": alone and not ragged,
        "batches": batches,
    }
    return SpanFact(source.span(node.args[0]), source.text(node.args[0]), Settings(tuple(detail.items())))


def _appended(source: Source, items: ast.AST) -> bool:
    """Whether a loop of the same function appends to a list."""
    function = source.scope_at(items.lineno)  # type: ignore[attr-defined]
    loops = [one for one in ast.walk(function or items) if isinstance(one, (ast.For, ast.While))]
    calls = [one for loop in loops for one in ast.walk(loop) if isinstance(one, ast.Call)]
    return any(ast.unparse(one.func) == f"{ast.unparse(items)}.append" for one in calls)


@probe
def stacked_flat(scene: Scene) -> SpanFact | None:
    """The failing `stack` together with what joins its first two dimensions again: `torch.stack(x).flatten(0, 1)`."""
    node = call_node(scene.failing.node) if scene.failing else None
    if not isinstance(node, ast.Call) or scene.failing is None:
        return None
    source, text = scene.failing.source, ast.unparse(node)
    for one in source.nodes():
        if isinstance(one, ast.Call) and one.lineno == node.lineno and ast.unparse(one) == f"{text}.flatten(0, 1)":
            return SpanFact(source.span(one), source.text(one))
    return None


@probe
def grouped_channels(scene: Scene) -> Settings | None:
    """The channels that a GroupNorm or convolution under construction cannot split into its groups.

    Gives `channels` and the name of their `parameter`, `groups` and theirs, the `nearest` number of groups that divides
    all channels, and `depthwise`: as many groups as input channels.
    """
    inner = next_frame(scene)
    given = inner.locals if inner is not None else {}
    groups = given.get("num_groups", given.get("groups"))
    names = [name for name in ("num_channels", "in_channels", "out_channels") if type(given.get(name)) is int]
    if type(groups) is not int or groups < 1 or not names or "__init__" not in inner.frame.f_code.co_name:  # type: ignore
        return None
    wrong = next((name for name in names if given[name] % groups), None)
    if wrong is None:
        return None
    common = gcd(*(given[name] for name in names))
    facts = {
        "parameter": wrong,
        "channels": given[wrong],
        "groups": groups,
        "nearest": divisor(scene, common, groups),
        "group_parameter": "num_groups" if "num_groups" in given else "groups",
        "depthwise": given.get("in_channels") == groups,
    }
    return Settings(tuple(facts.items()))


@probe
def joined_rank(scene: Scene) -> SpanFact | None:
    """The part of a failing `cat` that lacks just the dimension along which the parts are joined.

    `detail`: both names and shapes, `axis`, the `place` of the new dimension and the shape `after`. None unless a
    dimension of size 1 at the axis gives the part the sizes of the other.
    """
    node = call_node(scene.failing.node) if scene.failing else None
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], (ast.List, ast.Tuple)):
        return None
    parts, axis = listed_parts(node.args[0], scene), joining_axis(node, scene.user_frame)
    rank = max((one.value.dim() for one in parts), default=0)
    full = next((one for one in parts if one.value.dim() == rank), None)
    thin = [one for one in parts if one.value.dim() != rank]
    if full is None or len(thin) != 1 or thin[0].value.dim() != rank - 1 or not -rank <= axis < rank:
        return None
    shape, other, place = tuple(thin[0].value.shape), tuple(full.value.shape), axis % rank
    after = (*shape[:place], 1, *shape[place:])
    if any(a != b for d, (a, b) in enumerate(zip(after, other, strict=True)) if d != place):
        return None
    detail = {"name": thin[0].name, "shape": shape, "other_name": full.name, "other": other}
    detail = Settings(tuple({**detail, "axis": axis, "place": place, "after": after}.items()))  # type: ignore
    return SpanFact(scene.failing.source.span(thin[0].node), thin[0].name, detail)  # type: ignore
