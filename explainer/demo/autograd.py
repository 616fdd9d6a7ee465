"""A training step whose loss became a plain number on the way."""

import torch
from torch import nn

model = nn.Linear(12, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batch, labels = torch.rand(16, 12), torch.randint(0, 3, (16,))


def step():
    scores = model(batch)
    loss = nn.functional.cross_entropy(scores, labels)
    total = torch.tensor(loss.item() / 4)
    optimizer.zero_grad()
    total.backward()
    optimizer.step()


step()
