"""Frameworks that run the user's model: the error is explained once, by `install()` or `explain run` alone."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from commands import explain, python

START = "import explainer; explainer.install()\nimport torch\nfrom torch import nn\n"
DATA = """
net = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(5, 2))
rows = torch.utils.data.TensorDataset(torch.rand(8, 8), torch.randint(2, (8,)))
data = torch.utils.data.DataLoader(rows, 4)
"""
PROGRAMS = {
    "transformers": """
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
model = BertForSequenceClassification(BertConfig(vocab_size=100, **small))
rows = [{"input_ids": torch.full((4,), 120), "labels": torch.tensor(0)} for _ in range(8)]
Trainer(model=model, args=TrainingArguments("out", report_to=[], use_cpu=True), train_dataset=rows).train()
""",
    "pytorch_lightning": f"""{DATA}
import pytorch_lightning

class Lit(pytorch_lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = net

    def training_step(self, batch, index):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)

quiet = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, accelerator="cpu")
pytorch_lightning.Trainer(max_epochs=1, **quiet).fit(Lit(), data)
""",
    "accelerate": f"""{DATA}
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
net, data = accelerator.prepare(net, data)
for x, y in data:
    accelerator.backward(nn.functional.cross_entropy(net(x), y))
""",
    "hydra": f"""{DATA}
import hydra

@hydra.main(version_base=None, config_path=None)
def main(config):
    net(torch.rand(3, 8))

main()
""",
    "typer": f"""{DATA}
import typer
app = typer.Typer()

@app.command()
def main(rate: float = 0.1):
    net(torch.rand(3, 8))

app()
""",
    "rich": f"""{DATA}
import rich.traceback
rich.traceback.install()
net(torch.rand(3, 8))
""",
    "click": f"""{DATA}
import click

@click.command()
def main():
    net(torch.rand(3, 8))

main()
""",
    "fire": f"""{DATA}
import fire

def main():
    net(torch.rand(3, 8))

fire.Fire(main)
""",
    "absl": f"""{DATA}
from absl import app
app.run(lambda arguments: net(torch.rand(3, 8)))
""",
    "loguru": f"""{DATA}
from loguru import logger
import explainer.hooks.logs
logger.add(explainer.hooks.logs.loguru, level="ERROR")

@logger.catch(reraise=True)
def main():
    net(torch.rand(3, 8))

main()
""",
    "sentry_sdk": f"""{DATA}
import sentry_sdk
sentry_sdk.init(dsn="http://key@127.0.0.1:9/1", shutdown_timeout=0)
net(torch.rand(3, 8))
""",
    "wandb": f"""{DATA}
import wandb
run = wandb.init(mode="offline", project="p", settings=wandb.Settings(silent=True))
net(torch.rand(3, 8))
""",
    "torch_geometric": """
from torch_geometric.nn import GCNConv

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = GCNConv(8, 16), GCNConv(12, 4)

    def forward(self, x, edges):
        return self.two(torch.relu(self.one(x, edges)), edges)

Net()(torch.rand(3, 8), torch.tensor([[0, 1, 2], [1, 2, 0]]))
""",
    "ray": f"""{DATA}
import ray, sys
try:
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
except Exception:
    sys.exit("it does not start here")

@ray.remote
def work():
    return net(torch.rand(3, 8))

ray.get(work.remote())
""",
}
#: Under which the whole program is tried again; elsewhere that is none of the framework's doing.
WHOLE = ("transformers", "pytorch_lightning", "accelerate", "rich", "click")
#: Where the error is printed twice without us, too: by the framework and by Python.
TWICE = ("loguru",)
ABSENT = "it does not start here"
NAMED = {
    "transformers": "bert.embeddings.word_embeddings has rows 0 to 99",
    "torch_geometric": "the left matrix has 16 columns, the right one 12 rows",
    "ray": "net[2] is built for 5 features, and got 4",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_explained_once_and_checked(name, tmp_path):
    if find_spec(name) is None or (name == "transformers" and find_spec("accelerate") is None):
        pytest.skip(f"{name} is not installed")
    (tmp_path / "train.py").write_text(START + PROGRAMS[name])
    done = python("train.py", cwd=tmp_path)
    if ABSENT in done.stderr:
        pytest.skip(f"{name}: {ABSENT}")
    assert done.returncode == 1
    assert done.stderr.count("error[") == 1
    assert done.stderr.count("Traceback (most recent call last)") == 1 + (name in TWICE)
    said = " ".join(done.stderr.split())
    assert NAMED.get(name, "expects 5 features per row") in said
    assert "checked: runs to the end" in said or name not in WHOLE
    assert said.index("RuntimeError" if name != "transformers" else "IndexError") < said.index("error[")


RECEIVER = """
def receive(told):
    print("told:", told.reports[0].diagnoses[0].headline)
"""
GIVEN = {
    "transformers": (
        "report_to=[], use_cpu=True), ",
        "report_to=[], use_cpu=True), callbacks=[explainer.callback(receive)], ",
    ),
    "pytorch_lightning": ("max_epochs=1, ", "max_epochs=1, callbacks=[explainer.callback(receive)], "),
    "accelerate": ("for x, y in data:\n", "with explainer.callback(receive):\n  for x, y in data:\n"),
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_callback_of_the_framework_gets_the_report_once_which_the_hook_then_shows(name, tmp_path):
    if find_spec(name) is None or (name == "transformers" and find_spec("accelerate") is None):
        pytest.skip(f"{name} is not installed")
    old, new = GIVEN[name]
    assert old in PROGRAMS[name]
    (tmp_path / "train.py").write_text(START + RECEIVER + PROGRAMS[name].replace(old, new))
    done = python("train.py", cwd=tmp_path)
    assert done.returncode == 1
    (told,) = [line for line in done.stdout.splitlines() if "told:" in line]
    assert NAMED.get(name, "expects 5 features per row") in told
    assert done.stderr.count("error[") == 1
    assert done.stderr.index("Traceback") < done.stderr.index("error[")


LIBRARY = """
import sys, traceback

def main(task):
    try:
        task()
    except Exception:
        traceback.print_exc()
        sys.exit(1)
"""


def test_a_library_that_prints_the_error_and_exits_hides_it_from_no_one(tmp_path):
    """As hydra does, whose jobs end with SystemExit; a program that itself handles its error is left alone."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "runner.py").write_text(LIBRARY)
    task = "import torch\ndef task():\n    torch.rand(2, 3) @ torch.rand(2, 3)\n"
    (tmp_path / "train.py").write_text(
        f"import sys\nsys.path.append('site-packages')\nimport runner\n{task}runner.main(task)"
    )
    done = explain("run", "--no-check", "train.py", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.index("Traceback") < done.stderr.index("error[")
    (tmp_path / "train.py").write_text("import explainer; explainer.install()\n" + (tmp_path / "train.py").read_text())
    alone = python("train.py", cwd=tmp_path)
    assert alone.returncode == 1
    assert alone.stderr.count("error[") == 1
    (tmp_path / "own.py").write_text(f"{LIBRARY}{task}main(task)")
    assert "error[" not in explain("run", "--no-check", "own.py", cwd=tmp_path).stderr
