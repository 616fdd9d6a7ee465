"""A text model whose vocabulary was counted without the padding word."""

import torch
from torch import nn

words = ["the", "cat", "sat", "on", "a", "mat"]
numbers = {word: number for number, word in enumerate(["<pad>", *words])}


class Sentences(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, 16)
        self.score = nn.Linear(16, 2)

    def forward(self, tokens):
        return self.score(self.embed(tokens).mean(dim=1))


model = Sentences(len(words))
sentence = [numbers[word] for word in ("the", "cat", "sat", "on", "a", "mat")]
scores = model(torch.tensor([sentence]))
