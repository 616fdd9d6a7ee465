"""The search where samples do not make a batch, and where checkpoints do not load."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "clips that are cut to a length, and not filled up to it": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Clips(Dataset):
            def __init__(self, size):
                self.size, self.clips = size, [torch.rand(2, 10 - i % 5) for i in range(12)]
            def __len__(self):
                return len(self.clips)
            def __getitem__(self, i):
                clip = self.clips[i]
                return clip[:, : self.size]
        for x in DataLoader(Clips(8), batch_size=4):
            x.view(4, -1)
        """, "return clip", "(0, max(0, self.size - clip.size(-1)))"),
    "weights of all samples for a sampler of those that are trained on": (
        """
        import torch
        from torch.utils.data import DataLoader, WeightedRandomSampler, random_split
        torch.manual_seed(0)
        labels = torch.tensor([0, 1, 0, 0] * 6)
        class Rows:
            def __len__(self):
                return len(labels)
            def __getitem__(self, at):
                return labels[at]
        def weights_of(classes):
            return 1.0 / torch.bincount(classes).float()[classes]
        rows = Rows()
        train, test = random_split(rows, [16, 8])
        weights = weights_of(labels)
        sampler = WeightedRandomSampler(weights, num_samples=64)
        for batch in DataLoader(train, batch_size=4, sampler=sampler):
            batch.float().mean()
        """, "weights = weights_of(labels)", "weights_of(labels[train.indices])"),
    "recordings whose last size differs": (
        """
        import torch
        from torch.utils.data import DataLoader
        songs = [(torch.rand(6, 9 + i % 3), i % 2) for i in range(8)]
        for x, y in DataLoader(songs, batch_size=4):
            x.mean(2) @ torch.ones(6)
        """, "DataLoader(songs", "collate_fn=collate_padded"),
    "a sampler that a function builds for the whole set": (
        """
        import torch
        from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler, random_split
        torch.manual_seed(0)
        rows = [(torch.rand(2), i % 4 == 0) for i in range(24)]
        kept, held = random_split(rows, [12, 12])
        def balanced(part):
            weights = torch.tensor([3.0 if rare else 1.0 for _, rare in rows])
            return WeightedRandomSampler(weights, len(part))
        for x, y in DataLoader(kept, batch_size=4, sampler=balanced(kept)):
            pass
        """, "return Weighted", "weights[part.indices]"),
    "a sampler that counts the whole set": (
        """
        import torch
        from torch.utils.data import DataLoader, RandomSampler, TensorDataset, WeightedRandomSampler, random_split
        torch.manual_seed(0)
        labels = torch.tensor([0, 0, 0, 1] * 6)
        kept, held = random_split(TensorDataset(torch.rand(24, 2), labels), [12, 12])
        def balanced(given):
            weights = 1.0 / torch.bincount(given)[given]
            return WeightedRandomSampler(weights, len(given))
        for x, y in DataLoader(kept, batch_size=4, sampler=balanced(labels)):
            pass
        """, "balanced(labels)", "balanced(labels[kept.indices])"),
    "numpy's mean in a checkpoint": (
        """
        import io
        import numpy as np
        import torch
        def store(weights, losses, held):
            torch.save({"weights": weights, "best": np.min(losses)}, held)
        held = io.BytesIO()
        store(torch.rand(3), [0.5, 0.25], held)
        held.seek(0)
        print(torch.load(held)["best"])
        """, "np.min(losses)", "float(np.min(losses))"),
    "a dict inside the batch is not moved": (
        """
        import torch
        def move(batch, device):
            return {name: part.to(device) if torch.is_tensor(part) else part for name, part in batch.items()}
        batch = move({"x": torch.rand(4, 3), "wanted": {"y": torch.rand(4, 3)}, "id": "a"}, "meta")
        loss = (batch["x"] - batch["wanted"]["y"]).sum()
        """, "else part for name", "move(part, device) if isinstance(part, dict) else part"),
    "the whole checkpoint given to the optimizer": (
        """
        import torch
        net = torch.nn.Linear(2, 2)
        steps = torch.optim.SGD(net.parameters(), lr=0.1)
        held = {"net": net.state_dict(), "steps": steps.state_dict()}
        steps.load_state_dict(held)
        """, "steps.load_state_dict(held)", 'held["steps"]'),
    "two heads of another size in a checkpoint that is loaded in part": (
        """
        import torch
        from torch import nn
        def build(kinds):
            return nn.ModuleDict({"body": nn.Linear(2, 4), "kind": nn.Linear(4, kinds), "box": nn.Linear(4, 4 * kinds)})
        def adapted(saved):
            model = build(3)
            model.load_state_dict(saved, strict=False)
            return model
        adapted(build(7).state_dict())
        """, "model.load_state_dict(saved, strict=False)", "value.shape == model.state_dict()[key].shape"),
    "a part of a sample that a worker cannot collate": (
        """
        import decimal
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Prices(Dataset):
            def __len__(self):
                return 4
            def __getitem__(self, i):
                price = decimal.Decimal(i) / 4
                return torch.rand(3), price
        if __name__ == "__main__":
            for x, price in DataLoader(Prices(), batch_size=2, num_workers=1):
                print(x.shape, price.dtype)
        """, "return torch.rand(3), price", "float(price)"),
    "objects in samples that no plain value stands for": (
        """
        import torch
        from torch.utils.data import DataLoader
        class Box:
            def __init__(self, corner):
                self.corner = corner
        samples = [{"x": torch.rand(3), "box": Box(i)} for i in range(4)]
        for batch in DataLoader(samples, batch_size=2):
            print(batch["x"].shape, [box.corner for box in batch["box"]])
        """, "DataLoader(samples", "def collate_kept("),
    "lists of numbers that differ in length": (
        """
        import torch
        from torch.utils.data import DataLoader
        rows = [([1, 2, 3], 0), ([4, 5], 1), ([6], 0), ([7, 8], 1)]
        table = torch.nn.Embedding(9, 2)
        for ids, kinds in DataLoader(rows, batch_size=2):
            table(ids).mean(1)
        """, "DataLoader(rows", "pad_sequence([torch.tensor(one)"),
}  # fmt: skip

#: Programs in which the same signs mean something else, and what must not be put there.
NEAR = {
    "entries of layers that the model keeps in a plain list": (
        """
        import torch
        from torch import nn
        class Votes(nn.Module):
            def __init__(self):
                super().__init__()
                self.judges = [nn.Linear(2, 1) for _ in range(2)]
        Votes().load_state_dict({"judges.0.weight": torch.rand(1, 2), "judges.0.bias": torch.rand(1)})
        """, "if key in"),
    "sequences of any length are not stretched like images": (
        """
        import torch
        from torch.utils.data import DataLoader
        tones = [torch.rand(5, 2), torch.rand(7, 2)]
        next(iter(DataLoader(tones, batch_size=2)))
        """, "interpolate"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


@pytest.mark.parametrize("name", list(NEAR))
def test_a_repair_for_another_fault_is_not_offered(runner: Runner, name: str) -> None:
    assert_never_offered(runner, *NEAR[name])
