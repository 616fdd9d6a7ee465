"""Rates, schedulers, the clipping and the clearing of gradients, noted as they happen."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import torch

from explainer.training import holding
from explainer.training.notes import Optimizing
from explainer.training.sites import frames

#: How many of the numbers that a schedule waits for are kept.
_TOLD = 2000


def install(watcher: Any) -> None:
    """Watch schedulers and the functions that clip and clear gradients."""
    wrap = watcher.patches.wrap
    _watch_clearing(watcher, torch.optim.Optimizer, lambda of: [watcher.optimizer(of)])
    _watch_clearing(watcher, torch.nn.Module, lambda of: _holding(watcher, of))
    scheduler = torch.optim.lr_scheduler
    for name in ("LRScheduler", "ReduceLROnPlateau"):
        owner = getattr(scheduler, name, None)
        if owner is not None and "__init__" in vars(owner):
            wrap(owner, "__init__", watcher.after(lambda _, args, __: _made(watcher, args)))
    for name in dir(scheduler):
        owner = getattr(scheduler, name)
        if isinstance(owner, type) and "step" in vars(owner) and hasattr(owner, "state_dict"):
            wrap(owner, "step", watcher.after(lambda _, args, kwargs: _stepped(watcher, args, kwargs)))
    scaler = getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler
    wrap(scaler, "unscale_", watcher.after(lambda _, args, __: watcher.notes.event("unscale", frames())))
    wrap(scaler, "step", watcher.after(lambda _, args, __: _scaled_step(watcher, args)))
    for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"):
        for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
            if hasattr(owner, name):
                wrap(owner, name, lambda original, name=name: _clips(watcher, name, original))


def _watch_clearing(watcher: Any, owner: Any, cleared: Callable[[Any], list[Optimizing]]) -> None:
    """Watch `zero_grad` of optimizers or models: whose gradients it clears, and whether a step had used them."""
    unused: list[Optimizing] = []

    def before(args: Any, _: Any) -> None:
        looked = watcher.between and watcher.looking
        unused[:] = [one for one in cleared(args[0]) if _unused(watcher, one)] if looked else []

    def note(_: Any, args: Any, __: Any) -> None:
        for one in cleared(args[0]):
            watcher.zeroed(one, one in unused)

    watcher.patches.wrap(owner, "zero_grad", watcher.after(note, before))


def _holding(watcher: Any, module: Any) -> list[Optimizing]:
    """The optimizers that hold a parameter of a model."""
    inside = {id(parameter) for parameter in module.parameters()}
    held = [(one, one.of()) for one in watcher.notes.optimizers]
    return [one for one, of in held if of is not None and any(id(p) in inside for p in _parameters(of))]


def _parameters(of: Any) -> Iterator[Any]:
    return (p for group in of.param_groups for p in group["params"])


def versions(of: Any) -> int:
    """What changes when one of an optimizer's parameters is written to."""
    return sum(p._version for p in _parameters(of))


def _unused(watcher: Any, one: Optimizing) -> bool:
    """Whether parameters have gradients since the last step of their optimizer, and are what they were then."""
    of = one.of()
    if of is None or not one.steps or watcher.versions.get(one.number) != versions(of):
        return False
    return any(p.grad is not None and holding.size(p.grad) != 0 for p in islice(_parameters(of), 40))


def _scaled_step(watcher: Any, args: Any) -> None:
    """Note a step that a gradient scaler takes, and by what the gradients were multiplied."""
    scale = args[0].get_scale() if watcher.notes.counts["scaled"] < 3 else 0.0
    watcher.notes.event("scaled", frames(), None, float(scale))


def _entry(watcher: Any, of: Any) -> dict[str, Any]:
    for one in watcher.notes.schedulers:
        if one["of"]() is of:
            return one
    made = {
        "of": weakref.ref(of),
        "kind": type(of).__name__,
        "site": (),
        "steps": 0,
        "stepped_at": (),
        "optimizer": None,
        "told": [],
        "factors": [],
    }
    optimizer = getattr(of, "optimizer", None)
    if optimizer is not None:
        made["optimizer"] = watcher.optimizer(optimizer).number
    watcher.notes.schedulers.append(made)
    return made


def _made(watcher: Any, args: Any) -> None:
    entry = _entry(watcher, args[0])
    entry["site"] = frames()
    entry["factors"] = [told for one in getattr(args[0], "lr_lambdas", ()) if (told := _factor(one, args[0].base_lrs))]
    entry["steps"] = 0  # a scheduler takes a step of its own when it is made


def _factor(function: Any, rates: list[float]) -> tuple[Any, frozenset[str]] | None:
    """The code of a function that gives a factor, and how it reads numbers that are the optimizer's own rate."""
    plain = function if hasattr(function, "__code__") else vars(type(function)).get("__call__")
    if not hasattr(plain, "__code__"):
        return None
    known = inspect.getclosurevars(plain)
    held = {**known.globals, **known.nonlocals, "self": function}
    return plain.__code__, frozenset(text for name, value in held.items() for text in _reads(name, value, rates))


def _reads(name: str, value: Any, rates: list[float]) -> Iterator[str]:
    """How a program may read numbers among some of a value that it has under a name: it, its attributes, its items."""
    if isinstance(value, float) and value in rates:
        yield name
    items = value.items() if isinstance(value, dict) else ()
    yield from (f"{name}[{key!r}]" for key, one in items if isinstance(one, float) and one in rates)
    attributes = getattr(value, "__dict__", {}).items()
    yield from (f"{name}.{key}" for key, one in attributes if isinstance(one, float) and one in rates)


def _stepped(watcher: Any, args: Any, kwargs: Any) -> None:
    entry = _entry(watcher, args[0])
    if isinstance(args[0], torch.optim.lr_scheduler.ReduceLROnPlateau) and len(entry["told"]) < _TOLD:
        entry["mode"] = args[0].mode
        entry["told"].append(float(args[1] if len(args) > 1 else kwargs["metrics"]))
    if entry["steps"] and watcher.notes.full:
        entry["steps"] += 1
        watcher.notes.counts["rate"] += 1
        return
    site = frames()
    if (
        not site
        or not entry["site"]
        or (site[0].line == entry["site"][0].line and site[0].file == entry["site"][0].file)
    ):
        return
    entry["steps"] += 1
    entry["stepped_at"] = site
    entry["settings"] = {
        name: getattr(args[0], name)
        for name in ("T_max", "step_size", "total_steps", "gamma", "T_0", "milestones", "patience")
        if isinstance(getattr(args[0], name, None), (int, float))
    }
    watcher.notes.event("rate", site, entry["optimizer"])


def stepped(one: Optimizing, of: Any) -> None:
    """Note the rate of a step, as stretches of equal rates."""
    rate = of.param_groups[0].get("lr", 0.0)
    rate = float(rate)
    if one.rates and one.rates[-1][0] == rate:
        one.rates[-1][1] += 1
    elif len(one.rates) < 20_000:
        one.rates.append([rate, 1])


def _clips(watcher: Any, name: str, original: Any) -> Any:
    def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        if watcher.notes.full and not watcher.looking:
            watcher.notes.counts["clip"] += 1
            return original(parameters, *args, **kwargs)
        given = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        graded = sum(p.grad is not None for p in given)
        result = original(given, *args, **kwargs)
        try:
            bound = args[0] if args else kwargs.get("max_norm", kwargs.get("clip_value"))
            looked = watcher.looking and isinstance(result, torch.Tensor)
            data = {
                "function": name,
                "bound": float(bound or 0.0),
                "graded": graded,
                "given": len(given),
                "norm": float(result) if looked else None,
            }
            watcher.notes.event("clip", frames(), None, data)
            watcher.clips.append(data) if looked or not given else None
        except Exception as error:
            watcher.failed(error)
        return result

    return clip
