"""Loaders without worker processes: they would need sockets, and what workers do is wanted in this process."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

#: The options of a loader that only workers know, or that pin memory.
_FOR_WORKERS = ("multiprocessing_context", "prefetch_factor", "persistent_workers", "timeout")
#: Where the number of workers stands among the arguments of a loader, behind `self`.
_POSITION = 5
#: The attribute of a loader that holds how many workers it was asked for.
_ASKED = "_workers_asked"
#: That which tells whether those would be forks.
_FORKED = "_workers_forked"


def without_workers() -> None:
    """Make all loaders load in this process; options that go wrong without workers go wrong as they would.

    Samples of a stream come as each of the workers would read them in turn: it may give each a share of its own.
    """
    from torch.utils.data import DataLoader

    made: Callable[..., None] = DataLoader.__init__
    iterated: Callable[..., Any] = DataLoader.__iter__

    def init(self: Any, *given: Any, **words: Any) -> None:
        workers = words.pop("num_workers", given[_POSITION] if len(given) > _POSITION else 0)
        forks = workers and _forks(words.get("multiprocessing_context"))
        given = (*given[:_POSITION], 0, *given[_POSITION + 1 :]) if len(given) > _POSITION else given
        for name in ("pin_memory", *(_FOR_WORKERS if workers else ())):
            words.pop(name, None)
        made(self, *given, **words)
        self.__dict__.update({_ASKED: workers, _FORKED: forks})

    def each(self: Any) -> Any:
        workers = self.__dict__.get(_ASKED, 0)
        if workers and _streams(self):
            return _in_turn(self, workers)
        made = iterated(self)
        if self.__dict__.get(_FORKED) and hasattr(made, "_dataset_fetcher"):
            made._dataset_fetcher = _Forked(made._dataset_fetcher)
        return made

    DataLoader.__init__ = init  # type: ignore[method-assign]
    DataLoader.__iter__ = each  # type: ignore[method-assign]


def _forks(context: Any) -> bool:
    """Whether workers of a context (None: the default one) are forks."""
    import multiprocessing

    method = context if isinstance(context, str) else (context or multiprocessing).get_start_method()
    return bool(method == "fork")


class _Forked:
    """What fetches the samples of a loader, as in a fork: where CUDA is played, it cannot be used there."""

    def __init__(self, fetcher: Any):
        self._fetcher = fetcher

    def fetch(self, wanted: Any) -> Any:
        """The samples of a batch."""
        from explainer.replay import standin

        with standin.as_in_a_fork():
            return self._fetcher.fetch(wanted)


def _streams(loader: Any) -> bool:
    from torch.utils.data import IterableDataset

    try:
        from torch.utils.data._utils import fetch, worker

        known = hasattr(fetch, "_IterableDatasetFetcher") and hasattr(worker, "WorkerInfo")
    except ImportError:
        return False
    return known and isinstance(loader.dataset, IterableDataset) and hasattr(loader, "_index_sampler")


def _in_turn(loader: Any, workers: int) -> Iterator[Any]:
    """The batches of a stream's loader, one from each worker in turn until none has any left."""
    sampler = iter(loader._index_sampler)
    left = [_Worker(loader, number, workers) for number in range(workers)]
    while left:
        for one in list(left):
            try:
                yield one.batch(next(sampler))
            except StopIteration:
                left.remove(one)


class _Worker:
    """A worker of a loader, played in this process: it has a copy of the dataset and is told its number."""

    def __init__(self, loader: Any, number: int, workers: int):
        from torch.utils.data._utils import worker

        self.loader, self.home = loader, worker
        self.fetcher: Any = None
        dataset = _copied(loader.dataset)
        self.info = worker.WorkerInfo(id=number, num_workers=workers, seed=number, dataset=dataset)

    def batch(self, wanted: Any) -> Any:
        """Its next batch; StopIteration where it has none."""
        self.home._worker_info = self.info
        try:
            return self._fetched(wanted)
        finally:
            self.home._worker_info = None

    def _fetched(self, wanted: Any) -> Any:
        from torch.utils.data._utils.fetch import _IterableDatasetFetcher

        loader = self.loader
        if self.fetcher is None:
            if loader.worker_init_fn is not None:
                loader.worker_init_fn(self.info.id)
            options = (loader._auto_collation, self._collated, loader.drop_last)
            self.fetcher = _IterableDatasetFetcher(self.info.dataset, *options)
        return self.fetcher.fetch(wanted)

    def _collated(self, samples: Any) -> Any:
        """A batch made as without workers: in one, torch would put it into shared memory."""
        self.home._worker_info = None
        try:
            return self.loader.collate_fn(samples)
        finally:
            self.home._worker_info = self.info


def _copied(dataset: Any) -> Any:
    try:
        return copy.deepcopy(dataset)
    except Exception:  # it holds what has no copy; then all share it
        return dataset
