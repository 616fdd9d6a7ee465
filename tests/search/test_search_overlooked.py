"""What decides a size, a branch or a graph where nobody looks: a default, a condition, another branch."""

from __future__ import annotations

import pytest
from faults import OPEN, assert_repaired

pytest.importorskip("torch")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a default that halves what joins its own input": (
        """
        import torch
        from torch import nn
        def block(width, kernel=3, stride=2):
            return nn.Sequential(nn.Conv2d(width, width, kernel, stride, 1), nn.BatchNorm2d(width), nn.ReLU())
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last = block(8), nn.Conv2d(16, 4, 1)
            def forward(self, x):
                y = self.first(x)
                return self.last(torch.cat([x, y], 1))
        net = Net()
        net(torch.rand(2, 8, 12, 12)).sum().backward()
        """, "def block(width", "stride=1"),
    "a layer left out of a chain": (
        """
        import torch
        from torch import nn
        body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        nn.functional.cross_entropy(net(torch.rand(6, 3, 9, 9)), torch.arange(6) % 4).backward()
        """, "net = nn.Sequential(nn.Linear(8, 16)", "nn.Sequential(body, nn.Linear(8, 16)"),
    "the width after heads that are joined": (
        """
        import torch
        from torch import nn
        class Layer(nn.Module):
            def __init__(self, wide, width, heads):
                super().__init__()
                self.proj = nn.Linear(wide, heads * width)
            def forward(self, x):
                return self.proj(x).relu()
        class Net(nn.Module):
            def __init__(self, wide=24, hidden=8, heads=4, depth=3):
                super().__init__()
                self.layers = nn.ModuleList()
                for _ in range(depth):
                    self.layers.append(Layer(wide, hidden, heads))
                    wide = hidden
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x
        net = Net()
        net(torch.rand(5, 24)).sum().backward()
        """, "wide = hidden", "heads * hidden", OPEN),
    "a text grown longer than its table of places": (
        """
        import torch
        from torch import nn
        from types import SimpleNamespace
        class Net(nn.Module):
            def __init__(self, cfg):
                super().__init__()
                self.cfg = cfg
                self.token, self.place = nn.Embedding(20, 8), nn.Embedding(cfg.block, 8)
                self.out = nn.Linear(8, 20)
            def forward(self, ids):
                return self.out(self.token(ids) + self.place(torch.arange(ids.size(1))))
            def more(self, ids, count):
                for _ in range(count):
                    ids = torch.cat([ids, self(ids)[:, -1].argmax(-1, keepdim=True)], 1)
                return ids
        net = Net(SimpleNamespace(block=6, width=8, name="small"))
        ids = torch.randint(0, 20, (3, 6))
        nn.functional.cross_entropy(net(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        print(net.more(ids[:, :4], 5).shape)
        """, "ids = torch.cat([ids, self(ids)", "self(ids[:, -self.cfg.block:])"),
    "a branch that leaves the channels": (
        """
        import torch
        from torch import nn
        def fitted(wave, size):
            missing = size - wave.size(-1)
            if missing > 0:
                return nn.functional.pad(wave, (0, missing))
            return wave[..., :size].mean(0, keepdim=True)
        class Waves(torch.utils.data.Dataset):
            def __init__(self):
                self.kept = [torch.rand(2 if i % 3 == 2 else 1, 30 if i % 3 == 2 else 50) for i in range(9)]
            def __len__(self):
                return len(self.kept)
            def __getitem__(self, at):
                return fitted(self.kept[at], 40)
        net = nn.Conv1d(1, 4, 5)
        for batch in torch.utils.data.DataLoader(Waves(), batch_size=3):
            net(batch).sum().backward()
        """, "return nn.functional.pad", ".mean(0, keepdim=True)"),
    "inputs that all models share, mapped with the models": (
        """
        import torch
        from torch.func import vmap
        def loss(weight, x, y):
            return ((x @ weight - y) ** 2).mean()
        each = vmap(loss)
        weights = torch.rand(5, 3, requires_grad=True)
        x, y = torch.rand(20, 3), torch.rand(20)
        each(weights, x, y).sum().backward()
        print(weights.grad.shape)
        """, "each = vmap(loss)", "in_dims=(0, None, None)"),
    "gradients unscaled for each part of a step": (
        """
        import torch
        from torch import nn
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
        for step in range(1, 9):
            loss = net(torch.rand(5, 4)).pow(2).mean() / 4
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            if step % 4 == 0:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        """, "scaler.unscale_(optimizer)", "        scaler.unscale_(optimizer)"),
    "a memory that knows how to forget, kept with its graph": (
        """
        import torch
        from torch import nn
        class Memory(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell, self.told = nn.GRUCell(3, 4), None
                self.register_buffer("kept", torch.zeros(5, 4))
            def reset(self):
                self.kept, self.told = torch.zeros_like(self.kept), None
            def read(self):
                return self.kept if self.told is None else self.cell(self.told, self.kept)
            def commit(self, now, told):
                self.kept = now
                self.told = told
        memory, out = Memory(), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*memory.parameters(), *out.parameters()], lr=0.1)
        memory.reset()
        for step in range(5):
            now = memory.read()
            loss = out(now).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            memory.commit(now, torch.rand(5, 3))
        """, "self.kept = now", "now.detach()"),
    "what is made after a tensor of a dry run": (
        """
        import copy
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Conv1d(1, 4, 5, stride=2), nn.Flatten())
                dry = copy.deepcopy(self.body).to("meta")
                made = dry(torch.empty(1, 1, 21, device="meta"))
                self.register_buffer("means", made.new_zeros(3, made.shape[-1]))
            def forward(self, x):
                return self.body(x)[:, None] - self.means
        net = Net()
        net(torch.rand(2, 1, 21)).sum().backward()
        """, "made.new_zeros", "device="),
    "a constant column behind a loss of probabilities": (
        """
        import torch
        from torch import nn
        rows = torch.rand(40, 3)
        rows[:, 1] = 1.0
        x = (rows - rows.mean(0)) / rows.std(0)
        net = nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())
        loss = nn.functional.binary_cross_entropy(net(x).squeeze(1), torch.arange(40) % 2 * 1.0)
        loss.backward()
        """, "x = (rows - rows.mean(0))", "+ 1e-"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_the_place_that_nobody_looks_at_is_mended(runner, name):
    assert_repaired(runner, *FAULTS[name])
