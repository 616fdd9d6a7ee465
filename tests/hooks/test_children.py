"""Child processes and pools: an error is explained once, by the child that knows its values or by its parent."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from commands import python

from explainer.hooks import pooled

CHILD = """\
import multiprocessing as mp
import explainer
import torch
explainer.install()
net = torch.nn.Linear(8, 4)

def work():
    net(torch.rand(3, 6))

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
    pytest.importorskip("torch")
    count = 2 if method == "fork" else 1
    (tmp_path / "main.py").write_text(CHILD.format(method=method, count=count))
    done = python("main.py", cwd=tmp_path, seconds=240)
    assert done.stdout == "1\n" * count
    assert done.stderr.count("Traceback (most recent call last)") == count
    assert done.stderr.index("Traceback") < done.stderr.index("\nerror[")
    assert done.stderr.count("\nerror[linear-input-size]") == 1
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
import torch

net = torch.nn.Linear(8, 4)

def work(i):
    return net(torch.rand(3, 6))

if __name__ == "__main__":
    if sys.argv[1] == "joblib":
        from joblib import Parallel, delayed
        Parallel(2)(delayed(work)(i) for i in range(2))
    method = multiprocessing.get_context("spawn" if sys.argv[1] == "multiprocessing" else "fork")
    pool = ProcessPoolExecutor(1, method) if sys.argv[1] == "futures" else method.Pool(2)
    with pool:
        list(pool.map(work, range(2)))
"""


@pytest.mark.parametrize("pool", ["futures", "multiprocessing", "joblib"])
@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_an_error_of_a_pools_worker_is_explained_once_at_its_line(pool, tmp_path):
    """With the worker's operands where our hook runs in it; else its text is read beside the source."""
    pytest.importorskip("torch")
    if pool == "joblib":
        pytest.importorskip("joblib")
    (tmp_path / "main.py").write_text(POOLS)
    done = python("main.py", pool, cwd=tmp_path, seconds=240)
    assert done.returncode == 1
    assert done.stderr.count("error[") == 1
    said = done.stderr.partition("error[")[2]
    assert "main.py:10, in work" in said
    assert "+ net = torch.nn.Linear(6, 4)" in said
    assert ("Linear(in_features=8, out_features=4)" in said and "checked: " in said) == (pool != "joblib")


def test_a_worker_whose_error_another_one_explains_waits_for_it_and_for_nobody_who_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(pooled.job, "beside", lambda of=None: tmp_path)
    text, asked = "a traceback", []
    monkeypatch.setattr(pooled, "_report", lambda error, stack: asked.append(error))
    pooled._leave(ValueError("first"), None, text)
    pooled._leave(ValueError("again"), None, text)
    assert [str(one) for one in asked] == ["first"]
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    pooled._claim(tmp_path, "other").write_text(str(gone.pid))
    monkeypatch.setattr(pooled.process, "PATIENCE", 60.0)
    begun = time.monotonic()
    pooled._leave(ValueError("other"), None, "other")
    assert time.monotonic() - begun < 30
