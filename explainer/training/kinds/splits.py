"""Samples that a model is trained on and evaluated on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch

from explainer.diagnosis import Span
from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Finding, finder
from explainer.training.sites import Site

#: Rows that are compared by their values at most.
_MOST = 20_000


@finder
def overlapping(watcher: Any) -> Iterator[Finding]:
    """A loader that is evaluated and shares samples with the one that trained the model just before."""
    entries = [one for one in watcher.notes.loaders.values() if one["site"] and one["steps"]]
    pairs: dict[tuple[int, int], tuple[Any, Any]] = {}
    for entry in entries:
        for step, learning in entry["steps"]:
            train = None if learning else _training(entries, step)
            if train is not None and train is not entry:
                pairs[id(train), id(entry)] = (train, entry)
    shared = [(train, held, _shared(train["of"](), held["of"]())) for train, held in pairs.values()]
    for train, held, found in shared:
        if found is None:
            continue
        both, one, other = found
        apart = [each for each in shared if each[1] is not held and each[2] is not None and not each[2][0]]
        chosen = isinstance(held["of"]().dataset, torch.utils.data.Subset)
        if not both or both == one or (both == other and (apart or not chosen)):
            continue  # all that it was trained on, alone or in a pool, or a part that is not held out
        names = {
            "both": both,
            "train": one,
            "held": other,
            "percent": round(100 * both / other),
            "name": _name(held["site"]) or "loader",
            "from": _name(train["site"]) or "loader",
        }
        yield Finding("split-overlaps", names, _made_at(held["site"]), weight=7)


def _training(entries: list[Any], step: int) -> Any:
    """The loader that was begun for training last before a step."""
    begun = [(at, place) for place, one in enumerate(entries) for at, grad in one["steps"] if grad and at <= step]
    return entries[max(begun)[1]] if begun else None


def _shared(one: Any, other: Any) -> tuple[int, int, int] | None:
    """How many samples two loaders share, and how many each has; None where that cannot be told."""
    if one is None or other is None:
        return None
    first, second = _samples(one.dataset), _samples(other.dataset)
    if first is None or second is None or first[0] != second[0]:
        return None
    return len(first[1] & second[1]), len(first[1]), len(second[1])


def _samples(data: Any) -> tuple[Any, set[Any]] | None:
    """What tells samples apart: places in a data set that is shared, or rows of numbers that never repeat."""
    if isinstance(data, torch.utils.data.Subset):
        places: Any = list(data.indices)
        inner = data.dataset
        while isinstance(inner, torch.utils.data.Subset):
            places, inner = [inner.indices[place] for place in places], inner.dataset
        return id(inner), {int(place) for place in places}
    rows = data.tensors[0] if isinstance(data, torch.utils.data.TensorDataset) else data
    if not isinstance(rows, torch.Tensor) or not rows.is_floating_point() or not 1 < len(rows) <= _MOST:
        return None
    values = rows.detach().cpu().flatten(1).contiguous() if rows.dim() > 1 else None
    if values is None or values.shape[1] < 2:
        return None
    found = {row.tobytes() for row in values[:, :64].double().numpy()}
    return ("rows", found) if len(found) == len(values) else None


def _name(site: Site) -> str:
    found = rewrite.call_in(site[0])
    statement = found[0].statement_at(found[1].lineno) if found is not None else None
    if found is None or not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return ""
    return statement.targets[0].id


def _made_at(site: Site) -> Span | None:
    """Where the samples of a loader were chosen, as far as its argument's name leads there."""
    found = rewrite.call_in(site[0])
    if found is None:
        return None
    source, node = found
    best: ast.AST = node
    given = rewrite.argument(node, "dataset", 0)
    for _ in range(4):
        if isinstance(given, ast.Call) and called(given) in ("TensorDataset", "Subset") and given.args:
            given = given.args[-1] if called(given) == "Subset" else given.args[0]
        elif isinstance(given, ast.Name) and (value := _value(source, given.id)) is not None:
            best = given = value
        else:
            break
    return source.span(best)


def _value(source: Source, name: str) -> ast.expr | None:
    """What a name is given, where that happens once."""
    found = []
    for node in source.nodes():
        if isinstance(node, ast.Assign):
            targets = [each for one in node.targets for each in ast.walk(one)]
            found += [node.value] if any(isinstance(one, ast.Name) and one.id == name for one in targets) else []
    return found[0] if len(found) == 1 else None
