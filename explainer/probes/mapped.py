"""A function run for a whole stack at once by `vmap`: what it writes to, or keeps, is there once for all of it."""

from __future__ import annotations

import ast
import math
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.built import construction
from explainer.probes.files import calls_named
from explainer.probes.module import below_user, root_module
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_tensor
from explainer.source import called

#: Factories that a tensor has as a method, too, which makes one for each of the stack.
_LIKE = {"zeros": "new_zeros", "ones": "new_ones", "empty": "new_empty", "full": "new_full"}


@probe
def made_for_one(scene: Scene) -> SpanFact | None:
    """The factory call that made what the failing statement writes to, in a mapped function.

    `detail`: `name`, what is written to; `like`, a parameter of the function that is mapped; `to`, the same call as a
    method of that.
    """
    frame, failing = scene.user_frame, scene.failing
    target = _written(failing.source.statement_at(frame.line)) if frame is not None and failing is not None else None
    if frame is None or failing is None or target is None:
        return None
    bound = last_binding(failing.source, frame, target)
    made = bound.value if isinstance(bound, ast.Assign) and len(bound.targets) == 1 else None
    if not isinstance(made, ast.Call) or called(made) not in _LIKE or failing.source.text(made.func)[:6] != "torch.":
        return None
    function = failing.source.function_at(frame.line)
    given = [one.arg for one in function.args.args] if isinstance(function, ast.FunctionDef) else []
    like = next((one for one in given if _mapped(frame.locals.get(one))), None)
    if like is None:
        return None
    text = failing.source.text(made)
    to = f"{like}.{_LIKE[called(made)]}{text[len(failing.source.text(made.func)) :]}"
    return span_fact(failing.source, made, target, name=target, like=like, to=to)


@probe
def mapping_call(scene: Scene) -> SpanFact | None:
    """The one call of `vmap` in the program that says nothing of how random numbers are drawn. `detail`: its `name`."""
    found = [(source, call) for source, call in calls_named(scene, "vmap")
             if not any(word.arg == "randomness" for word in call.keywords)]  # fmt: skip
    return span_fact(*found[0], name=found[0][0].text(found[0][1].func)) if len(found) == 1 else None


@probe
def batch_norms(scene: Scene) -> tuple[SpanFact, ...] | None:
    """The calls that build the batch normalisations of a model which is mapped, the failing one's first.

    `detail`: `groups`, into how many groups the channels of all of them can be divided, 4 at most.
    """
    found = below_user(scene)
    failing, root = (found[-1].module if found else None), root_module(scene)
    if not type(failing).__name__.startswith("BatchNorm") or root is None:
        return None
    layers = [one for one in root.modules() if type(one).__name__.startswith("BatchNorm")]
    groups = math.gcd(4, *(fields_of(one)["num_features"] for one in layers))
    ordered = sorted(layers, key=lambda one: one is not failing)
    built = [made for one in ordered if (made := construction(scene, one)) is not None]
    if len(built) < len(layers):  # some are made in a helper that several layers come from
        built += calls_named(scene, *{type(one).__name__ for one in layers})
    calls = {(source.file, node.lineno, node.col_offset): (source, node) for source, node in built}
    return tuple(span_fact(source, node, groups=groups) for source, node in calls.values()) or None


def _written(statement: ast.stmt | None) -> str | None:
    """The name whose entries a statement writes, or which it changes in place."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    target = targets[0]
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


def _mapped(value: Any) -> bool:
    """Whether a tensor stands for a stack of them."""
    import torch

    asked = getattr(getattr(torch._C, "_functorch", None), "is_batchedtensor", None)
    while asked is not None and is_tensor(value):
        if asked(value):
            return True
        inner = _unwrapped(value)
        if inner is value:
            return False
        value = inner
    return False


def _unwrapped(value: Any) -> Any:
    """What `grad` inside of `vmap` has wrapped once more."""
    import torch

    functorch = torch._C._functorch
    return functorch.get_unwrapped(value) if functorch.is_gradtrackingtensor(value) else value
