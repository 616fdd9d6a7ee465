"""Loaders in replays: what workers would read is read in turn in one process, in the same order."""

from __future__ import annotations

import textwrap

import pytest

pytest.importorskip("torch")

from explainer.authoring.examples import Runner

_STREAM = """
    import torch
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info
    if PLAYED:
        from explainer.replay.confine.workers import without_workers
        without_workers()
    torch.set_num_threads(1)
    class Numbers(IterableDataset):
        def __init__(self, until):
            self.start, self.until, self.step = 0, until, 1
        def __iter__(self):
            for number in range(self.start, self.until, self.step):
                yield number, get_worker_info().id if get_worker_info() else -1
    def share(worker):
        info = get_worker_info()
        info.dataset.start, info.dataset.step = worker, info.num_workers
    for options in OPTIONS:
        loader = DataLoader(Numbers(11), **options)
        print([[part.tolist() if hasattr(part, "tolist") else part for part in batch] for batch in loader])
        print(get_worker_info())
"""


def _printed(runner: Runner, options: str, played: bool) -> str:
    code = textwrap.dedent(_STREAM).replace("OPTIONS", options).replace("PLAYED", str(played))
    done = runner.run(code)
    return done.get("printed") or done["document"]["reports"][0]["error"]["message"]


@pytest.mark.parametrize(
    "options",
    [
        "[dict(batch_size=2, num_workers=2, worker_init_fn=share, prefetch_factor=2)]",
        "[dict(batch_size=3, num_workers=2, drop_last=True, worker_init_fn=share), dict(batch_size=None)]",
        "[dict(batch_size=4, num_workers=0, prefetch_factor=2)]",
        "[dict(num_workers=0, persistent_workers=True)]",
    ],
)
def test_a_loader_gives_what_its_workers_would(runner: Runner, options: str) -> None:
    assert _printed(runner, options, played=True) == _printed(runner, options, played=False)
