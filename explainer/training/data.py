"""Loaders, their batches, and random generators that begin again: whether every step sees something new."""

from __future__ import annotations

import random
import sys
import time
import weakref
from typing import Any

import torch

from explainer.training import collating, growth
from explainer.training.inspect import fingerprint, labels_of
from explainer.training.sampling import FIRST
from explainer.training.sites import frames, key
from explainer.training.waiting import Waits

#: The types of random generators that an object keeps for itself, and where a dataset begins to read a sample.
_GENERATORS, _READING = ("Generator", "RandomState", "Random"), ("__getitem__", "__iter__", "__getitems__")

#: Of so many passes over a loader the first batch is told apart; before so many it is noted what its dataset holds.
_OPENINGS, _HELD = 12, 4
#: How many entries of an array, or of a list of tensors, are looked at.
_ENTRIES = 4096


def install(watcher: Any) -> None:
    """Watch loaders and the seeding of generators."""
    from torch.utils.data import DataLoader

    wrap = watcher.patches.wrap
    wrap(DataLoader, "__init__", watcher.after(lambda _, args, __: _made(watcher, args[0])))
    wrap(DataLoader, "__iter__", watcher.after(lambda out, args, _: _iterated(watcher, args[0], out)))
    wrap(
        torch, "manual_seed", watcher.after(lambda _, args, kwargs: _seeded(watcher, "torch.manual_seed", args, kwargs))
    )
    wrap(random, "seed", watcher.after(lambda _, args, kwargs: _seeded(watcher, "random.seed", args, kwargs)))
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        for name in ("seed", "default_rng", "RandomState"):
            _wrap_numpy(watcher, numpy.random, name)


def _wrap_numpy(watcher: Any, owner: Any, name: str) -> None:
    original = getattr(owner, name)
    if isinstance(original, type):  # a class must stay one
        return
    watcher.patches.wrap(
        owner, name, watcher.after(lambda _, args, kwargs: _seeded(watcher, f"np.random.{name}", args, kwargs))
    )


def _seeded(watcher: Any, name: str, args: Any, kwargs: Any) -> None:
    """Note a generator that is seeded; a seed that comes again at its place begins the same numbers again."""
    seed = args[0] if args else kwargs.get("seed")
    if not isinstance(seed, int):
        return
    site = frames()
    if not site:
        return
    place = ("seed", key(site))
    entry = watcher.seeds.setdefault(
        place, {"site": site, "name": name, "seeds": {}, "in_sample": 0, "steps": set(), "count": 0, "grad": 0}
    )
    entry["count"] += 1
    entry["grad"] += torch.is_grad_enabled()
    entry["in_sample"] += any(frame.code.co_name == "__getitem__" for frame in site)
    if len(entry["seeds"]) < 50 or seed in entry["seeds"]:
        entry["seeds"][seed] = entry["seeds"].get(seed, 0) + 1
    if len(entry["steps"]) < 100:
        entry["steps"].add(watcher.notes.steps)


def _made(watcher: Any, loader: Any) -> None:
    watcher.notes.loaders[id(loader)] = {
        "of": weakref.ref(loader),
        "site": frames(),
        "begun": 0,
        "taken": 0,
        "sampler": type(loader.sampler).__name__,
        "length": _length(loader),
        "batch": loader.batch_size,
        "samples": _length(getattr(loader, "dataset", ())),
        "own": getattr(loader, "generator", None) is not None,
        "begun_at": (),
        "sizes": [],
        "steps": [],
        "waits": Waits(),
        "first": [],
        "workers": 0,
        "kept": None,
        "orders": _orders(loader),
        "learned": False,
        "began": 0,
        "backwards": 0,
        "turn": 0,
        "opens": False,
        "openings": [],
        "plain": _plain(loader),
        "data": type(loader.dataset).__name__,
        "ordered": _own_sampler(loader),
        "weighed": _weighed(loader),
    }


def _weighed(loader: Any) -> tuple[int, list[str]] | None:
    """How many weights a sampler has that are too few, and where the data hold a class for each sample below that."""
    weights = getattr(loader.sampler, "weights", None)
    if weights is None or not 1 < len(weights) < (_length(loader.dataset) or 0):
        return None
    return len(weights), labels_of(loader.dataset, len(weights))


def _orders(loader: Any) -> list[Any]:
    """The program's own code that says in which order a loader takes samples."""
    held = (loader.sampler, loader.batch_sampler, loader.dataset)
    codes = [getattr(getattr(type(one), "__iter__", None), "__code__", None) for one in held]
    return [code for code in codes if code is not None and "site-packages" not in code.co_filename]


def _own_sampler(loader: Any) -> str:
    """The class of the program's own that says in which order a loader takes samples; empty where none does."""
    held = (loader.batch_sampler, loader.sampler)
    return next(
        (type(one).__name__ for one in held if one is not None and type(one).__module__.split(".")[0] != "torch"), ""
    )


def _length(held: Any) -> int | None:
    try:
        return len(held)
    except TypeError:
        return None


def _iterated(watcher: Any, loader: Any, iterator: Any) -> None:
    """Note that a loader was begun; its iterator tells how many batches were taken."""
    entry = watcher.notes.loaders.get(id(loader))
    if entry is None or entry["of"]() is not loader:
        _made(watcher, loader)
        entry = watcher.notes.loaders[id(loader)]
    if not entry["begun"] and loader.worker_init_fn is None:
        entry["workers"] = loader.__dict__.get("_workers_asked", loader.num_workers)  # by `confine.workers`
        entry["kept"] = _generator(loader.dataset) if entry["workers"] > 1 else None
    if not entry["workers"]:  # a worker writes into copies of its own
        _look_into(watcher, loader.dataset, entry)
        collating.install(watcher, iterator)
    entry["begun"] += 1
    entry["began"] = watcher.notes.steps
    entry["backwards"], entry["turn"] = watcher.notes.counts["backward"], 0
    entry["opens"] = torch.is_grad_enabled() and len(entry["openings"]) < _OPENINGS
    if entry["begun"] < 20:
        entry["begun_at"] = frames()
        entry["steps"].append((watcher.notes.steps, torch.is_grad_enabled()))
    kind = type(iterator)
    if "__next__" not in vars(kind):
        kind = next((one for one in kind.__mro__ if "__next__" in vars(one)), kind)
    if kind not in watcher.counted:
        watcher.counted.add(kind)
        watcher.patches.wrap(kind, "__next__", lambda original: _counts(watcher, original))
    watcher.iterators[id(iterator)] = (weakref.ref(iterator), entry)


def _look_into(watcher: Any, dataset: Any, entry: dict[str, Any]) -> None:
    """Note what the dataset that holds the samples has before a pass, within any that only chooses of it."""
    for _ in range(4):
        dataset = getattr(dataset, "dataset", dataset)
    if not hasattr(dataset, "__dict__") or not hasattr(type(dataset), "__weakref__"):
        return
    known, _, passes = watcher.datasets.setdefault(id(dataset), (weakref.ref(dataset), type(dataset).__name__, []))
    if known() is dataset and len(passes) < _HELD:
        marks = {name: _mark(held) for name, held in list(getattr(dataset, "__dict__", {}).items())}
        passes.append((entry, {name: mark for name, mark in marks.items() if mark is not None}))


def _mark(held: Any) -> Any:
    """How often a tensor was written to, a sum over entries of an array of numbers; of a list what its entries say."""
    if isinstance(held, torch.Tensor):
        return held._version
    if type(held).__name__ == "ndarray" and held.dtype.kind in "fiu" and held.size:
        return float(held.reshape(-1)[:: max(held.size // _ENTRIES, 1)].astype("float64").sum())
    if isinstance(held, (list, tuple)) and held and isinstance(held[0], (torch.Tensor, tuple)):
        return tuple(_mark(one) for one in held[:_ENTRIES] if not isinstance(one, str))
    return None


def _generator(dataset: Any, depth: int = 4) -> tuple[str, str] | None:
    """The class of a dataset that draws its samples with a random generator of its own, and the attribute."""
    for name, held in list(getattr(dataset, "__dict__", {}).items()):
        if type(held).__name__ in _GENERATORS and _draws_with(type(dataset), name):
            return type(dataset).__name__, name
    inner = getattr(dataset, "dataset", None)
    return _generator(inner, depth - 1) if inner is not None and depth else None


def _draws_with(kind: type, name: str) -> bool:
    """Whether the methods that read a sample read an attribute, and none of them asks which worker it is in."""
    waiting, seen = list(_READING), set[str]()
    read = False
    while waiting:
        method = waiting.pop()
        code = getattr(getattr(kind, method, None), "__code__", None)
        if method in seen or code is None:
            continue
        seen.add(method)
        if "get_worker_info" in code.co_names:
            return False
        read = read or name in code.co_names
        waiting += code.co_names
    return read


def _counts(watcher: Any, original: Any) -> Any:
    def following(self: Any) -> Any:
        began = time.perf_counter()
        known = watcher.iterators.get(id(self))
        if known is not None and watcher.notes.steps != known[1]["began"]:
            known[1]["learned"] = True
        looked = watcher.deep.awake and known is not None and _familiar(watcher, known[1])
        watcher.reading = self
        try:
            batch = watcher.deep.aside(original, self) if looked else original(self)
        finally:
            watcher.reading = None
        if known is not None:
            entry = known[1]
            awake, learns = watcher.deep.awake, torch.is_grad_enabled()
            entry["waits"].batch(self, began, time.perf_counter(), learns and not awake)
            entry["taken"] += 1
            entry["turn"] += 1
            if awake or entry["opens"] or entry["turn"] == growth.BATCH:
                try:
                    _look_at(watcher, entry, batch)
                    if learns and entry["backwards"] == watcher.notes.counts["backward"]:
                        growth.during_pass(watcher, entry["turn"])
                except Exception as error:
                    watcher.failed(error)
        return batch

    return following


def _look_at(watcher: Any, entry: dict[str, Any], batch: Any) -> None:
    """Note how a pass opens, and what the batches of iterations hold that are looked at."""
    if entry["opens"]:
        entry["opens"] = False
        entry["openings"].append(fingerprint(_parts(batch)))
    if watcher.looking and len(entry["first"]) < 60:
        entry["first"].append(_of_batch(batch))


def _familiar(watcher: Any, entry: dict[str, Any]) -> bool:
    """Whether how a loader reads its samples was looked at before, or is torch's own doing."""
    return watcher.turns > FIRST or entry["plain"]


def _plain(loader: Any) -> bool:
    """Whether nothing of the program's runs when a sample is read."""
    dataset = loader.dataset
    while type(dataset) is torch.utils.data.Subset:
        dataset = dataset.dataset
    own = loader.collate_fn is torch.utils.data.default_collate
    return own and type(dataset) is torch.utils.data.TensorDataset


def _of_batch(batch: Any) -> dict[str, Any]:
    """What a batch holds: which labels, its size, whether its inputs are the same twice."""
    tensors = [one for one in _parts(batch) if isinstance(one, torch.Tensor)]
    labels = [one for one in tensors if one.dim() == 1 and not one.is_floating_point() and len(one) > 3]
    told = sorted(set(labels[-1].tolist())) if labels else None
    return {"labels": told, "size": len(tensors[0]) if tensors else 0, "twins": _twins(tensors)}


def _twins(tensors: list[Any]) -> bool:
    """Whether the first two parts of a batch are inputs with the same values."""
    if len(tensors) < 2 or tensors[0] is tensors[1]:
        return False
    one, other = tensors[:2]
    inputs = one.dim() > 1 and one.is_floating_point() and one.shape == other.shape
    return inputs and bool(one.any()) and torch.equal(one, other)


def _parts(batch: Any) -> tuple[Any, ...]:
    """What a batch consists of."""
    if isinstance(batch, dict):
        return tuple(batch.values())
    return tuple(batch) if isinstance(batch, (list, tuple)) else (batch,)
