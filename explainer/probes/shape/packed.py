"""A tuple, dict or output object where one tensor is due: what holds it, what made it, which parts could be meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from explainer.edits.place import PRIMARY
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.bindings import binding
from explainer.probes.built import construction
from explainer.probes.call import operands
from explainer.probes.files import calls_named
from explainer.probes.module import below_user
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, fields_of, is_module, is_tensor, read
from explainer.source import Source

#: Names under which models give what a loss takes, the likeliest first.
_OUTPUTS = ("logits", "out", "output", "outputs", "pred", "preds", "prediction", "scores", "last_hidden_state")
#: Layers that give two values.
_PAIRS = ("LSTM", "GRU", "RNN", "MultiheadAttention")
#: How many parts are offered.
_MOST = 4


@probe
def packed(scene: Scene) -> SpanFact | None:
    """The expression that gave a tuple, list, dict or output object to what takes a tensor.

    `detail`: `holder` (its type), `name` (what the failing line calls it), `function` (what it calls, as the source
    writes it), `maker` (the layer's class, or empty), `parts` (how many), `ways` (expressions for a part, best first).
    """
    found = _held(scene) or _unread(scene)
    if found is None:
        return None
    source, node, value = found
    last = len(scene.live.user) - 1  # type: ignore[union-attr]
    bound = binding(scene, node, last) if isinstance(node, (ast.Name, ast.Attribute)) else None
    whole = bound is not None and bound.part is None and not bound.looped and isinstance(bound.node, ast.Call)
    at, made = (bound.source, bound.node) if bound is not None and whole else (source, node)
    maker = _maker(scene, made, bound.frame if bound is not None and whole else last)
    text = at.text(made) if isinstance(made, PRIMARY) else f"({at.text(made)})"
    joined = _joined(text, value, bound.node if bound is not None and bound.part is None else None)
    ways = joined or tuple(f"{text}{part}" for part in _parts(value, maker))[:_MOST]
    if not ways:
        return None
    function = at.text(made.func) if isinstance(made, ast.Call) else ""
    about = {"name": source.text(node), "function": function, "maker": maker, "parts": _length(value), "ways": ways}
    return span_fact(at, made, source.text(node), holder=type(value).__name__, **about)


@probe
def packed_results(scene: Scene) -> tuple[SpanFact, ...] | None:
    """The calls that gave several operands of the failing one values and indices at once, as `max(dim=1)` does."""
    last = len(scene.live.user) - 1 if scene.live is not None else 0
    pairs = [one for one in operands(scene) if type(one.value).__module__ == "torch.return_types"
             and one.node is not None and hasattr(one.value, "values")]  # fmt: skip
    found = [binding(scene, one.node, last) for one in pairs if isinstance(one.node, (ast.Name, ast.Attribute))]
    made = [span_fact(one.source, one.node) for one in found
            if one is not None and one.part is None and isinstance(one.node, ast.Call)]  # fmt: skip
    return tuple(made) if len(made) == len(pairs) > 1 else None


def _held(scene: Scene) -> tuple[Source, ast.expr, Any] | None:
    """The operand that is no tensor but holds some, or the owner of an attribute that only tensors have."""
    failing, frame = scene.failing, scene.user_frame
    if failing is None or frame is None:
        return None
    named = scene.captures.get("name")
    for node in ast.walk(failing.node):
        if isinstance(node, ast.Attribute) and node.attr == named:
            owner = read(node.value, frame.frame)
            if _tensors_of(owner):
                return failing.source, node.value, owner
    for one in operands(scene):
        if isinstance(one.node, ast.expr) and _tensors_of(one.value) and not _written_out(one.node):
            return failing.source, one.node, one.value
    return None


def _unread(scene: Scene) -> tuple[Source, ast.expr, Any] | None:
    """The call on the side of an operator that a message names, of a layer known to give two values."""
    failing, known = scene.failing, operands(scene)
    sides = (scene.captures.get("left"), scene.captures.get("right"))
    if failing is None or len(known) != 2 or scene.live is None:
        return None
    for one, kind in zip(known, sides, strict=True):
        if kind == "tuple" and one.value is MISSING and isinstance(one.node, ast.Call):
            maker = _maker(scene, one.node, len(scene.live.user) - 1)
            if maker in _PAIRS:
                return failing.source, one.node, (MISSING, MISSING)
    return None


def _written_out(node: ast.expr) -> bool:
    """Whether a container is written where it stands: what it is for is known there."""
    return isinstance(node, (ast.Tuple, ast.List, ast.Dict, ast.ListComp, ast.GeneratorExp, ast.DictComp))


def _tensors_of(value: Any) -> list[Any]:
    """The tensors that a tuple, list, dict or plain object of the user's or a library's holds, two levels deep."""
    if value is MISSING or is_tensor(value) or is_module(value):
        return []
    items = _items(value)
    inner = [part for _, item in items if not is_tensor(item) for _, part in _items(item)]
    return [one for one in [*(item for _, item in items), *inner] if is_tensor(one)]


def _items(value: Any) -> list[tuple[str, Any]]:
    """The entries of a container with the source that reads each of them."""
    if isinstance(value, (tuple, list)):
        return [(f"[{index}]", one) for index, one in enumerate(value[:20])]
    if isinstance(value, dict):
        return [(f'["{key}"]', one) for key, one in list(value.items())[:20] if isinstance(key, str)]
    if type(value).__module__ in ("builtins", "numpy") or is_module(value):
        return []
    return [(f".{name}", one) for name, one in list(fields_of(value).items())[:20] if not name.startswith("_")]


def _length(value: Any) -> int:
    return len(_items(value))


def _maker(scene: Scene, node: ast.AST, number: int | None) -> str:
    """The class of the layer that a call calls; empty where it calls none or cannot be read."""
    if not isinstance(node, ast.Call) or number is None or scene.live is None:
        return ""
    owner = read(node.func, scene.live.user[number].frame)
    return type(owner).__name__ if is_module(owner) else ""


def _parts(value: Any, maker: str) -> Iterator[str]:
    """The source of the parts that may be meant, behind the expression that holds them; best first."""
    recurrent = _recurrent(value, maker) or (("[0]",) if maker == "MultiheadAttention" else ())
    if recurrent:
        yield from recurrent
        return
    items = _items(value)
    rank = lambda one: _OUTPUTS.index(one[0].strip('.[]"')) if one[0].strip('.[]"') in _OUTPUTS else len(_OUTPUTS)  # noqa: E731
    for text, item in sorted(items, key=rank):
        if is_tensor(item):
            yield text
        else:
            yield from (f"{text}{inner}" for inner, one in _items(item)[:1] if is_tensor(one))
    if type(value) in (tuple, list) and _alike(value):
        yield "[-1]"


def _joined(text: str, value: Any, made: ast.AST | None) -> tuple[str, ...]:
    """A list that the program itself filled with tensors, as one tensor of them all."""
    filled = isinstance(made, (ast.List, ast.ListComp)) and type(value) is list and all(map(is_tensor, value))
    if not filled:
        return ()
    stacked, after = f"torch.stack({text})", f"torch.cat({text})"
    return (after, stacked) if len({one.shape[:1] for one in value}) > 1 else (stacked, after)


def _recurrent(value: Any, maker: str) -> Sequence[str]:
    """Parts of what a recurrent layer gives, `(output, state)`, or of an LSTM's state `(h, c)`."""
    if maker in ("LSTM", "GRU", "RNN"):
        state = "[1][0][-1]" if maker == "LSTM" else "[1][-1]"
        return "[0]", "[0][:, -1]", state, "[0][-1]"
    pair = type(value) is tuple and len(value) == 2 and all(is_tensor(one) and one.dim() == 3 for one in value)
    return ("[0][-1]", "[0]") if pair and value[0].shape == value[1].shape and not maker else ()


def _alike(values: Sequence[Any]) -> bool:
    return len(values) > 1 and all(is_tensor(one) for one in values)


@probe
def packed_use(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The name that stands for a tuple, dict or output object where it is used, if it was made elsewhere.

    `ways` are expressions for a part, best first.
    """
    found = _held(scene) if of is not None else None
    if found is None or of is None or found[0].span(found[1]) == of.span or not isinstance(found[1], PRIMARY):
        return None
    source, node, value = found
    ways = tuple(f"{source.text(node)}{part}" for part in _parts(value, of["maker"]))[:_MOST]
    return span_fact(source, node, ways=ways) if ways else None


@probe
def packed_layer(scene: Scene) -> SpanFact | None:
    """The construction of a layer whose tuple a Sequential passed on to the next layer.

    `detail`: `layer` (its class), `function` (the constructor as the source writes it), `next` (the class that got it),
    `container` (the class of what passes it on).
    """
    chain = below_user(scene)
    if len(chain) < 2 or not chain[-1].args or not _tensors_of(chain[-1].args[0]):
        return None
    inner, container = chain[-1].module, chain[-2].module
    children = list((fields_of(container).get("_modules") or {}).values())
    index = next((at for at, one in enumerate(children) if one is inner), 0)
    if index == 0 or type(container).__name__ != "Sequential":
        return None
    layer = children[index - 1]
    about = {"layer": type(layer).__name__, "next": type(inner).__name__, "container": type(container).__name__}
    found = _constructed(scene, layer)
    if found is None:
        return None
    source, call = found
    return span_fact(source, call, about["layer"], function=source.text(call.func), **about)


def _constructed(scene: Scene, layer: Any) -> tuple[Source, ast.Call] | None:
    """The call that built a layer: followed from its owner, else the only one of its class in the program's files."""
    found = construction(scene, layer)
    if found is not None:
        return found
    calls = calls_named(scene, type(layer).__name__)
    return calls[0] if len(calls) == 1 else None
