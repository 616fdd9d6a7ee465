"""A network for digits of 28x28, given pictures of 32x32."""

import torch
from torch import nn


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.head = nn.Linear(16 * 7 * 7, 10)

    def forward(self, images):
        x = self.features(images)
        x = torch.flatten(x, 1)
        return self.head(x)


model = Digits()
images = torch.rand(4, 1, 32, 32)
scores = model(images)
