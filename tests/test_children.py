"""Child processes and pools: an error is explained once, by the child that knows its values or by its parent."""

from __future__ import annotations

import sys

import pytest
from commands import python

MESSAGE = "mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)"

CHILD = """\
import multiprocessing as mp
import explainer
explainer.install()

def work():
    raise RuntimeError({message!r})

if __name__ == "__main__":
    children = [mp.get_context({method!r}).Process(target=work) for _ in range({count})]
    for child in children:
        child.start()
    for child in children:
        child.join()
        print(child.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_a_child_process_that_ends_by_an_error_is_explained(method, tmp_path):
    """multiprocessing prints the error and leaves without calling any hook."""
    count = 2 if method == "fork" else 1
    (tmp_path / "main.py").write_text(CHILD.format(message=MESSAGE, method=method, count=count))
    done = python("main.py", cwd=tmp_path)
    assert done.stdout == "1\n" * count
    assert done.stderr.count("Traceback (most recent call last)") == count
    assert done.stderr.index("Traceback") < done.stderr.index("\nerror[")
    assert done.stderr.count("\nerror[") == 1
    assert done.stderr.count("failed in the same way as ") == count - 1


SPAWNED = """\
import torch
import torch.multiprocessing
import explainer; explainer.install(lang="en")

net = torch.nn.Linear(8, 4)

def work(number):
    net(torch.rand(3, 6))

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, nprocs=1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_what_a_spawned_child_knows_is_told_once_by_its_parent_under_the_traceback(tmp_path):
    """Its operands and layers, and a fix that was tried there; the parent has its text alone."""
    pytest.importorskip("torch")
    (tmp_path / "main.py").write_text(SPAWNED)
    done = python("main.py", cwd=tmp_path, seconds=240)
    assert done.returncode == 1
    assert done.stderr.count("error[") == 1
    traceback, _, said = done.stderr.partition("error[")
    assert "ProcessRaisedException" in traceback
    assert "net expects 8 features per row" in said
    assert "Linear(in_features=8, out_features=4)" in said
    assert "+ net = torch.nn.Linear(6, 4)" in said


POOLS = """\
import sys
import explainer; explainer.install(lang="en")
from concurrent.futures import ProcessPoolExecutor
import multiprocessing

def work(i):
    raise RuntimeError({message!r})

if __name__ == "__main__":
    if sys.argv[1] == "joblib":
        from joblib import Parallel, delayed
        Parallel(2)(delayed(work)(i) for i in range(2))
    pool = ProcessPoolExecutor(1) if sys.argv[1] == "futures" else multiprocessing.Pool(1)
    with pool:
        list(pool.map(work, range(2)))
"""


@pytest.mark.parametrize("pool", ["futures", "multiprocessing", "joblib"])
@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_an_error_of_a_pools_worker_is_explained_once_at_its_line(pool, tmp_path):
    if pool == "joblib":
        pytest.importorskip("joblib")
    (tmp_path / "main.py").write_text(POOLS.format(message=MESSAGE))
    done = python("main.py", pool, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("error[matmul-shapes]") == 1
    assert "main.py:7, in work" in done.stderr
