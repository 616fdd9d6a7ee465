"""Tensors that autograd cannot use: made in inference mode, or kept by a model that is to be copied."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.bindings import assignments
from explainer.facts import SpanFact
from explainer.patterns import Pattern
from explainer.probes import probe
from explainer.probes.autograd.cuts import UNRECORDED
from explainer.probes.call import call_node
from explainer.probes.files import named, nodes_of
from explainer.probes.origin import last_binding
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_module, is_tensor, read
from explainer.source import Source, as_attributes, called, stored

_MODE = Pattern(r"\binference_mode\b")


@probe
def inference_block(scene: Scene) -> SpanFact | None:
    """The `@torch.inference_mode()` or `with` block that made a tensor which autograd is to use.

    Of several the one whose function is called, or whose block assigns, what an inference tensor of the frames is
    bound to; None where that does not tell. `detail`: `function`, where that is, as `Class.method`.
    """
    found = list(_modes(scene))
    if len(found) > 1:
        names = set(_makers(scene))
        found = [one for one in found if one[2] & names]
    if len(found) != 1:
        return None
    source, node, _ = found[0]
    decorated = [one for one in source.nodes() if node in getattr(one, "decorator_list", ())]
    line = decorated[0].lineno if decorated else node.lineno  # type: ignore[attr-defined]
    return span_fact(source, node.func if isinstance(node, ast.Call) else node, function=source.qualified_at(line))


def _modes(scene: Scene) -> Iterator[tuple[Source, ast.expr, set[str]]]:
    """Where inference mode is switched on, with the names that lead there: of the function, or bound in the block."""
    for source, node in nodes_of(scene, ast.AST):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from ((source, one, {node.name}) for one in node.decorator_list if _MODE.search(source.text(one)))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            function = source.function_at(node.lineno)
            names = stored(node)
            names |= {function.name} if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else set()
            modes = (item.context_expr for item in node.items)
            yield from ((source, one, names) for one in modes if _MODE.search(source.text(one)))


def _makers(scene: Scene) -> Iterator[str]:
    """The names of inference tensors in the user's frames, and what their bindings call."""
    for frame in scene.live.user if scene.live is not None else ():
        source = scene.source(frame.file)
        for name, value in frame.locals.items():
            if source is None or not is_tensor(value) or not value.is_inference():
                continue
            yield name
            bound = last_binding(source, frame, name)
            yield from (called(one) for one in ast.walk(bound) if isinstance(one, ast.Call)) if bound else ()


@probe
def kept_result(scene: Scene) -> SpanFact | None:
    """The value that a module of a copied object keeps in an attribute, a result of recorded operations.

    `detail`: `attribute`, `owner` (the class), `reach` (the attribute as the copying statement can name it), `trained`
    (whether something else than the function that stores it may train with it).
    """
    failing, frame = scene.failing, scene.user_frame
    call = call_node(failing.node) if failing is not None else None
    if frame is None or not isinstance(call, ast.Call) or not call.args:
        return None
    value = read(call.args[0], frame.frame)
    owners = list(value.named_modules()) if is_module(value) else [("", value)]
    for path, owner in owners:
        for name, held in fields_of(owner).items():
            if is_tensor(held) and held.grad_fn is not None:
                found = _stored(scene, type(owner).__name__, name)
                if found is not None:
                    reach = _reach(failing.source.text(call.args[0]), path) + f".{name}"  # type: ignore[union-attr]
                    trained = _trained(scene, *found, name)
                    return span_fact(*found, attribute=name, owner=type(owner).__name__, reach=reach, trained=trained)
    return None


def _reach(copied: str, path: str) -> str:
    return copied + as_attributes(path)


def _trained(scene: Scene, source: Source, value: ast.AST, attribute: str) -> bool:
    """Whether an attribute is read elsewhere than where it is stored, and a loss may be made of it there."""
    own = source.function_at(value.lineno)  # type: ignore[attr-defined]
    for home, one in nodes_of(scene, ast.Attribute):
        elsewhere = home is not source or home.function_at(one.lineno) is not own
        if one.attr == attribute and isinstance(one.ctx, ast.Load) and elsewhere and _may_train(scene, home, one):
            return True
    return False


def _may_train(scene: Scene, source: Source, node: ast.expr, deep: int = 2) -> bool:
    """Whether a place is none where nothing is recorded, nor one behind the loop that goes backward.

    Of a place in a function that goes backward nowhere, the places decide where that function is called by its name.
    """
    around: list[ast.AST] = []
    above = source.parent_of(node)
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.Module)):
        around.append(above)
        above = source.parent_of(above)
    unrecorded = [item.context_expr for one in around if isinstance(one, ast.With) for item in one.items]
    if any(UNRECORDED.search(source.text(one)) for one in [*unrecorded, *getattr(above, "decorator_list", ())]):
        return False
    goes_back = lambda tree: any(called(one) == "backward" for one in ast.walk(tree) if isinstance(one, ast.Call))  # noqa: E731
    loops = [one for one in around if isinstance(one, (ast.For, ast.While))]
    if any(map(goes_back, loops)) or above is None:
        return True
    name = getattr(above, "name", "")
    asked = [(home, one) for home, one in nodes_of(scene, ast.Call) if name and called(one) == name]
    if asked and deep and not goes_back(above):
        return any(_may_train(scene, home, one, deep - 1) for home, one in asked)
    return not goes_back(above)


def _stored(scene: Scene, owner: str, attribute: str) -> tuple[Source, Any] | None:
    """The one value, no constant, that a class assigns to an attribute."""
    own = ((source, assignments(one, f"self.{attribute}")) for source, one in named(scene, ast.ClassDef, owner))
    computed = [(at, one.value) for at, found in own for one in found if not isinstance(one.value, ast.Constant)]
    return computed[0] if len(computed) == 1 else None
