"""Attributes: the name that an object has in place of the one asked for, a tensor in the place of a parameter."""

from __future__ import annotations

import ast
import difflib
import sys
import types
from typing import Any

from explainer.bindings import assignments
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, fields_of, is_module, is_tensor, read
from explainer.userframes import is_user_file

#: How alike two names must be, and by how much the best must beat the next; from 0 to 1 as difflib counts.
ALIKE, AHEAD = 0.7, 0.05


@probe
def misspelled(scene: Scene) -> SpanFact | None:
    """`owner.name` in the failing line whose owner lacks the name and has one very like it, and no second one.

    `detail`: `name`, `alike`, `owner` (the expression), `kind` (the owner's class or module).
    """
    name, frame, failing = (scene.captures or {}).get("name"), scene.user_frame, scene.failing
    if frame is None or failing is None or not isinstance(name, str):
        return None
    source = failing.source
    found = [one for one in ast.walk(failing.node) if isinstance(one, ast.Attribute) and one.attr == name]
    if len(found) != 1:
        return None
    owner = read(found[0].value, frame.frame)
    alike = _alike(name, owner) if owner is not MISSING else None
    kind = owner.__name__ if isinstance(owner, types.ModuleType) else type(owner).__name__
    text = source.text(found[0].value)
    return span_fact(source, found[0], name=name, alike=alike, owner=text, kind=kind) if alike else None


def _alike(name: str, owner: Any) -> str | None:
    """The one public name of an object that is most like `name`; its own layers and attributes before torch's."""
    for names in (_own_names(owner), _public_names(owner)):
        ranked = sorted(((alike(name, one), one) for one in names), reverse=True)[:2]
        if ranked and ranked[0][0] >= ALIKE:
            second = ranked[1][0] if len(ranked) > 1 else 0.0
            return ranked[0][1] if ranked[0][0] - second >= AHEAD else None
    return None


def alike(one: str, other: str) -> float:
    """How alike two names are, from 0 to 1."""
    return difflib.SequenceMatcher(None, one.lower(), other.lower()).ratio()


def _own_names(owner: Any) -> set[str]:
    """What the user's code gave an object: attributes, layers, parameters and the methods of the user's classes."""
    if isinstance(owner, types.ModuleType):
        return set()
    fields = fields_of(owner)
    held = [fields, *(fields.get(one, {}) for one in ("_modules", "_parameters", "_buffers") if is_module(owner))]
    names = {name for one in held for name in one if isinstance(name, str)}
    for kind in type(owner).__mro__:
        names |= set(vars(kind)) if _users(kind) else set()
    return {name for name in names if not name.startswith("_") and name != "training"}


def _users(kind: type) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind.__module__ == "__main__" or (file is not None and is_user_file(file))


def _public_names(owner: Any) -> set[str]:
    names = vars(owner) if isinstance(owner, types.ModuleType) else dir(type(owner))
    return {name for name in names if not name.startswith("_")}


@probe
def named_at(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """Where the name that an object does have was given: `self.alike = ...` in the class of the owner."""
    if of is None or of["owner"] != "self":
        return None
    source = scene.source(of.span.file)
    found = assignments(source.tree, f"self.{of['alike']}") if source is not None else []
    return span_fact(source, found[0], function=source.qualified_at(found[0].lineno)) if source and found else None


@probe
def tensor_for_parameter(scene: Scene) -> SpanFact | None:
    """The tensor that a statement assigns to a module's parameter. `detail`: `fixed`, it as a parameter; its `target`.

    A value that was computed with a graph is none: as a parameter it would lose it.
    """
    frame, failing = scene.user_frame, scene.failing
    stated = failing.source.statement_at(frame.line) if frame is not None and failing is not None else None
    if frame is None or failing is None or not isinstance(stated, ast.Assign) or len(stated.targets) != 1:
        return None
    value = read(stated.value, frame.frame)
    if is_tensor(value) and (value.grad_fn is not None or not value.is_floating_point()):
        return None
    text, target = failing.source.text(stated.value), failing.source.text(stated.targets[0])
    made = "nn.Parameter" if "nn" in failing.source.imported else "torch.nn.Parameter"
    return span_fact(failing.source, stated.value, target=target, fixed=f"{made}({text})")
