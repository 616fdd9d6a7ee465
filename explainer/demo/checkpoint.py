"""A DataParallel model's weights, loaded into the bare model."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(10, 20)
        self.head = nn.Linear(20, 3)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


weights = nn.DataParallel(Classifier()).state_dict()
model = Classifier()
model.load_state_dict(weights)
