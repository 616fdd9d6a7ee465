"""Errors of devices that were decided elsewhere: moves whose result is dropped, defaults, caches, each tried whole."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import OPEN, assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

FAULTS = {
    "both states that a helper makes": (
        """
        import torch
        from torch import nn
        class Cell(nn.Module):
            def __init__(self):
                super().__init__()
                self.gates = nn.Linear(7, 12)
            def start(self, count):
                return (torch.zeros(count, 4),
                        torch.zeros(count, 4))
            def forward(self, x, state):
                h, c = state
                i, f, o = self.gates(torch.cat([x, h], dim=1)).chunk(3, dim=1)
                c = f * c + i
                return o * c, c
        cell = Cell().to("meta")
        h, c = cell(torch.rand(5, 3, device="meta"), cell.start(5))
        h.sum().backward()
        """, "return (torch.zeros(count, 4),", "torch.zeros(count, 4, device=next(self.parameters()).device)"),
    "a helper that goes through the values of a dict": (
        """
        import torch
        from torch import nn
        def send(sample, where):
            for part in sample.values():
                if torch.is_tensor(part):
                    part.to(where)
            return sample
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(4, 2)
            def forward(self, sample):
                return self.first(sample["x"]) * sample["w"]
        net, where = Net().to("meta"), torch.device("meta")
        sample = send({"x": torch.rand(3, 4), "w": torch.rand(3, 1), "id": "a"}, where)
        net(sample).sum().backward()
        """, "part.to(where)", "sample[key] = part.to(where)"),
    "a loop over a tuple of names": (
        """
        import torch
        from torch import nn
        device = "meta"
        net = nn.Linear(4, 1).to(device)
        for x, y in [(torch.rand(5, 4), torch.rand(5, 1))]:
            for one in (x, y):
                one.to(device)
            (net(x) - y).square().mean().backward()
        """, "one.to(device)", "x, y = x.to(device), y.to(device)"),
    "a loop over a list": (
        """
        import torch
        from torch import nn
        device = "meta"
        net = nn.Linear(4, 1).to(device)
        for batch in [[torch.rand(5, 4), torch.rand(5, 1)]]:
            for one in batch:
                one.to(device, non_blocking=True)
            x, y = batch
            (net(x) - y).square().mean().backward()
        """, "one.to(device", "batch[index] = one.to(device, non_blocking=True)"),
    "a comprehension as a statement": (
        """
        import torch
        from torch import nn
        device = "meta"
        net = nn.Linear(4, 1).to(device)
        for batch in [[torch.rand(5, 4), torch.rand(5, 1)]]:
            [one.to(device) for one in batch]
            x, y = batch
            (net(x) - y).square().mean().backward()
        """, "[one.to(device)", "batch = [one.to(device) for one in batch]"),
    "a loop that goes on with what it moves": (
        """
        import torch
        from torch import nn
        device = torch.device("meta")
        net = nn.Linear(4, 1).to(device)
        for index, image in enumerate([torch.rand(2, 4), torch.rand(3, 4)]):
            image.to(device=device)
            net(image).sum().backward()
        """, "image.to(", "image = image.to(device=device)"),
    "a store of an agent that does not know its device": (
        """
        import torch
        from torch import nn
        class Store:
            def __init__(self, size, width, device=torch.device("cpu")):
                self.states = torch.zeros(size, width, device=device)
            def sample(self, count):
                return self.states[:count]
        class Agent:
            def __init__(self, width, device):
                self.store = Store(32, width)
                self.net = nn.Linear(width, 2).to(device)
            def learn(self):
                batch = self.store.sample(8)
                return self.net(batch).sum()
        Agent(4, torch.device("meta")).learn().backward()
        """, "Store(32, width)", "Store(32, width, device=device)"),
    "a schedule made where the settings have the device": (
        """
        import argparse
        import torch
        from torch import nn
        class Noise:
            def __init__(self, steps, *, device=None):
                shares = torch.linspace(1e-4, 0.02, steps, device=device)
                self.kept = torch.cumprod(1 - shares, 0)
            def add(self, x, noise):
                share = self.kept[:3].sqrt()[:, None]
                return share * x + noise
        def setup(args):
            net = nn.Linear(4, 4).to(args.device)
            return net, Noise(100)
        args = argparse.Namespace(device="meta")
        net, noise = setup(args)
        x = torch.rand(3, 4, device=args.device)
        (net(noise.add(x, torch.randn_like(x))) - x).square().mean().backward()
        """, "Noise(100)", "Noise(100, device=args.device)"),
    "a mask that is made where it is added": (
        """
        import torch
        from torch import nn
        device = torch.device("meta")
        def causal(count, device="cpu"):
            return torch.full((count, count), float("-inf"), device=device).triu(1)
        net, x = nn.Linear(8, 8).to(device), torch.rand(4, 8, device=device)
        scores = net(x) @ x.t()
        torch.softmax(scores + causal(4), -1).sum().backward()
        """, "causal(4)", "causal(4, device=device)"),
    "masks of the whole file kept by length": (
        """
        import torch
        from torch import nn
        MASKS = {}
        def causal(count, device):
            if count in MASKS:
                return MASKS[count]
            MASKS[count] = torch.full((count, count), float("-inf"), device=device).triu(1)
            return MASKS[count]
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.asked = nn.Linear(4, 4)
            def forward(self, x):
                scores = self.asked(x) @ x.transpose(1, 2)
                return torch.softmax(scores + causal(x.size(1), x.device), -1) @ x
        net = Net()
        net(torch.rand(2, 5, 4))
        net.to("meta")(torch.rand(2, 5, 4, device="meta")).sum().backward()
        """, "if count in MASKS", "if (count, device) in MASKS"),
    "a key that has a name": (
        """
        import torch
        from torch import nn
        class Positions(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.width, self.made = width, {}
            def forward(self, x):
                key = (x.size(1), self.width)
                if key not in self.made:
                    at = torch.arange(x.size(1), device=x.device)[:, None]
                    self.made[key] = torch.sin(at / torch.arange(1, self.width + 1, device=x.device))
                return x + self.made[key]
        net = nn.Sequential(nn.Linear(4, 4), Positions(4))
        net(torch.rand(1, 5, 4))
        net.to("meta")(torch.rand(2, 5, 4, device="meta")).sum().backward()
        """, "key = (x.size(1), self.width)", "key = (x.size(1), self.width, x.device)"),
    "an entry that is tried, whose key has another use": (
        """
        import torch
        from torch import nn
        class Places(nn.Module):
            made = {}
            def __init__(self, width):
                super().__init__()
                self.width, self.last = width, nn.Linear(width, width)
            def table(self, x):
                count = x.shape[1]
                try:
                    return self.made[count]
                except KeyError:
                    self.made[count] = torch.zeros(count, self.width, device=x.device)
                    return self.made[count]
            def forward(self, x):
                return self.last(x + self.table(x))
        places = Places(4)
        places(torch.rand(1, 5, 4))
        places.to("meta")(torch.rand(1, 5, 4, device="meta")).sum().backward()
        """, "return self.made[count]", "self.made[(count, x.device)]"),
    "a mask that is handed out where it is large enough": (
        """
        import torch
        class Causal:
            def __init__(self):
                self.kept = None
            def mask(self, n, device):
                if self.kept is not None and self.kept.size(0) >= n:
                    return self.kept[:n, :n]
                self.kept = torch.ones(n, n, device=device).tril()
                return self.kept
        causal = Causal()
        for device in ("cpu", "meta"):
            scores = torch.rand(2, 5, 5, device=device)
            kept = causal.mask(5, scores.device)
            scores = scores + (1 - kept) * -1e9
        """, "if self.kept is not None", ">= n and self.kept.device == torch.device(device)"),
    "a store whose rows are given to a layer in place": (
        """
        import torch
        from torch import nn
        class Store:
            def __init__(self, size, width, device=None):
                self.device = device or torch.device("cpu")
                self.rows = torch.zeros((size, width), device=self.device)
            def last(self, count):
                return self.rows[-count:]
        def main():
            device = torch.device("meta")
            store, net = Store(16, 4), nn.Linear(4, 2).to(device)
            net(store.last(3)).sum().backward()
        main()
        """, "Store(16, 4)", "Store(16, 4, device=device)"),
    "a grid that is asked for with get": (
        """
        import torch
        class Grid:
            def __init__(self):
                self.made = {}
            def of(self, x):
                h, w = x.shape[-2:]
                grid = self.made.get((h, w))
                if grid is None:
                    rows, columns = torch.linspace(-1, 1, h, device=x.device), torch.linspace(-1, 1, w, device=x.device)
                    grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij"))
                    self.made[(h, w)] = grid
                return grid
        grid = Grid()
        for device in ("cpu", "meta"):
            maps = torch.rand(2, 2, 4, 4, device=device)
            maps = maps * grid.of(maps)
        """, "self.made.get((h, w))", "self.made.get((h, w, x.device))"),
    "a model that a helper moves to look at it": (
        """
        import torch
        def sizes(model, shape):
            bare = model.to("meta")
            return bare(torch.empty(shape, device="meta")).numel()
        net = torch.nn.Linear(4, 2)
        print(sizes(net, (1, 4)))
        print(net(torch.rand(3, 4)).sum().item())
        """, "bare = model", "bare = copy.deepcopy(model).to(\"meta\")"),
    "a buffer that no checkpoint fills": (
        """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.body = torch.nn.Linear(4, 3)
                self.register_buffer("scale", torch.arange(3) + 1.0, persistent=False)
            def forward(self, x):
                return self.body(x) * self.scale
        saved = Net().state_dict()
        with torch.device("meta"):
            net = Net()
        net.load_state_dict(saved, assign=True)
        print(net(torch.rand(2, 4)).sum().item())
        """, "persistent=False", "persistent=True", OPEN),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_device_is_repaired_where_it_was_decided(name: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[name])


NEAR = {
    "a batch whose own `to` moves it in place": (
        """
        import torch
        from torch import nn
        class Batch(dict):
            def to(self, device):
                for name in list(self):
                    self[name] = self[name].to(device)
        batch, net = Batch(x=torch.rand(2, 4)), nn.Linear(4, 1).to("meta")
        batch.to("meta")
        shift = torch.ones(2, 1)
        (net(batch["x"]) * shift).sum()
        """, "batch = "),
    "an object that drops the move of something else": (
        """
        import torch
        from torch import nn
        class Trainer:
            def __init__(self, net, device):
                self.net, self.device, self.seen = net.to(device), device, torch.zeros(3)
            def step(self, x):
                self.seen.to(self.device)
                return self.net(x).sum()
        Trainer(nn.Linear(4, 2), torch.device("meta")).step(torch.rand(3, 4))
        """, "self.seen = self.seen.to"),
    "a table that is kept by device already, under another name": (
        """
        import torch
        class Tables:
            def __init__(self):
                self.made = {}
            def get(self, count, where):
                key = (count, where)
                if key not in self.made:
                    self.made[key] = torch.arange(count, device=where).float()
                return self.made[key]
        x = torch.rand(2, 4, device="meta")
        shift = Tables().get(4, torch.device("cpu"))
        print((x * shift).shape)
        """, "(count, where, "),
    "another tensor than the one that is kept": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.made = nn.Linear(4, 4), {}
            def forward(self, x, share):
                n = x.size(1)
                if n not in self.made:
                    self.made[n] = torch.ones(n, device=x.device)
                return self.first(x * self.made[n]) * share
        Net().to("meta")(torch.rand(2, 4, device="meta"), torch.rand(4))
        """, "(n, x.device)"),
    "a move to a device that is only known after the copies were taken": (
        """
        import torch
        from torch import nn
        def fit(net, asked):
            slow = [p.detach().clone() for p in net.parameters()]
            where = torch.device(asked if len(slow) > 1 else "cpu")
            moved = net.to(where)
            for kept, p in zip(slow, moved.parameters()):
                kept.lerp_(p.detach(), 0.1)
        fit(nn.Linear(4, 2), "meta")
        """, "moved = net.to(where)"),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR)
def test_what_only_looks_alike_is_left_alone(name: str, runner: Runner) -> None:
    assert_never_offered(runner, *NEAR[name])
