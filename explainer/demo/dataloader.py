"""Sentences of different lengths, to become one batch in a worker."""

import torch
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __init__(self, lengths):
        self.lengths = lengths

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        return torch.ones(self.lengths[index], dtype=torch.long)


loader = DataLoader(Sentences([5, 7, 4, 9]), batch_size=2, num_workers=1)
for _ in loader:
    pass
