"""Where an operand got its dtype: followed back through names, arguments and calls, by what the names hold."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import ModuleFact, SpanFact, TensorFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.autograd.cuts import receiver
from explainer.probes.dtype.conversions import converts, makes
from explainer.probes.files import nodes_of
from explainer.probes.follow import Trait, followed
from explainer.probes.module import path_of
from explainer.probes.origin import last_binding
from explainer.probes.owners import parameters_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.tensor import tensor_fact
from explainer.probes.values import is_module, is_tensor, read
from explainer.source import Source, called

#: Dtypes as torch's messages name them.
_MESSAGE_NAMES = {"Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32",
                  "Float": "float32"}  # fmt: skip

#: Where values of numpy or of Python become a tensor, of their own dtype unless one is asked for.
_FRACTIONS = Pattern(r"\b(rand|randn|rand_like|randn_like|linspace|uniform|normal)\(|[^/]/[^/]")
_FROM_NUMPY = ("torch.from_numpy", "torch.as_tensor", "torch.asarray", "torch.tensor", "torch.frombuffer")


@probe
def entered(scene: Scene, of: TensorFact | None = None) -> SpanFact | None:
    """The expression in which a value took on the dtype that the operand `of` has; None where it cannot be followed.

    `detail`: `converts` tells whether it is a method call that does nothing else (`x.half()`), `function` the function
    that it stands in, `fractions` whether its values are drawn or divided, so that whole numbers come later. None,
    too, for the operand itself: then there is no better place.
    """
    found = followed(scene, of, Dtype(of.dtype)) if of is not None else None
    if of is None or found is None:
        return None
    function = found.source.qualified_at(found.node.lineno)  # type: ignore[attr-defined]
    fractions = _FRACTIONS.search(found.source.text(found.node)) is not None
    about: dict[str, Any] = {"converts": _is_conversion(found.node, of.dtype), "function": function}
    return span_fact(found.source, found.node, fractions=fractions, **about)


@probe
def behind_loss(scene: Scene) -> TensorFact | None:
    """The one tensor of the dtype that the message found in `backward` (Double) among those that its value was made of.

    Looked for in the function that calls `backward`, through the names that the value was computed from.
    """
    frame, failing, found = scene.user_frame, scene.failing, receiver(scene)
    wanted = _MESSAGE_NAMES.get(str((scene.captures or {}).get("found")))
    if frame is None or failing is None or found is None or wanted is None:
        return None
    source, waiting, odd = failing.source, [found.text], {}
    seen = set(waiting)
    for name in waiting:
        bound = last_binding(source, frame, name)
        for node in ast.walk(bound.value) if isinstance(bound, ast.Assign) else ():
            value = read(node, frame.frame) if isinstance(node, (ast.Name, ast.Attribute)) else None
            text = source.text(node)
            if is_tensor(value) and _short(value) == wanted and value.grad_fn is None:
                odd[text] = tensor_fact(text, value, source.span(node))
            elif is_tensor(value) and text not in seen:
                seen.add(text)
                waiting.append(text)
    return next(iter(odd.values())) if len(odd) == 1 else None


@probe
def converted_layer(scene: Scene, of: ModuleFact | None = None) -> SpanFact | None:
    """The one call that took a layer's weights away from float32: `nn.Linear(8, 4).double()`, `net.half()`."""
    if of is None or of.dtype in (None, "float32"):
        return None
    found = [
        (source, node)
        for source, node in nodes_of(scene, ast.Call)
        if converts(node) == of.dtype and _holds(scene, source, node, of)
    ]
    return span_fact(*found[0]) if len(found) == 1 else None


def _holds(scene: Scene, source: Source, node: ast.Call, layer: ModuleFact) -> bool:
    """Whether what a call converts is the layer (built right there) or a module that holds it."""
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    module = scene.objects.get(layer.name)
    if isinstance(receiver, ast.Call):
        statement = source.statement_at(node.lineno)
        targets = [ast.unparse(one) for one in statement.targets] if isinstance(statement, ast.Assign) else []
        elsewhere = any(one.startswith("self.") and one[5:] != layer.name.split("[")[0] for one in targets)
        return called(receiver) == layer.type and not elsewhere
    values = [read(receiver, frame.frame) for frame in scene.live.user] if receiver is not None and scene.live else []
    return any(is_module(one) and path_of(module, one) is not None for one in values)


def _is_conversion(node: ast.AST, dtype: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and converts(node) == dtype


class Dtype(Trait):
    """A dtype that is not the one wanted."""

    def __init__(self, wanted: str):
        self.wanted = wanted

    def of(self, value: Any) -> str | None:
        return _short(value) if is_tensor(value) else None

    def of_expression(self, node: ast.AST) -> str | None:
        return converts(node) or makes(node)

    def enters(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and ast.unparse(node.func) in _FROM_NUMPY

    def asked(self, node: ast.AST) -> bool:
        return converts(node) == self.wanted

    def of_layer(self, layer: Any) -> str | None:
        dtypes = [_short(one) for one in parameters_of(layer)]
        return self.wanted if self.wanted in dtypes else next(iter(dtypes), None)


def _short(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")
