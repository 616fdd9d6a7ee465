"""How long a crash waits for its explanation, beside what Python and rich print, and the cost of one pasted message.

Each figure is the first crash of a new process, imports and all, the best of some rounds.

python benchmarks/latency.py [--rounds 3]
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = {
    "linear": """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.head = nn.Linear(8 * 5 * 5, 4)

    def forward(self, images):
        return self.head(torch.relu(self.conv(images)).flatten(1))

net = Net()
net(torch.ones(2, 3, 8, 8))
""",
    "labels": """
import torch
from torch import nn

layer, loss = nn.Linear(6, 3), nn.CrossEntropyLoss()
for step in range(4):
    labels = torch.zeros(5)
    loss(layer(torch.ones(5, 6)), labels).backward()
""",
    "embedding": """
import torch

words = torch.tensor([[1, 2, 10]])
table = torch.nn.Embedding(10, 4)
table(words)
""",
    "in-place": """
import torch

weight = torch.ones(4, 4, requires_grad=True)
for step in range(2):
    gate = torch.sigmoid(weight @ torch.ones(4))
    gate += 1
    gate.sum().backward()
""",
    "numpy": """
import torch

def score(predictions):
    return predictions.numpy().mean()

layer = torch.nn.Linear(3, 1)
for step in range(3):
    score(layer(torch.ones(2, 3)))
""",
}
MESSAGES = [
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)",
    "RuntimeError: expected scalar type Long but found Float",
    "IndexError: Target 10 is out of bounds.",
    "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they "
    "have already been freed).",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
]


def with_traceback(error: Exception) -> None:
    """What Python prints."""
    import traceback

    traceback.print_exception(error, file=io.StringIO())


def with_rich(error: Exception) -> None:
    """What rich prints, with local variables."""
    from rich.console import Console
    from rich.traceback import Traceback

    shown = Traceback.from_exception(type(error), error, error.__traceback__, show_locals=True)
    Console(file=io.StringIO(), width=80).print(shown)


def with_explainer(error: Exception, replay: bool) -> None:
    """What explainer says."""
    import explainer

    str(explainer.explain(error, replay=replay))


TOOLS: dict[str, Callable[[Exception], None]] = {
    "traceback": with_traceback,
    "rich": with_rich,
    "explainer": lambda error: with_explainer(error, replay=False),
    "with replay": lambda error: with_explainer(error, replay=True),
}


def crashed(program: str, tool: str) -> float:
    """Milliseconds that a tool takes for the error with which a program ends, in this process."""
    try:
        exec(compile(Path(program).read_text(), program, "exec"), {"__name__": "__main__", "__file__": program})
    except Exception as error:
        started = time.perf_counter()
        TOOLS[tool](error)
        return 1e3 * (time.perf_counter() - started)
    raise AssertionError(f"{program} ended without an error")


def first_crash(program: Path, tool: str, rounds: int) -> float:
    """The same, each round in a new process; the best of them."""
    command = [sys.executable, os.path.abspath(__file__), "--crash", program.name, "--tool", tool]
    runs = [subprocess.run(command, cwd=program.parent, capture_output=True, text=True) for _ in range(rounds)]
    return min(float(one.stdout.split()[-1]) for one in runs)


def crashes(folder: Path, rounds: int) -> None:
    """The table of programs and tools."""
    print("first crash of a process, ms" + "".join(f"{tool:>13}" for tool in TOOLS))
    rows = []
    for name, text in PROGRAMS.items():
        program = folder / f"{name}.py"
        program.write_text(text)
        rows.append([first_crash(program, tool, rounds) for tool in TOOLS])
        print(f"{name:28}" + "".join(f"{one:13.1f}" for one in rows[-1]), flush=True)
    print(f"{'median':28}" + "".join(f"{statistics.median(column):13.1f}" for column in zip(*rows, strict=True)))


def messages(rounds: int) -> None:
    """The catalogue, and what a pasted message costs: each of all wordings, the least of some rounds of it."""
    started = time.perf_counter()
    from explainer.catalogue import load

    imported = time.perf_counter()
    catalogue = load()
    loaded = time.perf_counter()
    print(f"catalogue: imported in {1e3 * (imported - started):.1f} ms, loaded in {1e3 * (loaded - imported):.1f} ms")
    import explainer

    symptoms = [one for one in catalogue.symptoms.values() if not one.file.startswith("rules/packs")]
    kinds = [next((kind for kind in one.exception if kind != "any"), "RuntimeError") for one in symptoms]
    texts = MESSAGES + [f"{kind}: {one.messages[0].says}" for kind, one in zip(kinds, symptoms, strict=True)]
    for times in (1, 2):
        with catalogue_of_size(times):
            spent = sorted(least(lambda text=text: explainer.explain(text).to_dict(), 10 * rounds) for text in texts)
        name = "one message" if times == 1 else "beside as many foreign patterns again"
        print(f"{name}: median {statistics.median(spent):.3f} ms, nine in ten {spent[len(spent) * 9 // 10]:.3f} ms")


def least(work: Callable[[], object], rounds: int) -> float:
    """The least milliseconds of some rounds: what it costs where nothing comes in between."""
    spent = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begun)
    return 1e3 * min(spent)


@contextmanager
def catalogue_of_size(times: int) -> Iterator[None]:
    """The catalogue with its patterns again under other words, so that only their number weighs."""
    from explainer.catalogue import load
    from explainer.catalogue.match import Words

    packs = load().index.packs
    entries = [entry for pack in packs for entry in pack.entries]
    turned = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
    other = [
        one._replace(
            runs=tuple(run.translate(turned) for run in one.runs), words=tuple(w.translate(turned) for w in one.words)
        )
        for one in entries
    ]
    load().index.__dict__["packs"] = (Words.of(entries + other * (times - 1)),) if times > 1 else packs
    try:
        yield
    finally:
        load().index.__dict__["packs"] = packs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--crash", help=argparse.SUPPRESS)
    parser.add_argument("--tool", choices=TOOLS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.crash:
        print(crashed(given.crash, given.tool))
        return
    with tempfile.TemporaryDirectory() as folder:
        crashes(Path(folder), given.rounds)
    messages(given.rounds)


if __name__ == "__main__":
    main()
