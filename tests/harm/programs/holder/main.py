"""Writes a file into the folder and crashes."""

import atexit

import torch
from paths import WORK
from torch import nn

(WORK / "epoch").write_text("0")
atexit.register(lambda: print("at exit:", WORK.exists() and sorted(one.name for one in WORK.iterdir())))
net = nn.Linear(60, 4)
x = torch.randn(8, 61)
net(x)
