"""Names asked of a wrapper that only the object inside it has: a subset's classes, a loader's, a parallel model's."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.bindings import binding
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, attribute, fields_of, is_module, is_tensor, read

#: The attributes under which wrappers of torch hold what they wrap, and how many wrappers are gone into.
_INNER = ("dataset", "module", "_orig_mod", "datasets", "optimizer", "base_model", "model", "sampler", "loader")
_DEPTH = 3


@probe
def wrapped_name(scene: Scene) -> SpanFact | None:
    """`subset.classes`, where the object that the subset wraps has the name: a span with `detail`.

    `owner` is the wrapper's source, `wrapper` its class, `inner` the source of the object that has the name, `kind`
    that one's class, `name` the name, `new` what to write, `picked` whether it has an entry for each of a set.
    """
    frame, failing, name = scene.user_frame, scene.failing, scene.captures.get("name")
    if frame is None or failing is None or not isinstance(name, str):
        return None
    asked = [one for one in ast.walk(failing.node) if isinstance(one, ast.Attribute) and one.attr == name]
    owner = read(asked[0].value, frame.frame) if len(asked) == 1 else MISSING
    if owner is MISSING or not type(owner).__module__.startswith(("torch.", "torch_", "accelerate")):
        return None
    text = failing.source.text(asked[0].value)
    for inner, value in _inside(text, owner):
        if _has(value, name):
            new = _entries(owner, inner, text, name, attribute(value, name)) or f"{inner}.{name}"
            names = {"owner": text, "wrapper": type(owner).__name__, "inner": inner, "kind": type(value).__name__}
            picked = not new.endswith(f"{inner}.{name}")
            return span_fact(failing.source, asked[0], name, **names, name=name, new=new, picked=picked)
    return None


def _inside(text: str, owner: Any, deep: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """The objects that a wrapper holds, the outermost first, with the source that names each."""
    own = fields_of(owner)
    names = {*own, *(own.get("_modules") or ())} if is_module(owner) else set(own)
    held = [(name, attribute(owner, name)) for name in _INNER if name in names]
    for name, value in held:
        where, inner = f"{text}.{name}", value
        if type(value) in (list, tuple) and value:
            where, inner = f"{where}[0]", value[0]
        yield where, inner
    for name, value in held if deep else ():
        if type(value) not in (list, tuple):
            yield from _inside(f"{text}.{name}", value, deep - 1)


def _has(value: Any, name: str) -> bool:
    """Whether an object has a name, told without asking it."""
    own = fields_of(value)
    stores = [own, *(own.get(one) or {} for one in ("_modules", "_parameters", "_buffers") if is_module(value))]
    return any(name in store for store in stores) or any(name in vars(base) for base in type(value).__mro__)


def _entries(owner: Any, inner: str, text: str, name: str, value: Any) -> str:
    """The entries of a subset's own samples, of what has one entry for each sample of the whole set; else empty."""
    own = fields_of(owner)
    if type(owner).__name__ != "Subset" or inner != f"{text}.dataset":
        return ""
    indices, array = own.get("indices"), sys.modules.get("numpy") and type(value).__name__ == "ndarray"
    last = max(indices, default=0) if isinstance(indices, (list, range)) else 0
    if is_tensor(value) or array:
        return f"{inner}.{name}[{text}.indices]" if value.ndim and value.shape[0] > last else ""
    each = type(value) is list and len(value) > max(last, 1)
    return f"[{inner}.{name}[index] for index in {text}.indices]" if each else ""


@probe
def wrapped_at(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """Where a wrapper was made: the statement that bound its name."""
    failing = scene.failing
    if of is None or failing is None or scene.live is None:
        return None
    asked = [one for one in ast.walk(failing.node) if isinstance(one, ast.Attribute) and one.attr == of["name"]]
    bound = binding(scene, asked[0].value, len(scene.live.user) - 1) if len(asked) == 1 else None
    made = bound is not None and isinstance(bound.node, ast.Call) and not bound.looped
    return span_fact(bound.source, bound.node) if bound is not None and made else None
