"""What models, gradients and weights show at the steps that are looked at."""

from __future__ import annotations

import math
import sys
import weakref
from typing import Any

import torch

from explainer.training import holding
from explainer.training.looks import streams
from explainer.training.notes import Mode, Optimizing
from explainer.training.sites import frames, key, named, user_frames
from explainer.wrappers import class_name

#: Modules that behave otherwise in evaluation.
MODED = ("Dropout", "BatchNorm", "AlphaDropout", "InstanceNorm")

#: How many entries of an input tell how large its numbers are.
_ENTRIES = 100_000


def root_called(watcher: Any, module: Any, given: tuple[Any, ...], learning: bool) -> None:
    """An outermost module was called, with gradients or without: note what it was given, in which mode it stood."""
    notes = watcher.notes
    if not any(True for _ in module.parameters()):
        return
    number = id(module)
    known = notes.roots.get(number)
    if known is None or known["of"]() is not module:
        known = notes.roots[number] = {
            "of": weakref.ref(module),
            "kind": class_name(module),
            "train": 0,
            "eval": 0,
            "site": (),
            "modes": [],
            "name": None,
            "inputs": [],
        }
    if learning and "scale" not in known:
        known["scale"] = _scale(given)
    elif not learning and known["eval"] < 4:
        known["scale_eval"] = _scale(given)
    _look_at_parts(watcher, known, module, learning)
    if learning:
        streams.follow(watcher, known, given)
        _follows(known, given)
    known["train" if learning else "eval"] += 1
    site = frames()
    if known["name"] is None and len(known["modes"]) < 8:
        known["name"] = _name(module)
    if learning:
        watcher.deep.learns()
    elif watcher.deep.evaluation is None and watcher.deep.examining:
        watcher.deep.examined.append((known["modes"], len(known["modes"])))
    moded = [one for one in module.modules() if type(one).__name__.startswith(MODED)]
    known["modes"].append(
        Mode(
            learning,
            bool(module.training),
            sum(one.training for one in moded),
            len(moded),
            site,
            watcher.deep.examining,
            fingerprint(given),
            notes.steps,
            watcher.trained_at.get(number) == notes.steps,
        )
    )
    del known["modes"][400:]


def _follows(known: dict[str, Any], given: tuple[Any, ...]) -> None:
    """Count how often in a row a model was given another tensor than the time before."""
    one = next((each for each in given if isinstance(each, torch.Tensor) and each.dim() and each.numel()), None)
    held = known.get("held")
    if one is not None:
        known["anew"] = 0 if held is not None and held() is one else known.get("anew", 0) + 1
        known["held"] = weakref.ref(one)


_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def _look_at_parts(watcher: Any, known: dict[str, Any], module: Any, learning: bool) -> None:
    """How many hooks a model's layers have by now, and which of them use statistics that nothing has ever set."""
    layers = list(module.modules())
    if learning:
        hooks = sum(len(getattr(one, name, ())) for one in layers for name in _HOOKS)
        known.setdefault("hooks", []).append((watcher.notes.steps, hooks))
        del known["hooks"][60:]
        return
    tracking = [one for one in layers if getattr(one, "num_batches_tracked", None) is not None]
    known["unset"] = [type(one).__name__ for one in tracking if not one.training and not int(one.num_batches_tracked)]
    known["written"] = max((parameter._version for parameter in module.parameters()), default=0)


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
    if one is None or one.shape[0] < 2:
        return None
    values = one.detach()[:: max(min(one.numel() // _ENTRIES, len(one) // 2), 1)].double()
    if not bool(torch.isfinite(values).all()):
        return None
    mean, std = float(values.mean()), max(float(values.std()), 1e-9)
    means, stds = [], []
    if one.dim() == 2 and one.shape[1] <= 16:
        means, stds = values.mean(0).tolist(), _spreads(values)
    largest = max(map(abs, stds or [std]))
    offset = max((abs(m) / s for m, s in zip(means, stds)), default=abs(mean) / std)  # noqa: B905
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


def _spreads(values: Any) -> list[float]:
    """How far each feature spreads; 1 for one that is the same in the whole batch, which says nothing of its scale."""
    same = (values == values[0]).all(0)
    return [1.0 if one else spread for one, spread in zip(same, values.std(0).clamp(min=1e-3).tolist(), strict=True)]


def fingerprint(given: tuple[Any, ...]) -> Any:
    """What tells inputs apart: sizes, a sum, where they lie, how many rows lie there."""
    for one in given:
        if isinstance(one, torch.Tensor) and one.dim() and one.numel():
            values = one.detach().flatten()[:4096].double()
            base = one._base
            rows = base.shape[0] if base is not None and base.dim() == one.dim() and base.dim() else one.shape[0]
            return (tuple(one.shape), float(values.sum()), float(values[:8].sum()), one.data_ptr(), int(rows))
    return None


def recurrent_called(watcher: Any, module: Any, given: tuple[Any, ...]) -> None:
    """A recurrent layer of any depth was called in an iteration that is looked at."""
    if len(given) < 2:
        return
    states = given[1] if isinstance(given[1], tuple) else (given[1],)
    first = states[0]
    if isinstance(first, torch.Tensor) and not first.requires_grad and watcher.notes.steps:
        made = watcher.deep.made(first)
        fresh = made is not None and made.name != "detach" and made.name != "data"
        if not fresh and bool(torch.count_nonzero(first)):
            dims = (1,) if getattr(module, "batch_first", False) else (0, 1)
            watcher.notes.saw("state-carried", frames(), module=type(module).__name__, dims=dims)


def before_backward(watcher: Any, loss: Any) -> None:
    """Look at how the loss was put together."""
    loss = loss[0] if isinstance(loss, (list, tuple)) and loss else loss
    made = watcher.deep.made(loss) if isinstance(loss, torch.Tensor) else None
    if made is not None:
        from explainer.training.terms import divided, look_at_terms, terms

        look_at_terms(watcher, made)
        watcher.divided[key(frames(1, 1))] = divided(watcher, made)
        for one in made.all_behind():
            if one.cut:
                watcher.notes.saw("graph-cut", one.site)
        for term, _ in terms(made):
            if not term.tracked and any(one is not None for one in term.inputs):  # what is compared leaves no trace
                watcher.notes.saw("term-without-gradient", term.site)
    watcher.leaves.append(holding.leaves(loss))
    del watcher.leaves[:-8]


def before_step(watcher: Any, of: Any, one: Optimizing) -> None:
    """Compare what the optimizer holds with what the models have, and how large its steps are."""
    _measures(of, one)
    holding.look(watcher, of, one)


def _measures(of: Any, one: Optimizing) -> None:
    """Norms of weights and gradients, rate and decay of each group."""
    for group in of.param_groups:
        graded = [p for p in group["params"] if p.grad is not None and not p.grad.is_sparse]
        if not graded:
            continue
        gradient = math.hypot(*(holding.size(p.grad) for p in graded[:200]))
        weight = math.hypot(*(holding.size(p) for p in graded[:200]))
        rate, decay = group.get("lr", 0.0), group.get("weight_decay", 0.0)
        if len(one.measures) < 400:
            one.measures.append({"gradient": gradient, "weight": weight, "rate": float(rate), "decay": float(decay)})


def at_end(watcher: Any) -> None:
    """Look once more when the program is over: which weights have never changed."""
    for entry in [*watcher.weights.values(), *watcher.strays.values()]:
        parameter = entry["of"]()
        value: Any = holding.local(parameter) if parameter is not None else None
        entry["gone"] = value is None or value.untyped_storage().nbytes() == 0  # FSDP gathers them for a moment
        entry["shape"] = tuple(parameter.shape) if parameter is not None else ()
        entry["moved"] = not entry["gone"] and not torch.equal(
            entry["first"], value.flatten()[:64].to(entry["first"].dtype)
        )
        entry["finite"] = entry["gone"] or bool(torch.isfinite(value).all())
    from explainer.training.symmetry import look_at_rows

    look_at_rows(watcher)


def labels_of(data: Any, classes: int) -> list[str]:
    """Where data hold a whole number below a number of classes for each sample: `.labels`, `.tensors[1]`."""
    held = {f".{name}": value for name, value in getattr(data, "__dict__", {}).items()}
    held |= {f".tensors[{at}]": value for at, value in enumerate(getattr(data, "tensors", ()))}
    return [reach for reach, value in held.items() if _are_labels(value, len(data), classes)]


def _are_labels(value: Any, many: int, classes: int) -> bool:
    whole = value.dim() == 1 if isinstance(value, torch.Tensor) else getattr(value, "ndim", 1) == 1
    values = value.tolist() if whole and hasattr(value, "tolist") else value  # of images that would take long
    if not isinstance(values, (list, tuple)) or len(values) != many or not values:
        return False
    return all(type(one) is int for one in values) and min(values) >= 0 and max(values) < classes
