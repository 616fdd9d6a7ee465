"""Custom autograd Functions as their source shows them: what `backward` returns for which input of `forward`."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from explainer.bindings import assignments, sets
from explainer.edits.place import PRIMARY
from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.autograd.graph import backward_argument
from explainer.probes.files import named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called

#: How many nodes of a graph are looked at for the one that a message names.
_MOST_NODES = 20_000


@frozen
class Custom:
    """A class of the user's that derives from `torch.autograd.Function`, and its two methods."""

    source: Source
    owner: ast.ClassDef
    forward: ast.FunctionDef | None
    backward: ast.FunctionDef

    @property
    def inputs(self) -> list[str]:
        """The names of forward's inputs, without `ctx`."""
        names = [one.arg for one in self.forward.args.args] if self.forward is not None else []
        apart = any(getattr(one, "name", "") == "setup_context" for one in self.owner.body)
        return names if apart else names[1:]

    def returned(self, count: Any) -> ast.Return | None:
        """The return of backward; of several the one that gives `count` gradients."""
        found = [one for one in ast.walk(self.backward) if isinstance(one, ast.Return)]
        if len(found) > 1:
            found = [one for one in found if str(len(elements(one.value))) == str(count)]
        return found[0] if len(found) == 1 and found[0].value is not None else None


def elements(node: ast.AST | None) -> list[ast.expr]:
    """The values that a return gives: of a tuple each of them."""
    if isinstance(node, ast.Tuple):
        return node.elts
    return [node] if isinstance(node, ast.expr) else []


def custom(scene: Scene) -> Custom | None:
    """The custom Function that the message names."""
    name = str(scene.captures.get("node") or "").removesuffix("Backward")
    for source, owner in named(scene, ast.ClassDef, name):
        methods = {one.name: one for one in owner.body if isinstance(one, ast.FunctionDef)}
        if "backward" in methods:
            return Custom(source, owner, methods.get("forward"), methods["backward"])
    return None


@probe
def function_return(scene: Scene) -> SpanFact | None:
    """What a custom Function's backward returns; `detail`: its class `owner`, forward's `inputs`, the `line`."""
    found = custom(scene)
    node = found.returned(scene.captures.get("got")) if found is not None else None
    if found is None or node is None or node.value is None:
        return None
    return span_fact(found.source, node.value, owner=found.owner.name, inputs=tuple(found.inputs), line=node.lineno)


@probe
def function_gradient(scene: Scene) -> SpanFact | None:
    """The expression that gave a custom Function's input a gradient of another shape.

    `detail`: `owner` (the class), `input` (forward's name for it), `how` the shapes differ (summed, transposed,
    reshaped, expanded or other), `fixed` (the expression as it should read; empty where that is not known), `dims`
    (over which to sum), `keep` (what forward has to keep for that; empty where nothing is missing).
    """
    found = _returned_wrong(scene)
    if found is None:
        return None
    function, given, position = found
    source, name = function.source, function.inputs[position]
    value = _bound(function, given[position]) or given[position]
    shape, keep = _shape_of(function, name)
    mended = _summed_too_far(source, value, scene.captures, shape)
    mended = mended or _mended(_primary(source, value), scene.captures, shape)
    detail = {**mended, "keep": keep if shape in mended["fixed"] else ""}
    return span_fact(source, value, owner=function.owner.name, input=name, name=source.text(given[position]), **detail)


@probe
def exchanged_gradients(scene: Scene) -> SpanFact | None:
    """What backward returns where a gradient has the shape of another input, which is named in its own text.

    `detail`: `owner` (the class), `input` and `other` (forward's names), `fixed` (the two exchanged).
    """
    found = _returned_wrong(scene)
    node = scene.once("graph node", lambda: _node(scene))
    if found is None or node is None:
        return None
    function, given, position = found
    source, names, whole = function.source, function.inputs, function.returned(len(given))
    for other in range(len(given)):
        if other != position and names[other] in source.text(given[position]).split("_"):
            texts = [source.text(one) for one in given]
            texts[position], texts[other] = texts[other], texts[position]
            detail = {"input": names[position], "other": names[other], "fixed": ", ".join(texts)}
            return span_fact(source, whole.value, owner=function.owner.name, **detail)  # type: ignore
    return None


@probe
def misplaced_gradient(scene: Scene) -> SpanFact | None:
    """What backward returns where it has a gradient in the place of an input that is no tensor.

    `detail`: `owner` (the class), `input` (forward's name for it), `fixed` (with None there; another None of the
    return gives way to the gradient).
    """
    function, position = custom(scene), int(scene.captures["position"]) - 1
    node = function.returned(len(function.inputs)) if function is not None else None
    if function is None or node is None or node.value is None or not position < len(elements(node.value)):
        return None
    texts = [function.source.text(one) for one in elements(node.value)]
    others = [at for at, text in enumerate(texts) if text == "None"]
    if others:
        texts.insert(position, texts.pop(min(others, key=lambda at: abs(at - position))))
    else:
        texts[position] = "None"
    detail = {"input": function.inputs[position], "fixed": ", ".join(texts)}
    return span_fact(function.source, node.value, owner=function.owner.name, **detail)


@probe
def forward_start(scene: Scene) -> SpanFact | None:
    """The first statement of the forward of the custom Function that the message names, its docstring left out."""
    function = custom(scene)
    body = function.forward.body if function is not None and function.forward is not None else []
    plain = [one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    return span_fact(function.source, plain[0]) if function is not None and plain else None


def _returned_wrong(scene: Scene) -> tuple[Custom, list[ast.expr], int] | None:
    """The Function, what its backward returns, and which of it has the shape that torch refused."""
    function = custom(scene)
    node = function.returned(len(function.inputs)) if function is not None else None
    if function is None or node is None:
        return None
    given = elements(node.value)
    position = _position(scene, function, given)
    fits = position is not None and position < len(given) == len(function.inputs)
    return (function, given, position) if fits and position is not None else None


def _position(scene: Scene, function: Custom, given: Sequence[ast.expr]) -> int | None:
    """Which returned value the message means: it counts the inputs that are tensors."""
    index = int(scene.captures["index"])
    node = scene.once("graph node", lambda: _node(scene))
    kept = {part for save in _saves(function) for part in save}
    some = [at for at, one in enumerate(given) if not (isinstance(one, ast.Constant) and one.value is None)]
    tensors = sorted({*some, *(at for at, name in enumerate(function.inputs) if name in kept and at < len(given))})
    count = len(node.next_functions) if node is not None else len(tensors)
    for places in (list(range(len(given))), some, tensors):
        if len(places) == count and index < count:
            return places[index]
    return None


def _node(scene: Scene) -> Any:
    """The node of the graph that the message names."""
    root = getattr(backward_argument(scene), "grad_fn", None)
    waiting = [root]
    seen: set[Any] = set()
    while waiting and len(seen) < _MOST_NODES:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name() == scene.captures["node"]:
            return node
        waiting += [one for one, _ in node.next_functions]
    return None


def _saves(function: Custom) -> Iterator[list[str]]:
    """What each call of `save_for_backward` is given, by its source."""
    for node in ast.walk(function.owner):
        if isinstance(node, ast.Call) and called(node) == "save_for_backward":
            yield [function.source.text(one) for one in node.args]


def _bound(function: Custom, element: ast.expr) -> ast.expr | None:
    """The one expression other than None that a returned name is bound to in backward, and that nothing else reads."""
    if not isinstance(element, ast.Name):
        return None
    nodes = list(ast.walk(function.backward))
    changed = any(isinstance(one, ast.AugAssign) and sets(one, element.id) for one in nodes)
    if changed or sum(_reads(one, element.id) for one in nodes) != 1:
        return None
    values = [one.value for one in assignments(function.backward, element.id)]
    plain = [one for one in values if not isinstance(one, ast.Constant)]
    return plain[0] if len(plain) == 1 else None


def _reads(node: ast.AST, name: str | None) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _shape_of(function: Custom, name: str) -> tuple[str, str]:
    """How backward can name the shape of an input, and the statement that forward needs for it, if any."""
    source = function.source
    for node in ast.walk(function.backward):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if target is None or "saved_tensors" not in source.text(node.value):  # type: ignore[attr-defined]
            continue
        for saved in _saves(function):
            names = elements(target)
            if name in saved and len(names) == len(saved):
                return f"{source.text(names[saved.index(name)])}.shape", ""
    for node in ast.walk(function.owner):
        text = source.text(node.value) if isinstance(node, ast.Assign) else ""
        if text in (f"{name}.shape", f"{name}.size()") and isinstance(node.targets[0], ast.Attribute):  # type: ignore
            return source.text(node.targets[0]), ""  # type: ignore[attr-defined]
    return f"ctx.{name}_shape", f"ctx.{name}_shape = {name}.shape"


def _primary(source: Source, node: ast.expr) -> str:
    text = source.text(node)
    return text if isinstance(node, PRIMARY) else f"({text})"


def _mended(text: str, captures: Any, shape: str) -> dict[str, Any]:
    """How a gradient's shape differs from its input's, and the expression that gives it the input's."""
    got, want = _sizes(captures["got"]), _sizes(captures["want"])
    how, fixed = "other", ""
    dims: tuple[int, ...] = ()
    if got is None or want is None:
        return {"how": how, "dims": dims, "fixed": fixed}
    if sorted(got) == sorted(want) and len(got) > 1:
        how, fixed = "transposed", f"{text}{_turned(got, want)}"
    elif math.prod(got) == math.prod(want):
        how, fixed = "reshaped", f"{text}.reshape({shape})"
    elif _left_out(want, got):
        how, dims = "summed", _left_out(want, got)
        fixed = f"{text}.sum(dim={dims if len(dims) > 1 else dims[0]})"
    elif len(want) == len(got) and _spread(want, got):
        how, dims = "summed", tuple(at for at, size in enumerate(want) if size != got[at])
        fixed = f"{text}.sum(dim={dims if len(dims) > 1 else dims[0]}, keepdim=True)"
    elif len(want) == len(got) and _spread(got, want):
        how, fixed = "expanded", f"{text}.expand({shape})"
    elif _left_out(got, want):
        how, added = "expanded", "".join(f".unsqueeze({at})" for at in _left_out(got, want))
        fixed = f"{text}{added}.expand({shape})"
    return {"how": how, "dims": dims, "fixed": fixed}


def _summed_too_far(source: Source, value: ast.AST, captures: Any, shape: str) -> dict[str, Any] | None:
    """A sum over everything where an input has several values: each gets what it was spread over, not the whole sum."""
    want = _sizes(captures.get("want"))
    for node in ast.walk(value):
        method = node.func if isinstance(node, ast.Call) and not node.args and not node.keywords else None
        if want and _sizes(captures.get("got")) == [] and isinstance(method, ast.Attribute) and method.attr == "sum":
            summed = f"{_primary(source, method.value)}.sum_to_size({shape})"
            fixed = source.text(value).replace(source.text(node), summed, 1)
            return {"how": "summed", "dims": tuple(at for at, size in enumerate(want) if size == 1), "fixed": fixed}
    return None


def _sizes(text: Any) -> list[int] | None:
    """`[24, 16]` as a list; None for what is no shape."""
    plain = re.fullmatch(r"\[([\d, ]*)\]", str(text))
    return [int(one) for one in re.findall(r"\d+", plain[1])] if plain else None


def _spread(small: list[int], large: list[int]) -> bool:
    return small != large and all(size in (1, other) for size, other in zip(small, large, strict=True))


def _left_out(small: list[int], large: list[int]) -> tuple[int, ...]:
    """The dimensions of the larger shape that leave the smaller one; of several ways the one nearest to channels."""
    ways = [one for one in itertools.combinations(range(len(large)), len(small)) if [large[at] for at in one] == small]
    if not ways or len(small) >= len(large):
        return ()
    channels = next((one for one in ways if one == (1,) and len(large) > 2), ways[0])
    return tuple(at for at in range(len(large)) if at not in channels)


def _turned(got: list[int], want: list[int]) -> str:
    """The call that brings dimensions into the wanted order."""
    apart = [at for at, size in enumerate(want) if size != got[at]]
    if len(want) == 2:
        return ".t()"
    if len(apart) == 2:
        return f".transpose({apart[0]}, {apart[1]})"
    order: list[int] = []
    for size in want:
        order.append(next(at for at, one in enumerate(got) if one == size and at not in order))
    return f".permute({', '.join(map(str, order))})"
