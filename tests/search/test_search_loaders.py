"""The search where loaders, samplers and datasets do not fit together: the line to edit and the repair for each."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired, explained

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")


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
    "a table that a layer registers when it runs, which a new one does not have": (
        """
        import io
        import torch
        from torch import nn
        class Places(nn.Module):
            def __init__(self):
                super().__init__()
                self.made_for = 0
            def forward(self, x):
                if self.made_for < len(x):
                    self.register_buffer("table", torch.arange(len(x)).float().sin())
                    self.made_for = len(x)
                return x + self.table[:len(x)]
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.places, self.out = Places(), nn.Linear(3, 1)
            def forward(self, x):
                return self.out(self.places(x))
        net = Net()
        net(torch.zeros(3))
        file = io.BytesIO()
        torch.save(net.state_dict(), file)
        file.seek(0)
        again = Net()
        again.load_state_dict(torch.load(file))
        print(again(torch.zeros(3)).shape)
        """, "register_buffer", "persistent=False"),
    "a state is looked for in another folder than it was saved in": (
        """
        import torch
        net = torch.nn.Linear(2, 2)
        torch.save(net.state_dict(), "weights.pt")
        def restored(path="runs/weights.pt"):
            net.load_state_dict(torch.load(path))
        restored()
        """, "def restored", 'path="weights.pt"'),
    "an entry that all samples of one set lack": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Rows(Dataset):
            def __init__(self, x, weights=None):
                self.x, self.weights = x, weights
            def __len__(self):
                return len(self.x)
            def __getitem__(self, i):
                return {
                    "x": self.x[i],
                    "weight": self.weights[i] if self.weights is not None else None,
                }
        net = torch.nn.Linear(3, 1)
        for batch in DataLoader(Rows(torch.rand(8, 3), torch.rand(8)), batch_size=4):
            torch.dot(batch["weight"], net(batch["x"]).squeeze(-1)).backward()
        print(sum(net(batch["x"]).sum().item() for batch in DataLoader(Rows(torch.rand(6, 3)), batch_size=3)))
        """, '"weight": self', "if value is not None"),
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
