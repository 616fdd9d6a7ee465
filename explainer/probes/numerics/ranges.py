"""Values that must lie in a range: scales of distributions, probabilities of losses, spreads that reach zero."""

from __future__ import annotations

import ast
from typing import Any

from explainer.edits.kinds.arguments import argument_node
from explainer.edits.place import Place
from explainer.facts import NanFact, SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.files import calls_named
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import readable
from explainer.source import called

_PARAMETERS = {
    "Normal": ("loc", "scale"), "LogNormal": ("loc", "scale"), "Laplace": ("loc", "scale"), "Cauchy": ("loc", "scale"),
    "Gamma": ("concentration", "rate"), "Beta": ("concentration1", "concentration0"), "Poisson": ("rate",),
    "Exponential": ("rate",), "Gumbel": ("loc", "scale"), "StudentT": ("df", "loc", "scale"),
    "HalfNormal": ("scale",), "HalfCauchy": ("scale",), "Dirichlet": ("concentration",),
}  # fmt: skip


@probe
def not_positive(scene: Scene) -> SpanFact | None:
    """The argument of a distribution that must be positive and has finite values which are not.

    `detail`: the `parameter`, the distribution's name `kind`, how many values are not positive (`count` of `of`), and
    `inner`, what it is without a ReLU around it.
    """
    frame, failing = _frame(scene, "__init__", "torch/distributions/distribution.py"), scene.failing
    call = call_node(failing.node) if failing is not None else None
    kind, name = str(scene.captures.get("dist")), str(scene.captures.get("name"))
    if frame is None or failing is None or not isinstance(call, ast.Call) or called(call) != kind:
        return None
    value: Any = frame.locals.get("value")
    given = argument_node(Place(failing.source, call), name, _PARAMETERS.get(kind, ()))
    if given is None or not _readable(value) or not bool(value.isfinite().all()):
        return None
    count = int((value <= 0).sum())
    if not count:
        return None
    inner = failing.source.text(_without_relu(given))
    return span_fact(failing.source, given, parameter=name, kind=kind, count=count, of=value.numel(), inner=inner)


@probe
def logits_as_probabilities(scene: Scene) -> SpanFact | None:
    """The call of a distribution whose first argument, or `probs`, has negative values in the place of probabilities.

    `detail`: the distribution's `kind`, what it was `given`, how many values are negative (`count` of `of`), and
    `fixed`, the call with `logits`.
    """
    frame, failing = _frame(scene, "__init__", "torch/distributions/distribution.py"), scene.failing
    call = call_node(failing.node) if failing is not None else None
    if frame is None or failing is None or not isinstance(call, ast.Call) or scene.captures.get("name") != "probs":
        return None
    value: Any = frame.locals.get("value")
    kind = type(frame.locals.get("self")).__name__
    words = [one for one in call.keywords if one.arg == "probs"]
    given = words[0] if words else call.args[0] if len(call.args) == 1 else None
    if given is None or called(call) != kind or not _readable(value) or not bool(value.isfinite().all()):
        return None
    count = int((value < 0).sum())
    inner = failing.source.text(words[0].value if words else call.args[0])
    rest = [failing.source.text(one) for one in call.keywords if one.arg != "probs"]
    fixed = f"{failing.source.text(call.func)}({', '.join([f'logits={inner}', *rest])})"
    about = {"kind": kind, "given": inner, "fixed": fixed, "count": count, "of": value.numel()}
    return span_fact(failing.source, call, **about) if count else None


def _without_relu(node: ast.expr) -> ast.expr:
    """`x` of `relu(x)`, `F.relu(x)` and `x.relu()`; else the expression itself."""
    if not isinstance(node, ast.Call) or called(node) != "relu":
        return node
    return node.args[0] if node.args else getattr(node.func, "value", node)


def _frame(scene: Scene, function: str, file: str) -> LiveFrame | None:
    frames = [one for one in (scene.live.frames if scene.live else []) if one.frame.f_code.co_name == function]
    return next((one for one in reversed(frames) if one.file.replace("\\", "/").endswith(file)), None)


def _readable(value: Any) -> bool:
    return readable(value) and value.is_floating_point()


@probe
def logits_loss(scene: Scene) -> SpanFact | None:
    """The one `BCELoss` or `binary_cross_entropy` of the user's code, where it got values outside 0..1 and no nan.

    `detail`: `to`, the function or class that takes such values; `count` of `of` values are outside.
    """
    frame = _frame(scene, "binary_cross_entropy", "torch/nn/functional.py")
    value: Any = frame.locals.get("input") if frame is not None else None
    if not _readable(value) or bool(value.isnan().any()):
        return None
    count = int(((value < 0) | (value > 1)).sum())
    known = {"BCELoss": "BCEWithLogitsLoss", "binary_cross_entropy": "binary_cross_entropy_with_logits"}
    found = calls_named(scene, *known)
    if len(found) != 1 or not count:
        return None
    source, call = found[0]
    head = source.text(call.func).removesuffix(called(call))
    return span_fact(source, call, to=head + known[called(call)], count=count, of=value.numel())


@probe
def as_variance(scene: Scene, of: NanFact | None = None) -> SpanFact | None:
    """A standard deviation; `detail.to`: the root of a variance that stays above zero, also of a single value."""
    source = scene.source(of.span.file) if of is not None else None
    if of is None or source is None or of.operator != "std":
        return None
    calls = (node for node in source.nodes() if isinstance(node, ast.Call) and called(node) == "std")
    call = next((node for node in calls if node.lineno == of.span.line), None)
    if call is None or not isinstance(call.func, ast.Attribute):
        return None
    given = [source.text(part) for part in (*call.args, *call.keywords)]
    biased = any(part.arg in ("unbiased", "correction") for part in call.keywords)
    single = "" if biased else "unbiased=False"
    arguments = ", ".join([*given, *filter(None, [single])])
    return span_fact(source, call, to=f"({source.text(call.func.value)}.var({arguments}) + 1e-8).sqrt()")
