"""Layers whose units are all alike and stay so: a constant initialisation that training cannot break."""

from __future__ import annotations

from typing import Any

import torch

from explainer.wrappers import class_name, named_modules

#: Below which part of what they were weights have shrunk to nothing, as under a penalty that is all that trains them.
_SHRUNK = 0.01


def look_at_rows(watcher: Any) -> None:
    """Note hidden layers all of whose rows are equal at the end, although they were trained."""
    modules: dict[int, Any] = {}
    for entry in watcher.weights.values():
        root = entry["root"]()
        if root is not None:
            modules[id(root)] = root
    for root in modules.values():
        linear = [
            (path, one)
            for path, one in named_modules(root)
            if hasattr(one, "weight") and isinstance(one, (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d))
        ]
        for path, layer in linear[:-1]:
            weight = layer.weight.detach().flatten(1)
            entry = watcher.weights.get(id(layer.weight))
            if weight.shape[0] < 3 or entry is None or not entry["held"] or not entry["graded"]:
                continue
            if float(weight.abs().max()) < _SHRUNK * float(entry["first"].abs().max()):
                continue  # all rows are about zero by now, however they began
            if bool((weight == weight[:1]).all()) or torch.allclose(
                weight, weight[:1].expand_as(weight), rtol=1e-4, atol=1e-7
            ):
                held, start = watcher.constants.get(id(layer.weight), (None, ()))
                watcher.notes.saw(
                    "constant-init",
                    watcher.notes.built.get(layer) or (),
                    of=path,
                    path=path,
                    start=start if held is not None and held() is layer.weight else (),
                    units=weight.shape[0],
                    moved=entry["moved"],
                    root=class_name(root),
                )
