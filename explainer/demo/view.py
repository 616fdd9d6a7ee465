"""Attention heads put side by side again after a transpose."""

import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        batch, words, width = x.shape
        parts = x.view(batch, words, self.heads, width // self.heads).transpose(1, 2)
        seen = torch.softmax(parts @ parts.transpose(2, 3), dim=-1) @ parts
        joined = seen.transpose(1, 2).view(batch, words, width)
        return self.mix(joined)


model = Heads(32, heads=4)
out = model(torch.rand(2, 10, 32))
