"""What a checkup measures, in the sandboxed child that may do with the model what it likes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import torch

from explainer.replay.recorders.record import tensors_in
from explainer.training.checkup import STEPS
from explainer.wrappers import named_modules, named_parameters

#: What is a fault of a script and none of a model that learns one batch by heart.
_OF_SCRIPTS = ("same-batch-every-step", "metric-of-last-batch", "setting-extreme", "worst-weights-kept")


def measured(model: Any, batch: Any, loss: Callable[..., Any] | None, optimizer: Any, lang: str) -> dict[str, Any]:
    """Everything as plain data: checks [(name, ok, text)], layers [(path, type, shape, scale, gradient)], findings."""
    torch.manual_seed(0)
    inputs, targets = parted(batch)
    criterion = loss or _guessed(targets)
    checks: list[tuple[str, bool | None, str]] = []
    layers, activations = _layers(model, inputs)
    first = _loss(model, inputs, targets, criterion)
    if first is not None:
        began = time.perf_counter()
        first.backward()
        seconds = time.perf_counter() - began
        checks += [_gradients(model), _start(first, targets), _memory(model, activations)]
        layers = _with_gradients(model, layers)
        checks += [_samples(model, inputs), _modes(model, inputs)]
        findings, fitted = _fitted(model, inputs, targets, criterion, optimizer, lang)
        checks += [
            fitted,
            ("time", None, f"{_seconds(lambda: _called(model, inputs)):.1f} ms, {1000 * seconds:.1f} ms"),
        ]
    else:
        checks += [_samples(model, inputs), _modes(model, inputs)]
        findings = []
    return {"checks": checks, "layers": layers, "findings": findings}


def parted(batch: Any) -> tuple[Any, Any]:
    """The inputs and the targets of a batch."""
    if isinstance(batch, dict):
        names = [name for name in ("labels", "label", "targets", "target", "y") if name in batch]
        inputs = {name: value for name, value in batch.items() if name not in names}
        return inputs, batch[names[0]] if names else None
    if isinstance(batch, (list, tuple)) and len(batch) >= 2:
        return (batch[0] if len(batch) == 2 else tuple(batch[:-1])), batch[-1]
    return (batch[0] if isinstance(batch, (list, tuple)) else batch), None


def _called(model: Any, inputs: Any) -> Any:
    if isinstance(inputs, dict):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple) else model(inputs)


def _guessed(targets: Any) -> Callable[..., Any] | None:
    if not isinstance(targets, torch.Tensor):
        return None
    return torch.nn.functional.mse_loss if targets.is_floating_point() else torch.nn.functional.cross_entropy


def _loss(model: Any, inputs: Any, targets: Any, criterion: Callable[..., Any] | None) -> Any:
    out = _called(model, inputs)
    if criterion is None:
        return getattr(out, "loss", None)
    first = out[0] if isinstance(out, (tuple, list)) else getattr(out, "logits", out)
    return criterion(first, targets) if targets is not None else None


def _layers(model: Any, inputs: Any) -> tuple[list[Any], int]:
    """Every layer with what it gave: its shape and how large its values are; the bytes of all outputs."""
    rows: list[Any] = []
    size = [0]
    paths = {id(module): path for path, module in named_modules(model)}

    def note(module: Any, given: Any, out: Any) -> None:
        for one in list(tensors_in(out))[:1]:
            size[0] += one.numel() * one.element_size()
            if not any(True for _ in module.children()):
                scale = float(one.detach().float().std()) if one.is_floating_point() and one.numel() > 1 else 0.0
                rows.append([paths.get(id(module), ""), type(module).__name__, str(list(one.shape)), scale, 0.0])

    hooks = [module.register_forward_hook(note) for module in model.modules()]
    with torch.no_grad():
        _called(model, inputs)
    for hook in hooks:
        hook.remove()
    return rows, size[0]


def _with_gradients(model: Any, rows: list[Any]) -> list[Any]:
    modules = dict(named_modules(model))
    for row in rows:
        own = modules[row[0]].parameters(recurse=False) if row[0] in modules else []
        row[4] = math.sqrt(sum(float(p.grad.detach().float().square().sum()) for p in own if p.grad is not None))
    return rows


def _gradients(model: Any) -> tuple[str, bool, str]:
    without = [name for name, p in named_parameters(model) if p.requires_grad and p.grad is None]
    zero = [name for name, p in named_parameters(model) if p.grad is not None and not bool(torch.count_nonzero(p.grad))]
    total = sum(1 for _ in model.parameters())
    missing = [*without, *zero]
    return "gradients", not missing, ", ".join(missing[:6]) or f"{total}"


def _start(loss: Any, targets: Any) -> tuple[str, bool | None, str]:
    """The loss of the fresh model beside that of the best constant prediction."""
    value = float(loss.detach())
    if not isinstance(targets, torch.Tensor) or targets.numel() < 2:
        return "start", math.isfinite(value), f"{value:.3g}"
    if targets.is_floating_point():
        constant = float(targets.float().var(unbiased=False))
        return "start", math.isfinite(value), f"{value:.3g} ({constant:.3g})"
    counts = torch.bincount(targets.flatten().clamp(min=0)).float()
    share = counts[counts > 0] / counts.sum()
    constant = float(-(share * share.log()).sum())
    return "start", math.isfinite(value), f"{value:.3g} ({constant:.3g})"


def _memory(model: Any, activations: int) -> tuple[str, None, str]:
    parameters = sum(p.numel() * p.element_size() for p in model.parameters())
    return "memory", None, f"{_size(parameters)} + {_size(parameters)} + {_size(activations)}"


def _size(size: int) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000  # type: ignore[assignment]
    return f"{size:.1f} GB"


def _samples(model: Any, inputs: Any) -> tuple[str, bool | None, str]:
    """Whether the output of one sample changes with another one, in evaluation mode."""
    given = next(tensors_in(inputs), None)
    if given is None or not given.dim() or given.shape[0] < 2:
        return "samples", None, "-"
    model.eval()
    with torch.no_grad():
        before = next(tensors_in(_called(model, inputs)), None)
        other = given.clone()
        other[0] = other[-1] if not torch.equal(other[0], other[-1]) else other[0] + 1
        changed = _with_first(inputs, given, other)
        after = next(tensors_in(_called(model, changed)), None)
    if before is None or after is None or before.dim() == 0 or before.shape[0] != given.shape[0]:
        return "samples", None, "-"
    apart = (before[1:] - after[1:]).abs().float().max()
    return "samples", bool(apart <= 1e-4 * (1 + before.abs().float().max())), f"{float(apart):.2g}"


def _with_first(inputs: Any, given: Any, other: Any) -> Any:
    if isinstance(inputs, dict):
        return {name: other if value is given else value for name, value in inputs.items()}
    if isinstance(inputs, tuple):
        return tuple(other if value is given else value for value in inputs)
    return other


def _modes(model: Any, inputs: Any) -> tuple[str, None, str]:
    """How far the outputs in training and in evaluation lie apart."""
    with torch.no_grad():
        model.eval()
        still = next(tensors_in(_called(model, inputs)), None)
        model.train()
        moving = next(tensors_in(_called(model, inputs)), None)
    if still is None or moving is None or still.shape != moving.shape:
        return "modes", None, "-"
    return "modes", None, f"{float((still - moving).abs().float().mean()):.2g}"


def _fitted(
    model: Any, inputs: Any, targets: Any, criterion: Any, optimizer: Any, lang: str
) -> tuple[list[Any], tuple[str, bool, str]]:
    """One batch trained on, watched; whether its loss falls to a small part."""
    from explainer.training.finding import findings
    from explainer.training.told import diagnosis_of
    from explainer.training.watcher import Watcher

    watcher = Watcher(dense=True).start()
    own = optimizer or torch.optim.Adam(
        [p for p in model.parameters() if p.requires_grad], lr=1e-2 if _small(model) else 1e-3
    )
    model.train()
    losses = []
    for _ in range(STEPS):
        loss = _loss(model, inputs, targets, criterion)
        own.zero_grad()
        loss.backward()
        own.step()
        losses.append(float(loss.detach()))
    watcher.stop()
    good = math.isfinite(losses[-1]) and losses[-1] < 0.5 * losses[0]
    found = [
        diagnosis_of(one, (), lang)
        for one in findings(watcher)
        if (one.proved or (one.seen and not good)) and one.rule not in _OF_SCRIPTS
    ]
    told = [
        {
            "rule": one.rule,
            "headline": one.headline,
            "where": f"{one.culprit.file}:{one.culprit.line}" if one.culprit else one.rule,
            "cause": one.cause,
            "certainty": one.certainty,
        }
        for one in found
        if one is not None
    ]
    return told, ("overfit", good, f"{losses[0]:.3g} -> {losses[-1]:.3g} ({STEPS})")


def _small(model: Any) -> bool:
    return sum(p.numel() for p in model.parameters()) < 100_000


def _seconds(call: Callable[[], Any]) -> float:
    with torch.no_grad():
        began = time.perf_counter()
        call()
    return 1000 * (time.perf_counter() - began)
