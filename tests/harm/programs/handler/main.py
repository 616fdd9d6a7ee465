"""Is told when a child ends, and ends itself then."""

import os
import signal
import sys

import torch
from torch import nn


def ended(number, frame):
    os.write(1, b"a child ended\n")
    sys.exit(42)


signal.signal(signal.SIGCHLD, ended)
net = nn.Linear(60, 4)
for step in range(3):
    x = torch.randn(8, 60 if step < 1 else 61)
    loss = net(x).square().mean()
