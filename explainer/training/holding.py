"""Which optimizer holds which parameters, and which of them get gradients: looked at before a step."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from explainer import wrappers
from explainer.training import ranks
from explainer.training.notes import Optimizing
from explainer.wrappers import class_name, named_modules, named_parameters

#: An optimizer that has not stepped for so many steps has done its part: that of a pretraining.
_RETIRED = 50
#: Leaves of the graphs that were looked at, by their ids.
_LEAVES: dict[int, Any] = {}


def local(value: Any) -> Any:
    """A tensor, or this process's part of one that several hold: looking at the whole would wait for the others."""
    value = value.detach()
    return getattr(value, "_local_tensor", value)


def leaves(loss: Any) -> set[int]:
    """The ids of the tensors to which gradients will flow."""
    from explainer.replay.recorders.record import leaf, nodes

    found: set[int] = set()
    if isinstance(loss, torch.Tensor) and loss.grad_fn is not None:
        for node in nodes([loss], 20_000):
            for child, _ in node.next_functions:
                if child is not None and leaf(child):
                    found.add(id(child.variable))
                    _LEAVES[id(child.variable)] = weakref.ref(child.variable)
    return found


def forget() -> None:
    """Let go of what was noted of leaves."""
    _LEAVES.clear()


def look(watcher: Any, of: Any, one: Optimizing) -> None:
    """Which parameters of the models called get gradients and are held by no optimizer, and the other way round."""
    held = {id(p): p for group in of.param_groups for p in group["params"]}
    roots = [module for module, _, _, learning, _ in watcher.deep.roots if learning]
    owned: dict[int, tuple[Any, str, Any]] = {}
    for root in roots:
        for name, parameter in named_parameters(root):
            owned.setdefault(id(parameter), (root, name, parameter))
    graph = set().union(*watcher.leaves) if watcher.leaves else set()
    elsewhere = _held_by_any(watcher)
    _registered(watcher, one, owned, elsewhere, graph, _held_by_any(watcher, watcher.notes.steps - _RETIRED))
    _stray(watcher, one, roots, graph - set(owned) - elsewhere)
    _without_gradient(watcher, one, held)
    _orphaned(watcher, one, held, set(owned))


def _held_by_any(watcher: Any, since: int = -1) -> set[int]:
    """The ids of what the program's optimizers hold: those that stepped since some step, or have not begun yet."""
    held: set[int] = set()
    for other in watcher.notes.optimizers:
        live = other.of()
        if live is not None and (other.last >= since or not other.steps):
            held.update(id(p) for group in live.param_groups for p in group["params"])
    return held


def _registered(
    watcher: Any, one: Optimizing, owned: dict[int, Any], elsewhere: set[int], graph: set[int], still: set[int]
) -> None:
    """The parameters of the models: whether an optimizer holds them, a graph reaches them, they get gradients."""
    for number, (root, name, parameter) in owned.items():
        if not _known(watcher, parameter):
            watcher.weights[number] = _begun(watcher, one, root, name, parameter)
        entry = watcher.weights[number]
        norm = size(parameter.grad) if parameter.grad is not None else 0.0
        entry["looked"] += 1
        entry["held"] |= number in elsewhere
        entry["frozen"] = not parameter.requires_grad
        entry["thawed"] |= entry["frozen"]
        entry["reached"] += number in graph
        entry["graded"] += norm != 0
        entry["norm"] = norm
        ranks.noted(watcher, entry, root, parameter)
        _idles(entry, parameter, one, bool(norm) and parameter.requires_grad and number not in still)


def changes(watcher: Any) -> bool:
    """Whether a weight that was frozen when it was looked at last is not any more, or a model has others than then."""
    weights = watcher.weights
    frozen = (one["of"]() for one in weights.values() if one["frozen"])
    if any(one is not None and one.requires_grad for one in frozen):
        return True
    roots = {id(root): root for one in weights.values() if (root := one["root"]()) is not None}
    return not all(_known(watcher, parameter) for root in roots.values() for parameter in root.parameters())


def _known(watcher: Any, parameter: Any) -> bool:
    entry = watcher.weights.get(id(parameter))
    return entry is not None and entry["of"]() is parameter


def _begun(watcher: Any, one: Optimizing, root: Any, name: str, parameter: Any) -> dict[str, Any]:
    return {
        "of": weakref.ref(parameter),
        "root": weakref.ref(root),
        "name": name,
        "held": False,
        "graded": 0,
        "looked": 0,
        "first": local(parameter).flatten()[:64].clone(),
        "reached": 0,
        "frozen": False,
        "thawed": False,
        "idle": (0, 0, 0),
        "optimizer": one.number,
        "since": watcher.notes.steps,
        "sizes": [],
    }


def _idles(entry: dict[str, Any], parameter: Any, one: Optimizing, unheld: bool) -> None:
    """Count the looks at which a weight had a gradient, was no optimizer's and had not changed."""
    count, version, _ = entry["idle"]
    again = count and version == parameter._version
    entry["idle"] = ((count if again else 0) + 1, parameter._version, one.number) if unheld else (0, 0, 0)


def size(value: Any) -> float:
    """The norm of a tensor."""
    value = local(value)
    value = value.coalesce().values() if value.is_sparse else value
    kind = torch.promote_types(value.dtype, torch.float32)  # a half's square is soon too large, a complex stays one
    return float(torch.linalg.vector_norm(value.to(kind)))


def _stray(watcher: Any, one: Optimizing, roots: list[Any], numbers: set[int]) -> None:
    """Tensors that get gradients and that neither a model nor an optimizer knows."""
    for number in numbers:
        parameter = _LEAVES[number]() if number in _LEAVES else None
        if parameter is None or not parameter.requires_grad or parameter.layout != torch.strided:
            continue
        if not parameter.untyped_storage().nbytes():
            continue  # what is gathered for a moment, as FSDP does, has no storage afterwards
        entry = watcher.strays.setdefault(
            number,
            {
                "of": weakref.ref(parameter),
                "seen": 0,
                "shape": tuple(parameter.shape),
                "first": local(parameter).flatten()[:64].clone(),
                "holders": [],
                "optimizer": one.number,
            },
        )
        entry["seen"] += 1
        if entry["seen"] == 2:
            entry["holders"] = _holders(watcher, roots, parameter)


def _without_gradient(watcher: Any, one: Optimizing, held: dict[int, Any]) -> None:
    """What the optimizer holds and gets no gradient."""
    for number, parameter in held.items():
        entry = watcher.ungraded.setdefault(
            number,
            {"of": weakref.ref(parameter), "looked": 0, "none": 0, "name": "", "root": "", "optimizer": one.number,
             "version": parameter._version, "written": False},
        )  # fmt: skip
        if entry["of"]() is not parameter:
            continue
        entry["looked"] += 1
        entry["none"] += parameter.grad is None and parameter.requires_grad
        entry["written"] |= parameter._version != entry["version"]
        if not entry["name"] and parameter.grad is None:
            entry["name"], entry["root"] = _path(watcher, parameter)


def _orphaned(watcher: Any, one: Optimizing, held: dict[int, Any], owned: set[int]) -> None:
    """What the optimizer holds although no layer that is still there does."""
    foreign = [p for number, p in held.items() if number not in owned]
    orphans = [p for p in foreign if p.grad is None]
    if orphans:  # what a layer that is still there holds may have its use
        living = {id(p) for module in watcher.notes.built.living() for p in module.parameters(recurse=False)}
        orphans = [p for p in orphans if id(p) not in living]
    if orphans and len(orphans) == len(foreign) and owned:
        shapes = [tuple(p.shape) for p in orphans]
        watcher.orphans[one.number] = {"count": len(orphans), "of": len(held), "shapes": shapes}
    else:
        watcher.orphans.pop(one.number, None)


def _path(watcher: Any, parameter: Any) -> tuple[str, str]:
    """A parameter's name in a model that was called, with gradients or without, if for another optimizer's loss."""
    for known in watcher.notes.roots.values():
        root = known["of"]()
        for name, one in named_parameters(root) if root is not None else ():
            if one is parameter:
                return name, class_name(root)
    return "", ""


def _holders(watcher: Any, roots: list[Any], parameter: Any) -> list[dict[str, Any]]:
    """Where a tensor lies that no model has registered: the module's class, the attribute, what holds it there."""
    found = []
    for root in roots:
        for path, module in named_modules(root):
            if wrappers.held(module) is not None:
                continue  # what torch's wrappers hold of the parameters' is theirs
            for name, value in vars(module).items():
                kind = None if name.startswith("_") or name == "training" else _contains(value, parameter)
                if kind and not _beside(watcher, root, value, parameter):
                    built = watcher.notes.built.get(module)
                    found.append({"class": type(module), "path": path, "attribute": name, "kind": kind, "built": built})
    return found


def _beside(watcher: Any, root: Any, value: Any, parameter: Any) -> bool:
    """Whether a tensor is part of a model that is meant to stand beside: a copy, or one in evaluation mode."""
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, (list, tuple)) else []
    models = [
        one for one in inner if isinstance(one, torch.nn.Module) and any(p is parameter for p in one.parameters())
    ]
    return any(id(one) in watcher.copied or (root.training and not one.training) for one in models)


def _contains(value: Any, parameter: Any) -> str | None:
    if value is parameter:
        return "tensor"
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, (list, tuple)) else []
    kind = "dict" if isinstance(value, dict) else "list"
    for one in inner[:200]:
        if one is parameter:
            return f"{kind} of tensors"
        if isinstance(one, torch.nn.Module) and any(p is parameter for p in one.parameters()):
            return f"{kind} of modules"
    return None
