"""A regression on a table of doubles: its numbers are float64."""

import random

import torch
from torch import nn


class Prices(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.hidden = nn.Linear(columns, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, table):
        x = torch.relu(self.hidden(table))
        return self.out(x).squeeze(1)


table = [[random.gauss(0, 1) for _ in range(6)] for _ in range(64)]
model = Prices(columns=6)
rows = torch.tensor(table, dtype=torch.float64)
prices = model(rows)
