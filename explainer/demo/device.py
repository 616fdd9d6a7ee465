"""A dry run on the meta device: one tensor of the model stays behind."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.positions = torch.rand(words, width)

    def forward(self, x):
        x = x + self.positions
        return torch.tanh(self.inner(x))


model = Encoder(20, 16).to("meta")
batch = torch.rand(8, 20, 16, device="meta")
codes = model(batch)
