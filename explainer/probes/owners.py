"""The modules of a model, their parameters, and the line that gave one of them an attribute."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from explainer.bindings import sets
from explainer.facts import SpanFact
from explainer.probes.module import module_calls
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_module, is_optimizer, is_tensor
from explainer.source import called, source_of

#: Methods that give a tensor, or a module, on another device.
MOVES = ("to", "cuda", "cpu")


def parameters_of(module: Any) -> Iterator[Any]:
    """A module's parameters, registered ones only, without running its code."""
    stack, seen = [module], set()
    while stack:
        one = stack.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        own = fields_of(one)
        yield from (p for p in (own.get("_parameters") or {}).values() if p is not None)
        stack += list((own.get("_modules") or {}).values())


def owners(root: Any, scene: Scene) -> Iterator[tuple[Any, str]]:
    """All modules below the root and on the stack, torch's own left out, each with its path."""
    stack = [(root, "")] + [(called.module, "") for called in module_calls(scene)]
    seen = set()
    while stack:
        one, path = stack.pop(0)
        if id(one) in seen or one is None:
            continue
        seen.add(id(one))
        children = fields_of(one).get("_modules") or {}
        stack += [(child, f"{path}.{name}" if path else name) for name, child in children.items()]
        if not type(one).__module__.startswith("torch."):
            yield one, path


def plain_tensors(root: Any, scene: Scene, chosen: Callable[[Any], bool]) -> tuple[SpanFact, ...] | None:
    """The `self.name = tensor` of the modules below a root whose tensor is chosen and needs no gradient.

    Each is the only assignment of its name; None for fewer than two.
    """
    found = [
        assignment(owner, name, "attribute", path)
        for owner, path in owners(root, scene)
        for name, value in fields_of(owner).items()
        if is_tensor(value) and not value.requires_grad and chosen(value)
    ]
    every = tuple({one.span: one for one in found if one is not None and one.detail["times"] == 1}.values())
    return every if len(every) > 1 else None


def how_held(value: Any, thing: Any) -> str:
    """How a plain attribute holds a tensor or module: itself, or in a list or dict; empty where it does not."""
    if value is thing:
        return "attribute"
    held = (item is thing or (is_module(item) and is_module(thing) and _contains(item, thing)) for item in items(value))
    return "container" if any(held) else ""


def items(value: Any, deep: int = 3) -> Iterator[Any]:
    """What a list, tuple or dict holds, and those in it."""
    own = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    for item in own:
        yield item
        yield from items(item, deep - 1) if deep else ()


def _contains(module: Any, thing: Any) -> bool:
    stack = [module]
    while stack:
        one = stack.pop()
        if one is thing:
            return True
        stack += [child for child in (fields_of(one).get("_modules") or {}).values() if child is not None]
    return False


def assignment(owner: Any, name: str, kind: str, path: str) -> SpanFact | None:
    """The only `self.<name> = ...` in the class of an owner."""
    for base in type(owner).__mro__:
        code = getattr(base.__dict__.get("__init__"), "__code__", None)
        if code is None or base.__module__.startswith("torch."):
            continue
        source = source_of(code.co_filename)
        home = source.class_at(code.co_firstlineno)
        every: list[Any] = [node for node in ast.walk(home) if sets_attribute(node, name)] if home else []
        found = [node for node in every if not moves_itself(node, name)]
        if found:
            node = found[0]
            return span_fact(
                source, node, f"self.{name}", kind=kind, owner=base.__name__, attribute=name, path=path,
                value=source.text(node.value), times=len(found),
            )  # fmt: skip
    return None


def sets_attribute(node: ast.AST, name: str) -> bool:
    plain = isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
    return plain and sets(node, f"self.{name}")


def moves_itself(node: ast.AST, name: str) -> bool:
    """Whether a statement puts an attribute on a device, no more: `self.x = self.x.to(device)`."""
    call = node.value if isinstance(node, ast.Assign) else None
    moved = isinstance(call, ast.Call) and called(call) in MOVES and isinstance(call.func, ast.Attribute)
    return moved and ast.unparse(call.func.value) == f"self.{name}"  # type: ignore[union-attr]


def optimizers(scene: Scene) -> Iterator[Any]:
    """The optimizers that the user's frames name, or hold in `self`, innermost frame first."""
    seen = set()
    for frame in reversed(scene.live.user if scene.live else []):
        for value in (*frame.locals.values(), *fields_of(frame.locals.get("self")).values()):
            if is_optimizer(value) and id(value) not in seen:
                seen.add(id(value))
                yield value
