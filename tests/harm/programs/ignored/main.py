"""Ignores the end of children, and goes on after its error in a thread."""

import signal

import torch
from torch import nn

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
net = nn.Linear(60, 4)
for step in range(3):
    x = torch.randn(8, 60 if step < 1 else 61)
    loss = net(x).square().mean()
