"""Repros: of crashes of many kinds a script is made that, run by another interpreter, raises the same error."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys

import pytest
from commands import explain

pytest.importorskip("torch")

import explainer
from explainer.replay.scripts import CleanProcess
from explainer.reproduce.agreement import said

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
#: A program that fails, what its repro must hold, and what it must not.
PROGRAMS = {
    "layer": ("net = nn.Sequential(nn.Flatten(), nn.Linear(400, 120))\nnet(torch.randn(4, 16, 6, 6))",
              "nn.Linear(400, 120)", "Flatten"),
    "layer settings": ("conv = nn.Conv2d(8, 16, 3, padding=1, groups=4, bias=False)\nconv(torch.randn(2, 6, 9, 9))",
                       "groups=4", "bias"),
    "half layer": ("lin = nn.Linear(8, 4).half()\nlin(torch.randn(2, 8))", ".to(torch.float16)", "requires_grad"),
    "operator": ("def score(q, k):\n    return q @ k\nscore(torch.randn(2, 8, 16), torch.randn(2, 8, 16))",
                 "q @ k", "score"),
    "nested expression": ("a = torch.randn(3, 4)\nb = torch.randn(5, 4)\n((a * 2).relu() + b.exp())", " + ", "relu"),
    "function of torch": ("logits = torch.randn(8, 10)\nlabels = torch.zeros(8)\nF.cross_entropy(logits, labels)",
                          "F.cross_entropy(", "label_smoothing"),
    "label out of range": ("labels = torch.tensor([1, 3, 10, 2])\nF.cross_entropy(torch.randn(4, 10), labels)",
                           "torch.full((4,), 10", "3,"),
    "embedding": ("ids = torch.tensor([[5, 1000]])\nnn.Embedding(1000, 64)(ids)", "nn.Embedding(1000, 64)", "[[5"),
    "list of tensors": ("parts = [torch.randn(3, 4), torch.randn(3, 5)]\ntorch.cat(parts)", "torch.cat(", "randint"),
    "view": ("x = torch.randn(4, 16, 5, 5)\nx.view(4, 16 * 6 * 6)", "x.view(4, 576)", "stride"),
    "strides": ("y = torch.randn(2, 3, 4).transpose(1, 2)\ny.view(2, -1)", ".transpose(1, 2)", "empty_strided"),
    "index": ("x = torch.zeros(14, 8)\ni = 14\nx[i]", "x[14]", "i ="),
    "assignment": ("x = torch.zeros(3, 4)\nx[0, :2] = torch.ones(3)", "x[0, :2] =", "i ="),
    "leaf": ("w = nn.Parameter(torch.zeros(3))\nw += 1", "w += 1", "strides"),
    "leaf in place": ("w = torch.zeros(3, requires_grad=True)\nw.mul_(2)", "w.mul_(2)", "full"),
    "not a scalar": ("x = torch.randn(3, requires_grad=True)\nloss = (x * 2)\nloss.backward()", ".backward()", "full"),
    "twice": ("w = torch.randn(3, requires_grad=True)\nloss = (w ** 2).sum()\nloss.backward()\nloss.backward()",
              "loss.backward()\nloss.backward()", "nn"),
    "no graph": ("w = torch.randn(3, requires_grad=True)\nloss = torch.tensor(w.sum().item())\nloss.backward()",
                 "item()", "detach"),
    "overwritten": ("x = torch.randn(8, 64, requires_grad=True)\ny = torch.sigmoid(x)\ny += 1\ny.sum().backward()",
                    "torch.sigmoid(x)", "relu"),
    "overwritten weight": (
        "net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))\nloss = net(torch.randn(3, 4)).sum()\n"
        "with torch.no_grad():\n    net[1].weight.mul_(2)\nloss.backward()", "nn.Linear(8, 2)", "Sequential",
    ),
    "state dict": ("nn.Linear(4, 2).load_state_dict(nn.Linear(4, 3).state_dict())", "load_state_dict", "randn"),
    "state dict keys": (
        "model = nn.Sequential(nn.Linear(4, 2))\nsaved = {'module.' + k: v for k, v in model.state_dict().items()}\n"
        "model.load_state_dict(saved)",
        "module.0.weight", "randn",
    ),
    "collate": ("from torch.utils.data import DataLoader\ndata = [torch.zeros(3, 4), torch.zeros(3, 5)]\n"
                "next(iter(DataLoader(data, batch_size=2)))", "default_collate", "DataLoader"),
    "meta": ("torch.ones(2, device='meta').numpy()", 'device="meta"', "cuda"),
    "gru": ("rnn = nn.GRU(8, 16, num_layers=2, batch_first=True)\nrnn(torch.randn(2, 5, 7))",
            "nn.GRU(8, 16", "bias"),
    "batch norm": ("norm = nn.BatchNorm1d(4)\nnorm(torch.randn(1, 4))", "nn.BatchNorm1d(4)", "eval"),
    "einsum": ("torch.einsum('bij,bjk->bik', torch.randn(2, 3, 4), torch.randn(2, 5, 6))", "torch.einsum(", "range"),
    "mask": ("x = torch.randn(5, 3)\nkeep = torch.zeros(4, dtype=torch.bool)\nx[keep]", "x[keep]", "zeros(4"),
    "probabilities": ("torch.multinomial(torch.zeros(4), 2)", "torch.zeros(4)", "randn"),
    "anomaly": ("with torch.autograd.detect_anomaly(check_nan=True):\n    x = torch.zeros(3, requires_grad=True)\n"
                "    y = (x.sqrt() * 0).sum()\n    y.backward()", "sqrt", "values"),
}  # fmt: skip


@pytest.fixture(scope="module")
def process():
    with CleanProcess() as one:
        yield one


def crashed(folder, code):
    """The error that a program ends with, its frames alive."""
    file = folder / "main.py"
    file.write_text(HEAD + code + "\n")
    with pytest.raises(Exception) as caught:  # noqa: PT011
        runpy.run_path(str(file))
    return caught.value


@pytest.fixture(scope="module")
def made(process, tmp_path_factory):
    """By program: the error that it ended with, and the repro that was made of it."""
    found = {}
    for name, (code, _, _) in PROGRAMS.items():
        error = crashed(tmp_path_factory.mktemp("program"), code)
        found[name] = error, explainer.repro(error, process=process)
    return found


@pytest.fixture(scope="module")
def fresh(made):
    """By program: the error that a new interpreter, which knows nothing of us, ends with when it runs the script."""
    code = (
        "import json, sys\nout = {}\nfor name, script in json.load(sys.stdin).items():\n"
        "    out[name] = ['', '']\n"
        "    try:\n        exec(compile(script, name, 'exec'), {'__name__': '__main__'})\n"
        "    except BaseException as error:\n        out[name] = [type(error).__name__, str(error)]\n"
        "json.dump(out, sys.stdout)"
    )
    given = json.dumps({name: repro.script for name, (_, repro) in made.items() if repro})
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_script_raises_the_same_error_in_a_new_interpreter(name, made, fresh):
    error, repro = made[name]
    assert repro, repro.why
    assert fresh[name][0] == type(error).__name__
    assert said(fresh[name][1]) == said(str(error))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_script_holds_what_matters_and_nothing_else(name, made):
    _, has, has_not = PROGRAMS[name]
    _, repro = made[name]
    body = repro.script.split("values are synthetic.\n")[1]
    assert has in body
    assert has_not not in body
    assert repro.checked
    assert len(repro.script.splitlines()) < 25


def test_sizes_in_the_message_are_the_crashs_own(made):
    error, repro = made["layer"]
    assert str(error) in repro.raised


def test_no_value_of_the_users_gets_into_a_script(process, tmp_path):
    code = "secret = torch.tensor([123457, 765431])\nsecret.view(3)"
    repro = explainer.repro(crashed(tmp_path, code), process=process)
    assert not any(value in repro.script for value in ("123457", "765431"))
    assert "secret" in repro.script


def test_an_error_in_other_code_has_no_script(process, tmp_path):
    repro = explainer.repro(crashed(tmp_path, "{}['a']"), process=process)
    assert not repro
    assert "not PyTorch's" in repro.why


def test_a_call_for_another_device_is_written_but_not_said_to_be_checked(process):
    repro = explainer.repro(
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
        process=process,
    )
    assert 'device="cuda"' in repro.script
    assert repro.checked == process.about()["cuda"]
    assert repro.checked or "Not checked here" in repro.script


PASTED = {
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)": "torch.randn(400, 120)",
    "RuntimeError: The size of tensor a (16) must match the size of tensor b (10) at non-singleton dimension 1": "16",
    "IndexError: index 14 is out of bounds for dimension 0 with size 14": "x[14]",
    "RuntimeError: shape '[-1, 400]' is invalid for input of size 179776": "view(-1, 400)",
    "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and BFloat16": "torch.bfloat16",
    "RuntimeError: stack expects each tensor to be equal size, but got [3, 224, 224] at entry 0 and [3, 200, 224] at "
    "entry 1": "torch.zeros(3, 200, 224)",
}


@pytest.mark.parametrize("text", PASTED)
def test_a_message_that_tells_enough_is_reproduced(text, process):
    repro = explainer.repro(text, process=process)
    assert PASTED[text] in repro.script
    assert repro.raised == text


HOSTILE = [
    'RuntimeError: shape \'[-1, __import__("os").system("touch pwned")]\' is invalid for input of size 12',
    "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and os.system",
    'RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "a\\", os.getcwd(), \\"". ',
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4000000x5760000 and 400x120)",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x99999999999999999999 and 400x120)",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_but_sizes_and_known_words_of_a_paste_gets_into_code(text, process, monkeypatch):
    ran = []
    monkeypatch.setattr(process, "run", lambda script: ran.append(script))
    repro = explainer.repro(text, process=process)
    assert not repro
    assert not any("os" in script or "import os" in script or "9999" in script for script in ran)
    assert not any("4000000" in script for script in ran)


def test_a_message_that_tells_too_little_says_so(process):
    repro = explainer.repro("RuntimeError: CUDA error: out of memory", process=process)
    assert not repro
    assert "explain repro SCRIPT" in repro.why


def test_a_program_prints_its_repro_alone_on_standard_output(tmp_path):
    code = "import sys\nprint('epoch', sys.argv[1])\ntorch.ones(2, 3) @ torch.ones(2, 3)\n"
    (tmp_path / "train.py").write_text(HEAD + code)
    done = explain("repro", "train.py", "7", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# Raises RuntimeError: mat1 and mat2")
    assert all(text in done.stderr for text in ("epoch 7", "Traceback", "error["))
    compile(done.stdout, "repro.py", "exec")


def test_a_program_that_ends_well_has_no_repro(tmp_path):
    (tmp_path / "fine.py").write_text("print('fine')\n")
    done = explain("repro", "fine.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "without an error" in done.stderr


def test_a_log_is_reproduced_into_a_file(tmp_path):
    text = "step 3\nRuntimeError: mat1 and mat2 shapes cannot be multiplied (4x5 and 6x7)\n"
    (tmp_path / "train.log").write_text(text)
    done = explain("repro", "-o", "repro.py", "train.log", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "torch.randn(6, 7)" in (tmp_path / "repro.py").read_text()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["nowhere.log"], 2), (["nowhere.py"], 2), (["-m"], 2), (["-"], 1), (["a.log", "b.log"], 2)],
)
def test_exit_statuses(arguments, status, tmp_path):
    done = explain("repro", *arguments, cwd=tmp_path)
    assert done.returncode == status
    assert done.stderr.startswith("explain: ")
    assert done.stderr.count("\n") == 1


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match="exception or a text"):
        explainer.repro(3)
