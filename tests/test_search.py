"""The generic search: for faults of several kinds, the edit at the cause, not one that adapts the failing call."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a helper makes a tensor on the CPU": (
        """
        import torch
        def ramp(x):
            steps = torch.arange(x.size(1))
            return x + steps
        ramp(torch.rand(2, 3, device="meta"))
        """, "torch.arange(x.size(1))", "device=x.device"),
    "a loss with weights stays on the CPU": (
        """
        import torch
        from torch import nn
        device = torch.device("meta")
        def build():
            return nn.Linear(4, 3).to(device), nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5]))
        net, measure = build()
        measure(net(torch.rand(6, 4, device=device)), torch.zeros(6, dtype=torch.long, device=device)).backward()
        """, "nn.CrossEntropyLoss(", ".to(device)"),
    "one part of a batch is not moved": (
        """
        import torch
        def moved(batch, device):
            return {"x": batch["x"].to(device), "y": batch["y"]}
        net = torch.nn.Linear(4, 1).to("meta")
        batch = moved({"x": torch.rand(5, 4), "y": torch.rand(5, 1)}, "meta")
        torch.nn.functional.mse_loss(net(batch["x"]), batch["y"]).backward()
        """, 'batch["x"].to(device)', 'batch["y"].to(device)'),
    "flatten joins the samples of a batch": (
        """
        import torch
        from torch import nn
        features = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(0))
        head = nn.Linear(2 * 4 * 4, 3)
        images = torch.rand(5, 1, 6, 6)
        nn.functional.cross_entropy(head(features(images)), torch.zeros(5, dtype=torch.long)).backward()
        """, "nn.Flatten(0)", "nn.Flatten(1)"),
    "a decoder falls one short": (
        """
        import torch
        from torch import nn
        inner = nn.Conv1d(2, 4, 3, stride=2, padding=1)
        outer = nn.ConvTranspose1d(4, 2, 3, stride=2, padding=1)
        sound = torch.rand(3, 2, 16)
        (outer(inner(sound)) - sound).pow(2).mean().backward()
        """, "nn.ConvTranspose1d", "output_padding=1"),
    "a norm over the other dimension": (
        """
        import torch
        from torch import nn
        class Mixer(nn.Module):
            def __init__(self, tokens, width):
                super().__init__()
                self.norm = nn.LayerNorm(tokens)
                self.mix = nn.Linear(width, width)
            def forward(self, x):
                return self.mix(self.norm(x))
        Mixer(6, 8)(torch.rand(2, 6, 8)).sum().backward()
        """, "nn.LayerNorm(tokens)", "nn.LayerNorm(width)"),
    "a loop adds too little to a size": (
        """
        import torch
        from torch import nn
        class Grown(nn.Module):
            def __init__(self, growth=3, stages=(2, 4)):
                super().__init__()
                self.stages = nn.ModuleList()
                width = 5
                for count in stages:
                    self.stages.append(nn.Linear(width, count * growth))
                    width += growth
            def forward(self, x):
                for stage in self.stages:
                    x = torch.cat([x, stage(x)], 1)
                return x
        Grown()(torch.rand(2, 5)).sum().backward()
        """, "width += growth", "count * growth"),
    "labels that a dictionary numbers from 1": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Notes(Dataset):
            def __init__(self, words):
                self.words = words
                self.number = {word: i + 1 for i, word in enumerate(sorted(set(words)))}
            def __len__(self):
                return len(self.words)
            def __getitem__(self, i):
                return torch.ones(2) * i, self.number[self.words[i]]
        notes = Notes(["a", "b", "c", "a"])
        net = torch.nn.Linear(2, len(notes.number))
        for x, y in DataLoader(notes, batch_size=4):
            torch.nn.functional.cross_entropy(net(x), y).backward()
        """, "i + 1 for i", "{word: i for i"),
    "indices drawn from one too many": (
        """
        import torch
        NAMES = ("left", "right")
        values = torch.rand(40, len(NAMES), requires_grad=True)
        chosen = torch.randint(0, len(NAMES) + 1, (40, 1), generator=torch.Generator().manual_seed(0))
        values.gather(1, chosen).sum().backward()
        """, "torch.randint", "torch.randint(0, len(NAMES), (40, 1)"),
    "the largest index taken for a count": (
        """
        import torch
        ids = torch.tensor([0, 3, 1])
        sizes = {"city": int(ids.max())}
        tables = {name: torch.nn.Embedding(size, 4) for name, size in sizes.items()}
        tables["city"](ids).sum().backward()
        """, "int(ids.max())", "int(ids.max()) + 1"),
    "an index computed with fractions": (
        """
        import torch
        def bins(values, count):
            shares = values / values.max()
            return (shares * (count - 1)).floor()
        table = torch.nn.Embedding(5, 3)
        table(bins(torch.tensor([1.0, 2.0, 4.0]), 5)).sum().backward()
        """, "return (shares", ".long()"),
    "a checkpoint gives weights of half precision": (
        """
        import torch
        def saved():
            return {name: value.half() for name, value in torch.nn.Linear(3, 2).state_dict().items()}
        net = torch.nn.Linear(3, 2)
        net.load_state_dict(saved(), assign=True)
        net(torch.ones(2, 3)).sum().backward()
        """, "net.load_state_dict", "net.float()"),
    "flatten leaves a dimension too many": (
        """
        import torch
        features = torch.rand(5, 2, 3, 4)
        head = torch.nn.Linear(2 * 3 * 4, 3)
        flat = torch.flatten(features, 2)
        head(flat).sum().backward()
        """, "torch.flatten", "torch.flatten(features, 1)"),
    "a hidden state with its batch first": (
        """
        import torch
        from torch import nn
        rnn = nn.GRU(4, 6, num_layers=2, batch_first=True)
        def start(batch, layers):
            return torch.zeros(batch, layers, 6)
        rnn(torch.rand(5, 3, 4), start(5, 2))[0].sum().backward()
        """, "torch.zeros(batch, layers, 6)", "torch.zeros(layers, batch, 6)"),
    "a state as large as a full batch": (
        """
        import torch
        from torch import nn
        rnn = nn.GRU(4, 6, batch_first=True)
        def start():
            return torch.zeros(1, 8, 6)
        for x in torch.rand(10, 3, 4).split(8):
            rnn(x, start())[0].sum().backward()
        """, "rnn(x, start())", "start()[:, :x.size(0)]"),
    "a weight for each channel": (
        """
        import torch
        weight, bias = torch.ones(6, requires_grad=True), torch.zeros(6)
        x = torch.rand(2, 6, 4, 4)
        y = weight * x + bias
        y.sum().backward()
        """, "weight * x", "weight[:, None, None] * x + bias[:, None, None]"),
    "a size that counts the steps of a window": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.conv = nn.Conv1d(1, 3, 4, stride=2)
                side = (size - 4) // 2
                self.head = nn.Linear(3 * side, 2)
            def forward(self, x):
                return self.head(self.conv(x).flatten(1))
        Net(12)(torch.rand(2, 1, 12)).sum().backward()
        """, "(size - 4) // 2", "side = (size - 4) // 2 + 1"),
    "a size in a text of settings": (
        """
        import json
        import torch
        SETTINGS = json.loads('''
        {"encoder": [5, 8],
         "decoder": [9, 5]}
        ''')
        net = torch.nn.Sequential(*[torch.nn.Linear(*sizes) for sizes in SETTINGS.values()])
        net(torch.rand(2, 5)).sum().backward()
        """, '"decoder": [9, 5]', '"decoder": [8, 5]'),
    "too few channels for a pixel shuffle": (
        """
        import torch
        from torch import nn
        class Upscaler(nn.Module):
            def __init__(self, colours, scale):
                super().__init__()
                self.up = nn.Sequential(nn.Conv2d(4, colours * scale, 1), nn.PixelShuffle(scale))
            def forward(self, x):
                return self.up(x)
        made = Upscaler(3, 2)(torch.rand(2, 4, 5, 5))
        (made - torch.rand(2, 3, 10, 10)).abs().sum().backward()
        """, "colours * scale", "colours * scale * scale"),
    "a decoder that gives too few values for a view": (
        """
        import torch
        from torch import nn
        class Decoder(nn.Module):
            def __init__(self, side, latent):
                super().__init__()
                self.side = side
                self.out = nn.Linear(latent, side)
            def forward(self, z):
                return self.out(z).view(-1, self.side, self.side)
        Decoder(5, 3)(torch.rand(2, 3)).sum().backward()
        """, "nn.Linear(latent, side)", "side * side"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])
