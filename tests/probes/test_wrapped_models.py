"""Models inside of torch's wrappers, or split over ranks: layers are called as in the model, at the user's line."""

from __future__ import annotations

import json

import pytest
from commands import python

dist = pytest.importorskip("torch.distributed")
pytestmark = pytest.mark.skipif(not dist.is_available() or not dist.is_gloo_available(), reason="torch without gloo")
#: One process is a whole job, with real process groups.
START = """\
import json
import torch
import torch.distributed as dist
from torch import nn
import explainer

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(12, 4))

    def forward(self, x):
        return self.body(x)

found = {}

def told(name, call):
    try:
        call()
    except Exception as error:
        (report,) = explainer.explain(error, replay=False).reports
        found[name] = report.to_dict()["diagnoses"][0]
"""
WRAPPED = """
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.nn.parallel import DistributedDataParallel as DDP
cpu = torch.device("cpu")
ddp = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(12, 4)).to(cpu)
ddp = DDP(ddp)
parallel = nn.DataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(12, 4)))
sharded = FSDP(module=nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(12, 4)), device_id=cpu)
model = FSDP(Net(), device_id=cpu, auto_wrap_policy=ModuleWrapPolicy({nn.Linear}))
told("ddp", lambda: ddp(torch.rand(3, 8)))
told("parallel", lambda: parallel(torch.rand(3, 8)))
told("sharded", lambda: sharded(torch.rand(3, 8)))
told("model", lambda: model(torch.rand(3, 8)))
names = nn.DataParallel(Net())
total = names.module.body[0](torch.rand(3, 8)).sum()
told("names", lambda model=names: torch.autograd.grad(total, list(model.parameters())))
"""
WATCHED = """
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.nn.parallel import DistributedDataParallel as DDP
from explainer.training.finding import findings
from explainer.training.watcher import Watcher

class Fitting(Net):
    def __init__(self):
        super().__init__()
        self.body[2] = nn.Linear(16, 4)

cpu = torch.device("cpu")
apart = ModuleWrapPolicy({nn.Linear})
models = {
    "ddp": lambda: DDP(Fitting()),
    "whole": lambda: FSDP(Fitting(), device_id=cpu),
    "apart": lambda: FSDP(Fitting(), device_id=cpu, auto_wrap_policy=apart),
    "kept": lambda: FSDP(Fitting(), device_id=cpu, auto_wrap_policy=apart, use_orig_params=True),
}
for name, make in models.items():
    watcher = Watcher().start()
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(8):
        optimizer.zero_grad()
        model(torch.rand(3, 8)).sum().backward()
        optimizer.step()
    notes = watcher.stop()
    assert not notes.trouble, notes.trouble
    weights = sorted(one["name"] for one in watcher.weights.values())
    kinds = [one["kind"] for one in notes.roots.values()]
    found[name] = [weights, kinds, [one.rule for one in findings(watcher)]]
"""
SPLIT = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
mesh = init_device_mesh("cpu", (1,))
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(12, 4))
net = parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
told("net", lambda: net(torch.rand(3, 8)))
whole = parallelize_module(Net(), mesh, {"body.0": ColwiseParallel(), "body.2": RowwiseParallel()})
told("whole", lambda: whole(torch.rand(3, 8)))
"""


def found_in(folder, program):
    """The first diagnosis of each failure of a program, and the text of its lines."""
    (folder / "train.py").write_text(START + program + "print('FOUND', json.dumps(found))\n")
    done = python("train.py", cwd=folder, OMP_NUM_THREADS="1")
    said = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    assert said, done.stderr[-2000:]
    return json.loads(said[0].removeprefix("FOUND ")), (START + program).splitlines()


def test_a_wrapper_is_in_no_name_and_hides_no_line_that_builds_a_layer(tmp_path):
    found, lines = found_in(tmp_path, WRAPPED)
    layers = {"ddp": "ddp[2]", "parallel": "parallel[2]", "sharded": "sharded[2]", "model": "body[2]"}
    for name, layer in layers.items():
        said = found[name]
        assert said["rule"] == "linear-input-size", name
        assert said["headline"].startswith(f"{layer} expects 12 features per row"), name
        (edit,) = said["fixes"][0]["edits"]
        assert "nn.Linear(12, 4)" in lines[edit["start_line"] - 1], name
        assert "nn.Linear(16, 4)" in edit["after"], name
    assert "model.body.2.weight" in json.dumps(found["names"])
    said = json.dumps([found[name] for name in layers])
    assert not [word for word in ("_fsdp_wrapped_module", ".module") if word in said]


def test_what_is_watched_is_called_as_in_the_model(tmp_path):
    """FSDP makes one parameter of all that it shards together, and holds a list of them that nobody forgot."""
    found, _ = found_in(tmp_path, WATCHED)
    whole = [f"body.{layer}.{name}" for layer in (0, 2) for name in ("bias", "weight")]
    names = {"ddp": whole, "whole": ["body"], "apart": ["body.0", "body.2"], "kept": whole}
    assert found == {name: [called, ["Fitting"], []] for name, called in names.items()}


def test_tensor_parallel_layers_fail_at_the_users_line_with_the_size_that_reached_them(tmp_path):
    """torch raises an error of its own for what it caught; the plan's hooks have made DTensors of tensors."""
    pytest.importorskip("torch.distributed.tensor.parallel")
    found, lines = found_in(tmp_path, SPLIT)
    for name, layer in (("net", "net[2]"), ("whole", "body[2]")):
        said = found[name]
        assert said["headline"] == f"{layer} expects 12 features per row, but the input of {layer} has 16", name
        (edit,) = said["fixes"][0]["edits"]
        assert "nn.Linear(12, 4)" in lines[edit["start_line"] - 1], name
        assert "nn.Linear(16, 4)" in edit["after"], name
