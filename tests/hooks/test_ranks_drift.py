"""Ranks of a job whose weights are no longer the same are named; those that average in any way are not."""

from __future__ import annotations

import pytest
from commands import python
from test_ranks import gloo, launched

DRIFT = """
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
for mode in sys.argv[1].split(","):
    torch.manual_seed(rank if mode == "apart" else 0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    if mode in ("whole", "inside"):
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    draws = torch.Generator().manual_seed(rank)
    for step in range(40):
        x = torch.randn(32, 6, generator=draws)
        out = model.module(x) if mode == "inside" else model(x)
        loss = (out.squeeze(1) - x.sum(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        if mode in ("apart", "averaged"):
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= dist.get_world_size()
        optimizer.step()
        if mode == "now and then" and step % 10 == 9:
            for parameter in model.parameters():
                dist.all_reduce(parameter.data)
                parameter.data /= dist.get_world_size()
dist.destroy_process_group()
"""


@gloo
@pytest.mark.parametrize(
    ("mode", "line", "why"),
    [
        ("alone", 26, "Nothing averages the gradients over the 2 ranks"),
        ("inside", 18, "the model inside of it was called by itself"),
        ("apart", 11, "only where they begin the same"),
        ("averaged,whole,now and then", 0, ""),
    ],
)
def test_ranks_whose_weights_drift_apart_are_named_and_no_others(tmp_path, mode, line, why):
    (tmp_path / "job.py").write_text(DRIFT)
    *launcher, script, mode = launched(mode)
    done = python(*launcher, "-m", "explainer", "watch", "--no-trial", script, mode, cwd=tmp_path, OMP_NUM_THREADS="1")
    said = " ".join(done.stderr.split())
    assert done.returncode == 0
    assert said.count("silent[ranks-drift-apart]") == bool(line)
    assert ("nothing found" in said) == (not line)
    assert not line or (f"job.py:{line}" in said and why in said)
