"""What models, gradients and weights show at the steps that are looked at."""

from __future__ import annotations

import math
import sys
import weakref
from typing import Any

import torch

from explainer.training.deep import Made
from explainer.training.notes import Optimizing
from explainer.training.sites import frames, named, user_frames

#: Modules that behave otherwise in evaluation.
MODED = ("Dropout", "BatchNorm", "AlphaDropout", "InstanceNorm")


def root_called(watcher: Any, module: Any, given: tuple[Any, ...]) -> None:
    """An outermost module was called: note what it was given, in which mode it stood."""
    notes = watcher.notes
    if not any(True for _ in module.parameters()):
        return
    number = id(module)
    known = notes.roots.get(number)
    if known is None or known["of"]() is not module:
        known = notes.roots[number] = {
            "of": weakref.ref(module),
            "kind": type(module).__name__,
            "train": 0,
            "eval": 0,
            "site": (),
            "modes": [],
            "name": None,
            "inputs": [],
        }
    learning = torch.is_grad_enabled()
    if learning and "scale" not in known:
        known["scale"] = _scale(given)
    known["train" if learning else "eval"] += 1
    site = frames()
    if known["name"] is None and len(known["modes"]) < 8:
        known["name"] = _name(module)
    moded = [one for one in module.modules() if type(one).__name__.startswith(MODED)]
    known["modes"].append(
        (
            learning,
            bool(module.training),
            sum(one.training for one in moded),
            len(moded),
            site,
            watcher.deep.evaluation is not None,
            _fingerprint(given),
            notes.steps,
        )
    )
    del known["modes"][400:]


def _name(module: Any) -> str | None:
    """The name under which the caller knows a model."""
    for frame in user_frames(sys._getframe(2)):
        return named(frame, module)
    return None


def _scale(given: tuple[Any, ...]) -> dict[str, Any] | None:
    """How large the first input's numbers are: all together, and by feature where it is a table."""
    one = next(
        (each for each in given if isinstance(each, torch.Tensor) and each.is_floating_point() and each.dim() > 1), None
    )
    if one is None or one.shape[0] < 2 or not bool(torch.isfinite(one).all()):
        return None
    values = one.detach().double()
    mean, std = float(values.mean()), max(float(values.std()), 1e-9)
    means, stds = [], []
    if one.dim() == 2 and one.shape[1] <= 16:
        means, stds = values.mean(0).tolist(), values.std(0).clamp(min=1e-3).tolist()
    largest = max(map(abs, stds or [std]))
    offset = max((abs(m) / max(s, 1e-3) for m, s in zip(means, stds)), default=abs(mean) / std)  # noqa: B905
    image = one.dim() == 4 and float(values.min()) >= 0 and 200 < float(values.max()) <= 255
    return {
        "mean": mean,
        "std": std,
        "means": means,
        "stds": stds,
        "largest": largest,
        "least": min(map(abs, stds or [std])),
        "offset": offset,
        "image": image,
        "shape": tuple(one.shape),
    }


def _fingerprint(given: tuple[Any, ...]) -> Any:
    """What tells inputs apart: sizes, a sum, where they lie, how many rows lie there."""
    for one in given:
        if isinstance(one, torch.Tensor) and one.dim() and one.numel():
            values = one.detach().flatten()[:4096].double()
            base = one._base
            rows = base.shape[0] if base is not None and base.dim() == one.dim() and base.dim() else one.shape[0]
            return (tuple(one.shape), float(values.sum()), float(values[:8].sum()), one.data_ptr(), int(rows))
    return None


def module_called(watcher: Any, module: Any, given: tuple[Any, ...]) -> None:
    """A module of any depth was called in an iteration that is looked at."""
    if not torch.is_grad_enabled() or not isinstance(module, torch.nn.RNNBase) or len(given) < 2:
        return
    states = given[1] if isinstance(given[1], tuple) else (given[1],)
    first = states[0]
    if isinstance(first, torch.Tensor) and not first.requires_grad and watcher.notes.steps:
        made = watcher.deep.made(first)
        fresh = made is not None and made.name != "detach" and made.name != "data"
        if not fresh and bool(torch.count_nonzero(first)):
            watcher.notes.saw("state-carried", frames(), module=type(module).__name__)


def module_returned(watcher: Any, module: Any, given: Any, out: Any) -> None:
    """What a layer gave: whether nothing at all came through."""
    kind = type(module).__name__
    if kind in ("ReLU",) and isinstance(out, torch.Tensor) and torch.is_grad_enabled():
        dead = not bool(torch.count_nonzero(out.detach()))
        entry = watcher.outputs.setdefault(id(module), [weakref.ref(module), 0, 0])
        entry[1] += 1
        entry[2] += dead


def before_backward(watcher: Any, loss: Any) -> None:
    """Look at how the loss was put together."""
    if not watcher.looking:
        return
    loss = loss[0] if isinstance(loss, (list, tuple)) and loss else loss
    made = watcher.deep.made(loss) if isinstance(loss, torch.Tensor) else None
    if made is not None:
        from explainer.training.terms import look_at_terms

        look_at_terms(watcher, made)
        for one in made.all_behind():
            if one.name in ("detach", "data") and one.inputs and one.inputs[0] is not None and one.inputs[0].tracked:
                watcher.notes.saw("graph-cut", one.site)
    watcher.leaves.append(_leaves(loss))
    del watcher.leaves[:-8]


def _leaves(loss: Any) -> set[int]:
    """The ids of the tensors to which gradients will flow."""
    from explainer.replay.recorders.record import leaf, nodes

    found: set[int] = set()
    if isinstance(loss, torch.Tensor) and loss.grad_fn is not None:
        for node in nodes([loss], 20_000):
            for child, _ in node.next_functions:
                if child is not None and leaf(child):
                    found.add(id(child.variable))
                    _FOUND[id(child.variable)] = weakref.ref(child.variable)
    return found


_FOUND: dict[int, Any] = {}


def before_step(watcher: Any, of: Any, one: Optimizing) -> None:
    """Compare what the optimizer holds with what the models have, and how large its steps are."""
    if not watcher.looking:
        return
    held = {id(p): p for group in of.param_groups for p in group["params"]}
    _measures(of, one)
    _membership(watcher, of, one, held)


def _measures(of: Any, one: Optimizing) -> None:
    """Norms of weights and gradients, rate and decay of each group."""
    for group in of.param_groups:
        graded = [p for p in group["params"] if p.grad is not None and not p.grad.is_sparse]
        if not graded:
            continue
        gradient = math.sqrt(sum(float(p.grad.detach().double().square().sum()) for p in graded[:200]))
        weight = math.sqrt(sum(float(p.detach().double().square().sum()) for p in graded[:200]))
        rate, decay = group.get("lr", 0.0), group.get("weight_decay", 0.0)
        if len(one.measures) < 400:
            one.measures.append({"gradient": gradient, "weight": weight, "rate": float(rate), "decay": float(decay)})


def _membership(watcher: Any, of: Any, one: Optimizing, held: dict[int, Any]) -> None:
    """Which parameters of the models called get gradients and are held by no optimizer, and the other way round."""
    elsewhere: dict[int, Any] = {}
    for other in watcher.notes.optimizers:
        live = other.of()
        if live is not None:
            elsewhere.update({id(p): p for group in live.param_groups for p in group["params"]})
    roots = [module for module, _, _, learning, _ in watcher.deep.roots if learning]
    owned: dict[int, tuple[Any, str, Any]] = {}
    for root in roots:
        for name, parameter in root.named_parameters():
            owned.setdefault(id(parameter), (root, name, parameter))
    graph = set().union(*watcher.leaves) if watcher.leaves else set()
    for number, (root, name, parameter) in owned.items():
        entry = watcher.weights.get(number)
        if entry is None or entry["of"]() is not parameter:
            entry = watcher.weights[number] = {
                "of": weakref.ref(parameter),
                "root": weakref.ref(root),
                "name": name,
                "held": False,
                "graded": 0,
                "looked": 0,
                "first": parameter.detach().flatten()[:64].clone(),
                "reached": 0,
                "frozen": False,
                "optimizer": one.number,
                "since": watcher.notes.steps,
            }
        entry["looked"] += 1
        entry["held"] |= number in elsewhere
        entry["frozen"] = not parameter.requires_grad
        entry["reached"] += number in graph
        entry["graded"] += parameter.grad is not None and bool(torch.count_nonzero(parameter.grad))
        entry["norm"] = float(parameter.grad.detach().double().norm()) if parameter.grad is not None else 0.0
    for number in graph - set(owned):
        parameter = _FOUND[number]() if number in _FOUND else None
        if parameter is None or number in elsewhere or not parameter.requires_grad:
            continue
        entry = watcher.strays.setdefault(
            number,
            {
                "of": weakref.ref(parameter),
                "seen": 0,
                "shape": tuple(parameter.shape),
                "first": parameter.detach().flatten()[:64].clone(),
                "holders": [],
                "optimizer": one.number,
            },
        )
        entry["seen"] += 1
        if entry["seen"] == 2:
            entry["holders"] = _holders(watcher, roots, parameter)
    for number, parameter in held.items():
        entry = watcher.ungraded.setdefault(
            number,
            {"of": weakref.ref(parameter), "looked": 0, "none": 0, "name": "", "root": "", "optimizer": one.number},
        )
        if entry["of"]() is not parameter:
            continue
        entry["looked"] += 1
        entry["none"] += parameter.grad is None and parameter.requires_grad
        if not entry["name"] and parameter.grad is None:
            entry["name"], entry["root"] = _path(watcher, parameter)
    orphans = [p for number, p in held.items() if number not in owned and p.grad is None]
    living = (
        {id(p) for module in list(watcher.notes.built) for p in module.parameters(recurse=False)} if orphans else set()
    )
    orphans = [p for p in orphans if id(p) not in living]  # what a layer that is still there holds may have its use
    if orphans and len(orphans) == len([p for p in held.values() if id(p) not in owned]) and owned:
        watcher.orphans[one.number] = {
            "count": len(orphans),
            "of": len(held),
            "shapes": [tuple(p.shape) for p in orphans],
        }
    else:
        watcher.orphans.pop(one.number, None)


def _path(watcher: Any, parameter: Any) -> tuple[str, str]:
    """A parameter's name in a model that was called in this iteration, with gradients or without."""
    for root, _, _, _, _ in watcher.deep.roots:
        for name, one in root.named_parameters():
            if one is parameter:
                return name, type(root).__name__
    return "", ""


def _holders(watcher: Any, roots: list[Any], parameter: Any) -> list[dict[str, Any]]:
    """Where a tensor lies that no model has registered: the module's class, the attribute, what holds it there."""
    found = []
    for root in roots:
        for path, module in root.named_modules():
            for name, value in vars(module).items():
                if name.startswith("_") or name == "training":
                    continue
                kind = _contains(value, parameter)
                if kind:
                    found.append(
                        {
                            "class": type(module),
                            "path": path,
                            "attribute": name,
                            "kind": kind,
                            "built": watcher.notes.built.get(module),
                        }
                    )
    return found


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


def at_end(watcher: Any) -> None:
    """Look once more when the program is over: which weights have never changed."""
    for entry in [*watcher.weights.values(), *watcher.strays.values()]:
        parameter = entry["of"]()
        entry["gone"] = parameter is None
        entry["moved"] = parameter is not None and not torch.equal(
            entry["first"], parameter.detach().flatten()[:64].to(entry["first"].dtype)
        )
        entry["shape"] = tuple(parameter.shape) if parameter is not None else ()
        entry["finite"] = parameter is None or bool(torch.isfinite(parameter).all())
    from explainer.training.symmetry import look_at_rows

    look_at_rows(watcher)


def layers(made: Made) -> list[str]:
    """The names of the calls behind a value."""
    return [one.name for one in made.all_behind()]
