"""What watching costs a healthy training, in two ways that do not go by the clock.

The share of ticks of processor time that are ours, in a watched process (`ticks.py`): rounds are added up, with the
deviation that counting so many ticks has. It hardly depends on what else the machine does.

And the processor time of `explain watch --no-trial SCRIPT` beside `python SCRIPT`: both run in turns, each in a process
of its own, each taken less what the same costs for a script that only imports torch: that difference is the start-up.
The middle of the rounds' ratios counts. On a machine at work it tells little; `--ticks` leaves it out.

python benchmarks/watching.py [--rounds 5] [--ticks] [--where] [SCRIPT ...]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
torch.set_num_threads(1)
"""
PROGRAMS = {
    "table": """
x, w = torch.randn(4096, 32), torch.randn(32)
loader = DataLoader(TensorDataset(x, x @ w), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(30):
    for xb, yb in loader:
        loss = F.mse_loss(model(xb).squeeze(1), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print("loss", F.mse_loss(model(x).squeeze(1), x @ w).item())
""",
    "images": """
x, y = torch.randn(1024, 3, 16, 16), torch.randint(10, (1024,))
x[torch.arange(1024), 0, y] += 3
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 160)
for epoch in range(10):
    model.train()
    for place in torch.randperm(1024).split(64):
        loss = F.cross_entropy(model(x[place]), y[place])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
    model.eval()
    with torch.no_grad():
        print("acc", (model(x).argmax(1) == y).float().mean().item())
""",
    "cells": """
x = torch.randint(8, (512, 24))
y = x[:, 0]
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.cell, self.head = nn.Embedding(8, 16), nn.GRUCell(16, 32), nn.Linear(32, 8)
    def forward(self, tokens):
        state = torch.zeros(len(tokens), 32)
        for step in range(tokens.shape[1]):
            state = self.cell(self.table(tokens[:, step]), state)
        return self.head(state)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(400):
    place = torch.randint(512, (32,))
    loss = F.cross_entropy(model(x[place]), y[place])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print("acc", (model(x).argmax(1) == y).float().mean().item())
""",
    "attention": """
x = torch.randint(1, 20, (512, 17))
class Next(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.place = nn.Embedding(20, 48), nn.Parameter(torch.randn(16, 48) * 0.02)
        layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.0, batch_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(48, 20)
    def forward(self, tokens):
        mask = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
        return self.head(self.body(self.table(tokens) + self.place, mask=mask))
model = Next()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(200):
    batch = x[torch.randint(512, (32,))]
    loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
""",
}


def spent(script: Path, watched: bool) -> float:
    """Seconds of processor time that a script takes, with all that it starts."""
    before = os.times()
    command = ["-m", "explainer", "watch", "--no-trial"] if watched else []
    subprocess.run([sys.executable, *command, script.name], cwd=script.parent, capture_output=True, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def ratios(script: Path, empty: Path, rounds: int) -> list[tuple[float, float, float]]:
    """Of each round: the bare seconds, those of the start-up, and by which share more the rest takes."""
    found = []
    for _ in range(rounds):
        bare, watched = spent(script, False), spent(script, True)
        first, start = spent(empty, False), spent(empty, True)
        own = bare - first
        found.append((own, start - first, (watched - start - own) / max(own, 0.05)))
    return found


def ticked(script: Path, rounds: int) -> tuple[float, float, list[tuple[str, float]]]:
    """By which share more a watched script takes, as ticks tell, with its deviation, and the places that take it."""
    ours = total = 0
    places: Counter[str] = Counter()
    for _ in range(rounds):
        command = [sys.executable, str(Path(__file__).with_name("ticks.py")), str(script)]
        told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        ours, total = ours + told["ours"], total + told["all"]
        places.update({name: share * told["all"] for name, share in told["places"]})
    own = total - ours
    return ours / own, math.sqrt(max(ours, 1)) / own, [(name, count / own) for name, count in places.most_common(12)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ticks", action="store_true", help="count ticks alone, no processes side by side")
    parser.add_argument("--where", action="store_true", help="the places that take most")
    parser.add_argument("scripts", nargs="*", type=Path)
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.py"
        empty.write_text(HEAD)
        scripts = [one.resolve() for one in given.scripts]
        for name, text in PROGRAMS.items() if not scripts else ():
            (Path(folder) / f"{name}.py").write_text(HEAD + text)
            scripts.append(Path(folder) / f"{name}.py")
        counted, middles = [], []
        for script in scripts:
            name = script.stem if script.stem != "main" else script.parent.name
            share, deviation, places = ticked(script, given.rounds)
            counted.append(share)
            print(f"{name:28} ticks {100 * share:+5.1f}% (deviation {100 * deviation:.1f})", flush=True)
            for place, part in places if given.where else ():
                print(f"{'':28} {100 * part:6.2f}% {place}")
            if not given.ticks:
                middles.append(beside(name, script, empty, given.rounds))
        print(f"middle of {len(counted)} scripts: ticks {100 * statistics.median(counted):+.1f}%", end="")
        print(f", side by side {100 * statistics.median(middles):+.1f}%" if middles else "")


def beside(name: str, script: Path, empty: Path, rounds: int) -> float:
    """The middle of the rounds' ratios of two processes, told."""
    rows = ratios(script, empty, rounds)
    bare, start, share = (statistics.median(column) for column in zip(*rows, strict=True))
    low, high = min(row[2] for row in rows), max(row[2] for row in rows)
    numbers = f"start-up {start:+5.2f} s  watched {100 * share:+6.1f}% ({100 * low:+.1f} .. {100 * high:+.1f})"
    print(f"{name:28} bare {bare:6.2f} s  {numbers}", flush=True)
    return share


if __name__ == "__main__":
    main()
