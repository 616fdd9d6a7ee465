"""Ranks of a job: one tells the error, the others what they have to do with it; under `explain run` in one report."""

from __future__ import annotations

import json
import os
import socket
import sys
from types import SimpleNamespace

import pytest
from commands import explain, python

from explainer.api import Explanation
from explainer.diagnosis import Diagnosis, Report
from explainer.hooks import collectives, job, launcher

dist = pytest.importorskip("torch.distributed")
gloo = pytest.mark.skipif(not dist.is_available() or not dist.is_gloo_available(), reason="torch without gloo")
JOB = """
import datetime, sys, time
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

@record
def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=2))
    x = torch.ones(4 + 4 * (sys.argv[1] == "size") * dist.get_rank())
    if sys.argv[1] == "own" and dist.get_rank() == 1:
        torch.nn.Linear(4, 2)(torch.ones(3, 5))
    if sys.argv[1] == "hang" and dist.get_rank() == 1:
        time.sleep(60)
    if sys.argv[1] == "exit" and dist.get_rank() == 1:
        sys.exit(3)
    if sys.argv[1] == "order" and dist.get_rank() == 1:
        dist.broadcast(x, 0)
    else:
        dist.all_reduce(x)

main()
"""


def launched(mode, *options, count=2):
    """The launcher's command; it takes a port that is free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = ("--master_addr", "127.0.0.1", "--master_port", port)
    return ("-m", "torch.distributed.run", *address, "--nproc_per_node", str(count), *options, "job.py", mode)


@gloo
def test_a_job_under_explain_run_ends_with_one_report_of_the_rank_that_failed_first(tmp_path):
    (tmp_path / "job.py").write_text(JOB)
    ranks_of_job = launched("own", "--log-dir", "logs")
    done = explain("run", "--json", "report.json", *ranks_of_job, cwd=tmp_path, OMP_NUM_THREADS="1")
    assert done.returncode == 1
    report = done.stderr[done.stderr.rindex("error[") :]
    assert done.stderr.count("error[") == 1
    assert "error[linear-input-size]" in report
    assert "rank 1 of 2 failed first" in report
    assert "not tried: the other ranks would have to take part" in report
    said = " ".join(report.split())
    assert "rank 0, at job.py:20, only lost the others: rank 1 failed first, at job.py:12" in said
    (found,) = json.loads((tmp_path / "report.json").read_text())["reports"]
    assert found["error"]["rank"] == 1
    assert found["diagnoses"][0]["rule"] == "linear-input-size"
    error_file = next(
        (tmp_path / "logs").rglob("1/error.json")
    )  # what @record wrote where TORCHELASTIC_ERROR_FILE says
    written = json.loads(error_file.read_text())["message"]
    assert written["message"].startswith("RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2)")
    assert "explainer" not in written["extraInfo"]["py_callstack"].replace(str(tmp_path), "")
    read = explain(str(error_file.relative_to(tmp_path)), cwd=tmp_path)
    assert "error[linear-in-source]" in read.stdout
    assert "job.py:12" in read.stdout


@gloo
@pytest.mark.parametrize(
    ("mode", "rule", "line", "count"), [("hang", "collective-timeout", 14, 3), ("exit", "rank-ended", 16, 4)]
)
def test_a_rank_that_never_answers_or_leaves_without_an_error_is_named_with_its_line(tmp_path, mode, rule, line, count):
    """Of several that the launcher then ends, it takes any for the first."""
    (tmp_path / "job.py").write_text(JOB)
    done = explain("run", *launched(mode, count=count), cwd=tmp_path, OMP_NUM_THREADS="1")
    assert done.stderr.count("error[") == 1
    said = " ".join(done.stderr[done.stderr.rindex("error[") :].split())
    assert f"error[{rule}]" in said
    stood = f"had no error: it was at job.py:{line} when the job was ended"
    assert f"rank 1 {stood if mode == 'hang' else f'exited with status 3 at job.py:{line}'}" in said
    assert "raises unless" not in said
    assert "ended by signal 15" not in said


SHARDED = """
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(12, 4))
for layer in (net[0], net[2], net):
    fully_shard(layer, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
net(torch.rand(3, 8)).sum().backward()
"""


@gloo
def test_a_layer_that_fsdp_shards_is_the_program_s_own_in_one_report_for_all_ranks(tmp_path):
    """FSDP gives the layer another class; all ranks fail alike."""
    fsdp = pytest.importorskip("torch.distributed.fsdp")
    if not hasattr(fsdp, "fully_shard"):
        pytest.skip("torch without fully_shard")
    (tmp_path / "job.py").write_text(SHARDED)
    done = explain("run", *launched("sharded"), cwd=tmp_path, OMP_NUM_THREADS="1")
    assert done.stderr.count("error[") == 1
    said = " ".join(done.stderr[done.stderr.rindex("error[") :].split())
    assert "error[linear-input-size]: net[2] expects 12 features per row" in said
    assert "failed in the same way as rank" in said
    assert "Line 9 built net[2] for 12" in said
    assert "Linear(in_features=12, out_features=4)" in said
    assert "FSDPLinear" not in said


UNUSED = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 16)
        self.spare = nn.Linear(16, 2, bias=False)

    def forward(self, x):
        return self.body(x)

dist.init_process_group("gloo")
net = DistributedDataParallel(Net())
for step in range(2):
    net(torch.rand(4, 8)).sum().backward()
"""


@gloo
def test_a_parameter_that_no_rank_uses_is_named_with_the_line_that_builds_it(tmp_path):
    """DDP is asked for names; where it says positions alone is an example of the rule."""
    (tmp_path / "job.py").write_text(UNUSED)
    run = ("run", "--json", "report.json", *launched("unused"))
    done = explain(*run, cwd=tmp_path, OMP_NUM_THREADS="1", TORCH_DISTRIBUTED_DEBUG="INFO")
    assert done.stderr.count("error[") == 1
    said = " ".join(done.stderr[done.stderr.rindex("error[") :].split())
    assert "error[ddp-layer-unused]: spare.weight took no part in the loss" in said
    assert "rank 1 failed in the same way as rank 0" in said or "rank 0 failed in the same way as rank 1" in said
    (found,) = json.loads((tmp_path / "report.json").read_text())["reports"]
    assert found["diagnoses"][0]["culprit"]["line"] == 11
    assert any("find_unused_parameters=True" in fix["title"] for fix in found["diagnoses"][0]["fixes"])


@gloo
def test_ranks_in_different_collectives_are_named_with_what_they_were_given(tmp_path):
    """After `install()`, without our launcher: one rank reports, both say what they were in."""
    (tmp_path / "job.py").write_text("import explainer; explainer.install()\n" + JOB)
    done = python(*launched("order"), cwd=tmp_path, OMP_NUM_THREADS="1")
    assert done.stderr.count("error[") == 1
    said = " ".join(done.stderr.replace("[rank0]:", "").replace("[rank1]:", "").split())
    assert "all_reduce(tensor [4] float32) at job.py:21" in said
    assert "broadcast(tensor [4] float32) at job.py:19" in said


@gloo
def test_a_rank_that_gloo_aborts_left_word_of_the_collective_that_it_was_in(tmp_path):
    """It got more than it asked for; no Python of it runs any more, and the other one is ended before it can speak."""
    (tmp_path / "job.py").write_text(JOB)
    done = explain("run", *launched("size"), cwd=tmp_path, OMP_NUM_THREADS="1")
    said = " ".join(done.stderr[done.stderr.rindex("error[") :].split())
    assert "error[rank-ended]: the ranks were not in the same collective" in said
    assert "rank 0 was in all_reduce(tensor [4] float32) at job.py:20" in said
    assert "rank 1 was in all_reduce(tensor [8] float32) at job.py:20" in said
    assert "nothing here shows which" not in said


@gloo
def test_each_collective_leaves_its_turn_its_tensors_and_its_line(tmp_path, monkeypatch):
    import torch
    import torch.distributed.distributed_c10d as c10d

    for name in collectives._METHODS:
        if hasattr(c10d.ProcessGroup, name):
            monkeypatch.setattr(c10d.ProcessGroup, name, getattr(c10d.ProcessGroup, name))  # as it was, at the end
    collectives.keep(str(tmp_path), "3")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        dist.all_reduce(torch.ones(2))
        dist.all_gather([torch.ones(2, 3)], torch.ones(2, 3))
    finally:
        dist.destroy_process_group()
    (call,) = collectives.last_calls(tmp_path).values()
    assert (call["op"], call["turn"]) == ("all_gather", 2)
    assert call["tensors"] == "tensor_list 1 x [2, 3] float32, tensor [2, 3] float32"
    assert call["place"].startswith(os.path.relpath(__file__))


def test_ranks_differ_where_they_came_to_the_same_turn_with_what_cannot_meet():
    one = {"op": "all_reduce", "tensors": "tensor [4] float32", "group": "0", "turn": 7, "place": "a.py:1"}
    assert collectives.differing({0: one, 1: {**one, "tensors": "tensor [8] float32"}}).keys() == {0, 1}
    assert collectives.differing({0: one, 1: {**one, "op": "broadcast"}})
    assert not collectives.differing({0: one, 1: {**one, "op": "broadcast", "turn": 8}}), "one is only ahead"
    assert not collectives.differing({0: one, 1: {**one, "op": "broadcast", "group": "1"}})
    gather = {**one, "op": "gather"}
    assert not collectives.differing({0: gather, 1: {**gather, "tensors": ""}}), "only one of them has the lists"


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        ([sys.executable, "-u", "job.py", "-m"], [sys.executable, "-u", "-m", "explainer", "run", "job.py", "-m"]),
        ([sys.executable, "-m", "job"], [sys.executable, "-m", "explainer", "run", "-m", "job"]),
        ([sys.executable, "-X", "dev", "job.py"], None),
        (["bash", "job.sh"], None),
    ],
)
def test_a_rank_s_command_is_put_under_ours_where_it_is_understood(given, ours):
    assert launcher.command(given, []) == (ours or given)


def test_a_rank_that_a_signal_ended_is_told_with_its_line_and_what_the_others_were_in(tmp_path, monkeypatch):
    """gloo aborts the rank that gets more than it asked for: no Python of that rank runs any more."""
    monkeypatch.setenv(job.FOLDER, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rank-0.stack").write_text(
        'Current thread 0x1:\n  File "/usr/lib/python3.11/site-packages/torch/distributed/c10d.py", line 9 in f\n'
        f'  File "{tmp_path}/job.py", line 14 in <module>\n'
    )
    call = {"op": "all_reduce", "tensors": "tensor [8] float32", "place": "job.py:14"}
    lost = {
        "rank": 1,
        "world": 2,
        "time": 1.0,
        "lost": True,
        "same": ["E", "job.py:14"],
        "place": "job.py:14",
        "call": call,
    }
    (tmp_path / "rank-1.json").write_text(json.dumps(lost))
    failure = SimpleNamespace(exitcode=-6, signal_name=lambda: "SIGABRT")
    error = type("ChildFailedError", (Exception,), {"failures": {0: failure}})()
    (report,) = launcher.joined(error, Explanation((Report("ChildFailedError", "m"),))).reports
    assert report.remarks == (
        "rank 0 was ended by SIGABRT, without an error of Python's, at job.py:14",
        "the last collective of rank 1: all_reduce(tensor [8] float32) at job.py:14",
    )


def test_what_a_rank_was_in_before_the_ranks_were_started_again_is_not_compared(tmp_path, monkeypatch):
    """The second start may have fewer ranks, or one that ends before its first collective."""
    monkeypatch.setenv(job.FOLDER, str(tmp_path))
    call = {"op": "all_reduce", "tensors": "tensor [8] float32", "place": "job.py:14", "group": "0", "turn": 1}
    earlier = {**call, "op": "broadcast", "attempt": 0}
    (tmp_path / "rank-0.call").write_text(json.dumps({**call, "attempt": 1}))
    (tmp_path / "rank-1.call").write_text(json.dumps(earlier))
    failure = SimpleNamespace(exitcode=-6, signal_name=lambda: "SIGABRT")
    error = type("ChildFailedError", (Exception,), {"failures": {0: failure}})()
    bare = Explanation((Report("ChildFailedError", "m", diagnoses=(Diagnosis("rank-ended", "d", "h", "c"),)),))
    (report,) = launcher.joined(error, bare).reports
    assert report.diagnoses[0].headline == "h"
    assert [line for line in report.remarks if "last collective" in line] == [
        "the last collective of rank 0: all_reduce(tensor [8] float32) at job.py:14"
    ]
    (tmp_path / "rank-1.call").write_text(json.dumps({**earlier, "attempt": 1}))
    (report,) = launcher.joined(error, bare).reports
    assert report.diagnoses[0].headline == "the ranks were not in the same collective"
