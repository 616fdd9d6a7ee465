"""A residual block that adds in place to what backward needs."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        y = torch.sigmoid(self.inner(x))
        y += x
        return y


model = nn.Sequential(Block(32), Block(32), nn.Linear(32, 1))
batch = torch.rand(8, 32)
loss = model(batch).mean()
loss.backward()
