"""The search where loaders, samplers and datasets do not fit together: the line to edit and the repair for each."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired, explained

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

_NOTES = """
        import torch
        from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, Sampler, Subset, TensorDataset
        class Notes(Dataset):
            def __init__(self, count):
                self.notes = {number: torch.full((2,), float(number)) for number in range(count)}
            def __len__(self):
                return len(self.notes)
            def __getitem__(self, number):
                return self.notes[number]
        notes = Notes(12)
"""

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "the method that gives the state is saved": (
        """
        import io
        import torch
        net, file = torch.nn.Linear(2, 2), io.BytesIO()
        kept = {"net": net.state_dict, "steps": 3}
        net.load_state_dict(kept["net"])
        """, "kept = {", "net.state_dict()"),
    "a state is looked for in another folder than it was saved in": (
        """
        import torch
        net = torch.nn.Linear(2, 2)
        torch.save(net.state_dict(), "weights.pt")
        def restored(path="runs/weights.pt"):
            net.load_state_dict(torch.load(path))
        restored()
        """, "def restored", 'path="weights.pt"'),
    "the collate function of the other loader, for samples that a worker batches": (
        """
        import torch
        from torch.nn.utils.rnn import pad_sequence
        from torch.utils.data import DataLoader, Dataset
        class Calls(Dataset):
            lengths = [3, 5, 2, 4]
            def __len__(self):
                return 4
            def __getitem__(self, number):
                return torch.ones(self.lengths[number])
        def padded(samples):
            return pad_sequence(samples, batch_first=True)
        def loaders(workers):
            train = DataLoader(Calls(), 2, collate_fn=padded)
            held_out = DataLoader(Calls(), 2, num_workers=workers)
            return train, held_out
        if __name__ == "__main__":
            for loader in loaders(1):
                print([batch.shape for batch in loader])
        """, "held_out = DataLoader", "num_workers=workers, collate_fn=padded)"),
    "a sampler of batches given as a sampler of indices": (
        _NOTES + """
        batches = BatchSampler(RandomSampler(notes), 4, drop_last=False)
        print(len(list(DataLoader(notes, shuffle=False, sampler=batches))))
        """, "DataLoader(notes, shuffle=False, sampler=batches)", "DataLoader(notes, batch_sampler=batches)"),
    "the same among options in a dict": (
        _NOTES + """
        options = {"num_workers": 0}
        options["sampler"] = BatchSampler(RandomSampler(notes), 4, drop_last=False)
        print(len(list(DataLoader(notes, **options))))
        """, "options[\"sampler\"]", "options[\"batch_sampler\"]"),
    "a sampler of indices given as a sampler of batches": (
        _NOTES + """
        print(len(list(DataLoader(notes, batch_sampler=RandomSampler(notes)))))
        """, "batch_sampler=RandomSampler(notes)", "DataLoader(notes, sampler=RandomSampler(notes))"),
    "a subset whose indices are a tensor": (
        _NOTES + """
        part = Subset(notes, torch.randperm(12)[:8])
        print(len(list(DataLoader(part, batch_size=4))))
        """, "torch.randperm(12)[:8]", "torch.randperm(12)[:8].tolist()"),
    "a sampler of one's own that goes through a tensor": (
        _NOTES + """
        class Longest(Sampler):
            def __init__(self, lengths):
                self.lengths = lengths
            def __iter__(self):
                yield from self.lengths.argsort()
            def __len__(self):
                return len(self.lengths)
        print(len(list(DataLoader(notes, sampler=Longest(torch.rand(12))))))
        """, "self.lengths.argsort()", "self.lengths.argsort().tolist()"),
    "names looked up by the entries of a tensor": (
        """
        import torch
        names = {0: "cold", 1: "warm"}
        print([names[one] for one in torch.tensor([1, 0])])
        """, "names[one]", "names[int(one)]"),
    "samples counted before some are left out": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Tones(Dataset):
            def __init__(self, tones):
                self.tones = tones
                self.loud = [tone for tone in tones if tone > 2]
            def __len__(self):
                return len(self.tones)
            def __getitem__(self, index):
                return torch.tensor(self.loud[index])
        print(len(list(DataLoader(Tones([1.0, 5.0, 3.0, 2.0])))))
        """, "len(self.tones)", "len(self.loud)"),
    "a dataset without a length": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Tones(Dataset):
            def __init__(self):
                self.tones = [torch.rand(2), torch.rand(2)]
            def __getitem__(self, index):
                return self.tones[index]
        print(len(list(DataLoader(Tones(), shuffle=True))))
        """, "class Tones", "return len(self.tones)"),
    "a length that is the list itself": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Tones(Dataset):
            def __init__(self):
                self.tones = [torch.rand(2), torch.rand(2)]
            def __len__(self):
                return self.tones
            def __getitem__(self, index):
                return self.tones[index]
        print(len(list(DataLoader(Tones(), shuffle=True))))
        """, "return self.tones", "return len(self.tones)"),
    "a method that is almost called so": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Tones(Dataset):
            def __len__(self):
                return 3
            def __get_item__(self, index):
                return torch.rand(2)
        print(len(list(DataLoader(Tones()))))
        """, "def __get_item__", "def __getitem__(self, index)"),
    "arrays in a dataset of tensors": (
        """
        import numpy as np
        from torch.utils.data import DataLoader, TensorDataset
        pairs = TensorDataset(np.zeros((4, 2)), np.arange(4))
        print(len(list(DataLoader(pairs))))
        """, "TensorDataset(np.zeros((4, 2)), np.arange(4))", ""),
    "a loop with too few names for the parts of a batch": (
        """
        import torch
        from torch.utils.data import DataLoader
        loader = DataLoader([(torch.rand(2), 1, 0), (torch.rand(2), 0, 1)])
        for x, y in loader:
            print(x.shape)
        """, "for x, y in loader", "for x, y, *_ in loader"),
    "tensors of a batch left in a list": (
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader
        def together(batch):
            rows, labels = zip(*batch)
            return list(rows), torch.tensor(labels)
        for rows, labels in DataLoader([(torch.rand(2), 1), (torch.rand(2), 0)], batch_size=2, collate_fn=together):
            nn.functional.cross_entropy(nn.Linear(2, 2)(rows), labels)
        """, "list(rows)", "torch.stack(rows)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


def test_a_list_that_ends_too_soon_within_a_sample_is_not_the_loaders_doing(runner: Runner) -> None:
    program = """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Lines(Dataset):
            def __len__(self):
                return 2
            def __getitem__(self, index):
                return torch.tensor(float("3;4".split(";")[2]))
        next(iter(DataLoader(Lines())))
        """
    with pytest.raises(IndexError):
        explained(runner, program)
