"""CUDA played on the CPU: tensors say where they are, operators raise as CUDA's do, and no GPU is needed for it."""

from __future__ import annotations

import textwrap

import pytest

from explainer.authoring.examples import Runner
from explainer.replay import standin
from explainer.replay.confine import sandbox
from explainer.replay.outcomes import plain
from explainer.replay.standin.room import told

H100 = {"count": 1, "name": "H100", "capability": [9, 0], "memory": 80 << 30}
PRELUDE = f"""
from explainer.replay import standin
standin.enter({H100!r})
import torch
from torch import nn
import torch.nn.functional as F
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


def played(code: str) -> str:
    """What `result` is after a program ran with such a CUDA, or the error that ended it."""

    def work() -> str:
        names: dict[str, object] = {}
        try:
            exec(PRELUDE + textwrap.dedent(code), names)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return str(names["result"])

    outcome = sandbox.run(work, deadline=30)
    assert outcome.failed is None, outcome.failed
    return str(outcome.value)


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("result = torch.zeros(2, device='cuda').device", "cuda:0"),
        ("result = torch.zeros(2).to(device).is_cuda, torch.zeros(2).is_cuda", "(True, False)"),
        ("result = nn.Linear(2, 3).to(device).weight.device", "cuda:0"),
        ("result = (torch.ones(3, device=device) * 2 + 1).sum().device", "cuda:0"),
        ("result = torch.ones(3, device=device)[1:].view(1, 2).device", "cuda:0"),
        ("result = torch.ones(3, device=device).cpu().device", "cpu"),
        ("result = (torch.ones(3, device=device) + torch.tensor(1.0)).device", "cuda:0"),
        ("x = torch.ones(3, requires_grad=True, device=device); x.sum().backward(); result = x.grad.device", "cuda:0"),
        ("result = torch.zeros_like(torch.ones(3, device=device)).device", "cuda:0"),
        ("import copy; result = copy.deepcopy(torch.ones(3, device=device)).device", "cuda:0"),
        ("x = torch.ones(3, device=device); result = torch.arange(3, device=x.device).to(x).device", "cuda:0"),
        ("result = torch.ones(3, device=device)[torch.tensor([0, 2])].device", "cuda:0"),
        (
            "x = torch.ones(2, 3, requires_grad=True, device=device); x.max(1).values.sum().backward(); "
            "result = x.grad.device",
            "cuda:0",
        ),  # torch makes zeros on the way back, of no input
        ("x = torch.ones(2, 3, device=device); result = F.one_hot(x.long().sum(1), 8).device", "cuda:0"),
        ("torch.set_default_device('cuda'); result = torch.zeros(2).device", "cuda:0"),
        ("result = torch.ones(3, device=device).to(device, None, True).device", "cuda:0"),  # as `nn.Module.to` asks
        (
            "x = torch.ones(3).to(torch.zeros(1, device=device, dtype=torch.float64)); result = x.dtype, x.is_cuda",
            "(torch.float64, True)",
        ),
        ("result = nn.BatchNorm1d(2).to(device).to(device).num_batches_tracked.device", "cuda:0"),
        ("result = torch.backends.cudnn.is_acceptable(torch.ones(2, device=device))", "False"),
        ("result = nn.LSTM(2, 3).to(device)(torch.zeros(4, 1, 2, device=device))[0].device", "cuda:0"),
        (
            "g = torch.Generator(device); result = torch.rand(2, generator=g, device=device).device, g.device.type",
            "(device(type='cuda', index=0), 'cuda')",
        ),
        ("result = torch.cuda.device_count(), torch.cuda.get_device_name()", "(1, 'H100')"),
        ("x = torch.ones(3); y = x.to(device); y.add_(1); result = x.tolist()", "[1.0, 1.0, 1.0]"),
        ("x = torch.ones(3, device=device); result = x.to(device) is x", "True"),
        (
            """
            with torch.autocast("cuda"):
                result = nn.Linear(2, 3).to(device)(torch.ones(1, 2, device=device)).dtype
            """,
            "torch.float16",
        ),
    ],
)
def test_tensors_are_where_the_program_puts_them(code: str, result: str) -> None:
    assert played(code) == result


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("nn.Linear(2, 3).to(device)(torch.ones(1, 2))", "RuntimeError: Expected all tensors to be on the same device"),
        ("nn.Conv2d(1, 2, 3).to(device)(torch.ones(1, 1, 4, 4))", "RuntimeError: Expected all tensors"),
        ("torch.cat([torch.ones(2), torch.ones(2, device=device)])", "RuntimeError: Expected all tensors"),
        ("F.cross_entropy(torch.ones(2, 3, device=device), torch.tensor([0, 1]))", "RuntimeError: Expected all"),
        ("torch.ones(3)[torch.tensor([0], device=device)]", "RuntimeError: indices should be either on cpu or on the"),
        ("torch.ones(3, device=device).numpy()", "TypeError: can't convert cuda:0 device type tensor to numpy"),
        ("torch.ones(3, device=device).__array__()", "TypeError: can't convert cuda:0 device type tensor to numpy"),
        ("torch.eye(3) @ torch.ones(3, 3, device=device)", "RuntimeError: Expected all tensors"),
        ("torch.ones(3, device='cuda:1')", "CUDA error: invalid device ordinal"),
        ("torch.ones(3).cuda(2)", "CUDA error: invalid device ordinal"),
        ("nn.Embedding(3, 2).to(device)(torch.tensor([5], device=device))", "IndexError: index out of range in self"),
        ("torch.randn(3, generator=torch.Generator(), device=device)", "RuntimeError: Expected a 'cuda' device type"),
        ("torch.randperm(3, generator=torch.Generator(device))", "RuntimeError: Expected a 'cpu' device type"),
        (
            "(torch.set_default_device('cuda'), torch.randperm(3, generator=torch.Generator()))",
            "RuntimeError: Expected a 'cuda' device type",
        ),
        (
            "torch.ones(3, device=device).to(device, torch.float64, [])",
            "TypeError: to() received an invalid combination",
        ),
        (
            "result = torch.ones(3, device=device).pin_memory()",
            "RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
        ),
        (
            "rows = torch.utils.data.TensorDataset(torch.ones(4, 2, device=device))\n"
            "result = next(iter(torch.utils.data.DataLoader(rows, pin_memory=True)))",
            "RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
        ),
        (
            "a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(); a.record(); result = a.elapsed_time(b)",
            "ValueError: Both events must be created with argument 'enable_timing=True'.",
        ),
    ],
)
def test_operators_raise_as_those_of_cuda_do_and_at_once(code: str, error: str) -> None:
    assert error in played(f"result = {code}")


def test_a_checkpoint_keeps_where_its_tensors_were() -> None:
    code = """
    import io
    def loaded(**more):
        file = io.BytesIO()
        torch.save({"x": torch.ones(2, device=device), "y": torch.ones(2)}, file)
        file.seek(0)
        return [str(one.device) for one in torch.load(file, **more).values()]
    result = loaded(), loaded(map_location="cpu")
    """
    assert played(code) == "(['cuda:0', 'cpu'], ['cpu', 'cpu'])"


def test_training_goes_on_as_on_the_cpu() -> None:
    code = """
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    x, y = torch.randn(6, 1, 4, 4, device=device), torch.arange(6, device=device) % 3
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    result = losses[-1] < losses[0], optimizer.state[model[0].weight]["exp_avg"].device
    """
    assert played(code) == "(True, device(type='cuda', index=0))"


def test_memory_that_is_played_is_full_where_the_process_has_no_more() -> None:
    code = """
    standin.leave()
    standin.enter({**standin.described(), "room": 5 << 20})
    x = torch.ones(256, 1024, device=device)  # 1 MiB
    for _ in range(9):
        y = x.exp() + 1  # what is freed can be had again
    kept, beside = [], [torch.ones(256, 1024) for _ in range(9)]
    try:
        for _ in range(9):
            kept.append(x.exp())
    except torch.cuda.OutOfMemoryError as error:
        result = len(kept), "Tried to allocate 1.00 MiB" in str(error), "5.00 MiB allowed" in str(error)
    """
    assert played(code) == "(3, True, True)"


@pytest.mark.parametrize(
    ("message", "size"),
    [
        ("CUDA out of memory. Tried to allocate 2.00 GiB. 1.50 GiB allowed; Of the allocated memory 1.00 GiB", 3 << 29),
        (
            "CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 16.00 GiB of which 1.00 GiB"
            " is free. Of the allocated memory 12.00 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch",  # noqa: E501
            27 << 29,
        ),
        ("CUDA out of memory. Tried to allocate 2.00 GiB.", None),
        ("not enough memory: 1.00 GiB allowed;", None),
    ],
)
def test_a_message_tells_how_much_memory_tensors_could_have(message: str, size: int | None) -> None:
    assert told(message) == size


@pytest.mark.parametrize(
    ("options", "used", "ended"),
    [
        (
            "num_workers=2",
            "torch.ones(1, device=device)",
            "RuntimeError: Cannot re-initialize CUDA in forked subproces",
        ),
        ("num_workers=0", "torch.ones(1, device=device)", "cuda:0"),
        ("num_workers=2, multiprocessing_context='spawn'", "torch.ones(1, device=device)", "cuda:0"),
        ("num_workers=2", "None", "cuda:0"),
    ],
)
def test_a_forked_worker_cannot_use_cuda_that_was_used(options: str, used: str, ended: str) -> None:
    code = f"""
    from explainer.replay.confine.workers import without_workers
    without_workers()
    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 4
        def __getitem__(self, i):
            return torch.full((2,), float(i)).to(device)
    loader = torch.utils.data.DataLoader(Rows(), {options})
    {used}
    result = next(iter(loader)).device
    """
    assert played(code).startswith(ended)


def test_a_process_without_cuda_has_none_to_be_played() -> None:
    assert standin.described() is None


def test_what_cuda_and_the_stand_in_say_of_two_devices_counts_as_the_same() -> None:
    said = {
        plain("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"),
        plain("Expected all tensors to be on the same device, but got mat1 is on cpu, different from other tensors on"),
        plain("Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same"),
    }
    assert len(said) == 1


BUFFER = """
class Positions(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.table = torch.randn(8, width)

    def forward(self, x):
        return x + self.table[: x.size(1)]

model = nn.Sequential(nn.Embedding(5, 4), Positions(4), nn.Linear(4, 5)).to(device)
ids = torch.randint(0, 5, (2, 6)).to(device)
F.cross_entropy(model(ids).transpose(1, 2), ids).backward()
"""


def test_a_program_on_cuda_is_run_again_with_its_fix(runner: Runner) -> None:
    """The crash is played here as well; what is tried is what `explain run` tries on a machine with a GPU."""
    answer = runner.run(PRELUDE + BUFFER, program="clean")
    best = answer["document"]["reports"][0]["diagnoses"][0]
    assert best["rule"] == "plain-attribute"
    assert best["fixes"][0]["certainty"] == "checked"
    assert "register_buffer" in best["fixes"][0]["edits"][0]["after"]


IN_USE = """
import os
if os.environ.get("CUDA_VISIBLE_DEVICES") != "":  # where the program runs first: as with a GPU, it cannot be forked
    torch.cuda.is_initialized = lambda: True
"""
WRITTEN = """
net = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 6)).to(device)

def weighted(x):
    weight = net(x).softmax(1)
    weight *= x.sigmoid()
    return (weight * x).sum()

for step in range(3):
    loss = weighted(torch.randn(4, 6, device=device))
    loss.backward()
"""


def test_what_a_fork_would_tell_is_found_out_where_cuda_is_played(runner: Runner) -> None:
    answer = runner.run(PRELUDE + IN_USE + WRITTEN, program="clean")
    report = answer["document"]["reports"][0]
    best = report["diagnoses"][0]
    assert best["rule"] == "inplace-saved-value"
    assert best["certainty"] == "proved"
    assert best["fixes"][0]["certainty"] == "checked"
    assert "weight = weight * x.sigmoid()" in best["fixes"][0]["edits"][0]["after"]
    assert any("without the GPU" in remark for remark in report["remarks"])


FILLED = """
class Mean:
    def __init__(self):
        self.value = 0.0

    def add(self, new):
        self.value = 0.9 * self.value + 0.1 * new

standin.leave()
standin.enter({**standin.described(), "room": 24 << 20})
net = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 1)).to(device)
mean = Mean()
for step in range(40):
    mean.add(net(torch.randn(1024, 64, device=device)).pow(2).mean())
"""


def test_memory_that_fills_up_is_tried_against_where_cuda_is_played(runner: Runner) -> None:
    """A running mean keeps every step's graph; with its value detached the program runs to the end in that memory."""
    best = runner.run(PRELUDE + FILLED, program="clean")["document"]["reports"][0]["diagnoses"][0]
    assert best["rule"] == "graphs-kept-in-list"
    assert best["culprit"]["code"] == "0.9 * self.value + 0.1 * new"
    assert best["fixes"][0]["certainty"] == "checked"
    assert ".detach()" in best["fixes"][0]["edits"][0]["after"]


LATE = """
import os, torch
from torch import nn
if os.environ.get("CUDA_VISIBLE_DEVICES") != "":  # where the program runs first: as with a GPU, the error comes late
    from explainer.replay import standin
    standin.enter({about!r})
    standin._played.clear()
    torch.cuda.is_initialized = lambda: True
    nn.functional.cross_entropy = lambda scores, labels: scores.sum()
    def item(self):
        raise RuntimeError("CUDA error: device-side assert triggered")
    torch.Tensor.item = item
"""
LABELS = """
import late
import torch
from torch import nn

CLASSES = 4

def batch(size):
    return torch.randn(size, 8), torch.randint(0, CLASSES + 1, (size,))

torch.manual_seed(0)
model = nn.Linear(8, CLASSES).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x, y = batch(32)
    loss = nn.functional.cross_entropy(model(x.to("cuda")), y.to("cuda"))
    loss.backward()
    optimizer.step()
    print(loss.item())
"""


def test_an_error_that_comes_late_is_explained_where_the_cpu_raises_it(runner: Runner) -> None:
    answer = runner.run(LABELS, {"late.py": LATE.format(about=H100)}, program="clean", script="main.py")
    report = answer["document"]["reports"][0]
    best = report["diagnoses"][0]
    assert report["error"]["message"] == "CUDA error: device-side assert triggered"
    assert best["rule"] == "class-label-range"
    assert best["culprit"]["line"] in (9, 16)
    assert best["fixes"][0]["certainty"] == "checked"
    assert any("on the CPU" in remark for remark in report["remarks"])
