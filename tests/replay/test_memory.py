"""Attribution of memory: what a step keeps, computed without data, is what it keeps with data."""

from __future__ import annotations

import runpy
import time

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from explainer.catalogue import load
from explainer.diagnose import diagnose
from explainer.live import crash_from
from explainer.probes.numerics.held import kept_graphs, step_memory
from explainer.probes.scene import Options, Scene
from explainer.replay import graphs, run, trial
from explainer.replay.confine import sandbox

FULL = (
    "CUDA out of memory. Tried to allocate 4.00 MiB. GPU 0 has a total capacity of {total} MiB of which 0.50 MiB is"
    " free. Including non-PyTorch memory, this process has {total} MiB memory in use. Of the allocated memory"
    " {live} MiB is allocated by PyTorch, and 0.25 MiB is reserved by PyTorch but unallocated."
)
HEAD = f"import torch\nfrom torch import nn\nFULL = {FULL.format(total=8, live=6)!r}\n"
MODELS = {
    "conv": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 64, 10)),
             (6, 3, 8, 8)),
    "transformer": (lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), (6, 10, 32)),
    "norm and dropout": (lambda: nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.Dropout(0.5), nn.GELU()),
                         (6, 16)),
}  # fmt: skip


def really_kept(model, x):
    """Bytes that a real forward keeps for backward, parameters and buffers left out."""
    own = {value.untyped_storage()._cdata for value in (*model.parameters(), *model.buffers())}
    kept = {}

    def keep(tensor):
        if tensor.untyped_storage()._cdata not in own:
            kept[tensor.untyped_storage()._cdata] = tensor.untyped_storage()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = model(x)
    del result
    return sum(storage.nbytes() for storage in kept.values())


@pytest.fixture(scope="module", autouse=True)
def _torch_is_loaded_whole():
    """As in any program that trains: the first optimizer makes torch import the rest of itself."""
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])


@pytest.mark.parametrize("name", MODELS)
def test_what_a_forward_keeps_is_computed_without_data(name):
    make, shape = MODELS[name]
    model, x = make(), torch.randn(*shape)
    truth = really_kept(model, x)
    held = [id(parameter) for parameter in model.parameters()]

    def work():
        from explainer.replay.footprint import measured

        return measured(model, (x,), {})

    found = sandbox.run(work, deadline=30).value
    assert found["bytes"] == truth
    assert found["batch"] == 6
    assert found["more"] > found["bytes"]
    assert [id(parameter) for parameter in model.parameters()] == held
    assert all(parameter.device.type == "cpu" for parameter in model.parameters())


def test_a_graph_that_backward_has_freed_keeps_nothing():
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
    losses = [model(torch.randn(16, 8)).mean() for _ in range(3)]
    alive = graphs.kept_bytes(losses)
    assert alive >= 3 * 16 * 64 * 4
    for loss in losses:
        loss.backward()
    assert graphs.kept_bytes(losses) == 0


def scene_of(folder, code):
    """The scene of a program's crash."""
    file = folder / "main.py"
    file.write_text(HEAD + code)
    with pytest.raises(Exception) as caught:  # noqa: PT011
        runpy.run_path(str(file))
    known = load()
    crash = crash_from(caught.value, caught.value.__traceback__, known.knows)
    match = known.match(crash)
    return Scene(crash, Options(deadline=30), dict(match.captures))


NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(256, 1024)
        self.act = nn.Tanh()

    def forward(self, x):
        x = self.act(self.fc(x))
        if not x.is_meta:
            raise torch.cuda.OutOfMemoryError(FULL)
        return x.sum()

net = Net()
optimizer = torch.optim.Adam(net.parameters())
"""


def test_a_step_is_the_sum_of_weights_gradients_state_and_activations(tmp_path):
    step = step_memory(scene_of(tmp_path, NET + "net(torch.randn(1000, 256))\n"))
    weights = 4 * (256 * 1024 + 1024)
    each = 4 * (256 + 1024)  # the input of fc, the output of act
    assert (step["weights"], step["gradients"], step["state"]) == (weights, weights, 2 * weights)
    assert step["activations"] == 1000 * each
    assert step["needed"] == 4 * weights + 1000 * each
    assert step["available"] == int(6.75 * 2**20)
    assert step["largest"] == (step["available"] - 4 * weights) // each
    assert step["layers"][0] == ("act", 1000 * 1024 * 4)


def test_without_a_graph_no_step_is_computed(tmp_path):
    assert step_memory(scene_of(tmp_path, NET + "with torch.no_grad():\n    net(torch.randn(1000, 256))\n")) is None


LOOP = """
net = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 1))
losses, total = [], 0
for step in range(4):
    loss = net(torch.randn(128, 64)).mean()
    {inside}
    losses.append({kept})
{after}
raise torch.cuda.OutOfMemoryError(FULL)
"""


def test_results_in_a_list_are_blamed_where_they_are_put_in(tmp_path):
    kept = kept_graphs(scene_of(tmp_path, LOOP.format(inside="pass", kept="loss", after="")))
    assert (kept.text, kept.span.line, kept.detail["count"]) == ("loss", 10, 4)
    assert kept.detail["bytes"] >= 3 * 128 * 512 * 4


@pytest.mark.parametrize(
    ("inside", "kept", "after"),
    [("loss.backward()", "loss", ""), ("pass", "loss.detach()", ""), ("pass", "loss.item()", ""),
     ("pass", "loss", "if step < 0:\n    torch.stack(losses).sum().backward()")],
    ids=["backward has run", "detached", "numbers", "backward comes later"],
)  # fmt: skip
def test_lists_that_keep_no_graph_or_need_it_are_not_blamed(inside, kept, after, tmp_path):
    assert kept_graphs(scene_of(tmp_path, LOOP.format(inside=inside, kept=kept, after=after))) is None


BIG = """
class Big(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.wide = nn.Linear(width, width)
        self.head = nn.Linear(width // 2, 10)

    def forward(self, x):
        return self.head(self.wide(x))

net = Big(6000)
net(torch.randn(4, 6000))
"""


def test_a_large_model_is_tried_again_without_a_copy_of_its_weights(tmp_path):
    """The weights take 144 MB; the child that runs the forward again with an edit may take 48 MB of its own."""
    scene = scene_of(tmp_path, BIG)
    options = Options(deadline=60, memory=48 << 20)
    report = diagnose(scene.crash, load(), options)
    assert [fix.certainty for fix in report.diagnoses[0].fixes][:1] == ["checked"]


def test_a_program_that_holds_much_memory_is_not_run_twice_unasked(monkeypatch):
    assert trial.early(1.0)
    monkeypatch.setattr(trial, "resident_bytes", lambda: trial.LARGE + 1)
    assert not trial.early(1.0)


def test_all_replays_of_a_crash_share_one_deadline(tmp_path):
    """Ten replays that take a fifth of the limit each would keep a person waiting for twice the limit."""
    scene = scene_of(tmp_path, BIG.replace("6000", "60"))
    whole = scene.seconds_left
    run.sandboxed(scene, lambda: time.sleep(0.05))
    assert scene.seconds_left <= whole - 0.05
    scene.spent.add(whole)
    assert run.sandboxed(scene, lambda: 1) is None


def test_ctrl_c_skips_the_replays_and_the_rest_is_said(tmp_path, monkeypatch):
    """A person who does not want to wait gets what needs no replay, and one line that says so."""
    scene = scene_of(tmp_path, BIG.replace("6000", "60"))
    asked = []

    def interrupted(*_, **__):
        asked.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(sandbox, "_read", interrupted)
    report = diagnose(scene.crash, load(), Options())
    assert report.diagnoses[0].rule == "linear-input-size"
    assert len(asked) == 1
    assert any("Ctrl-C" in remark for remark in report.remarks)
