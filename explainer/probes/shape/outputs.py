"""Where a model hands out what other parts of the program use too."""

from __future__ import annotations

import ast
from typing import Any

from explainer.facts import SpanFact, TensorFact
from explainer.probes import probe
from explainer.probes.files import sources
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import is_module, read
from explainer.source import Source, source_of


@probe
def shared_output(scene: Scene, of: TensorFact | None = None) -> SpanFact | None:
    """What the `forward` that made a tensor returns, where the program calls that model in several places.

    `detail`: `model` (its class) and `calls` (how many places). None where forward has more than one `return`.
    """
    frame, failing = scene.user_frame, scene.failing
    call = (
        _call(failing.source, frame, of.name) if of is not None and frame is not None and failing is not None else None
    )
    module = read(call.func, frame.frame) if call is not None and frame is not None else None
    if call is None or not is_module(module) or type(module).__module__.startswith("torch."):
        return None
    places = [node for source in sources(scene) for node in source.nodes() if _calls_alike(node, call)]
    returned = _returned(module)
    if returned is None or len(places) < 2:
        return None
    return span_fact(*returned, model=type(module).__name__, calls=len(places))


def _call(source: Source, frame: LiveFrame, name: str) -> ast.Call | None:
    """The call that gave a value: the expression itself, or what a name was last bound to."""
    bound = last_binding(source, frame, name) if name.isidentifier() else None
    node = getattr(bound, "value", None) if bound is not None else ast.parse(name, mode="eval").body
    return node if isinstance(node, ast.Call) else None


def _calls_alike(node: ast.AST, call: ast.Call) -> bool:
    """Whether a node calls what has the same name: `self.model(x)` and `model(x)` do."""
    last = lambda func: func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", None)  # noqa: E731
    return isinstance(node, ast.Call) and last(node.func) == last(call.func) is not None


def _returned(module: Any) -> tuple[Source, ast.expr] | None:
    code = getattr(getattr(type(module), "forward", None), "__code__", None)
    source = source_of(code.co_filename) if code is not None else None
    body = source.function_at(code.co_firstlineno) if source is not None and code is not None else None
    found = [one for one in ast.walk(body) if isinstance(one, ast.Return)] if body is not None else []
    return (source, found[0].value) if source is not None and len(found) == 1 and found[0].value is not None else None
