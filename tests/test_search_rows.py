"""The search where indices and devices are wrong: small tables, masks of numbers, what an object keeps elsewhere."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a padding id one beyond the rows of a table of weights": (
        """
        import torch
        from torch import nn
        class Costs(nn.Module):
            def __init__(self, kinds):
                super().__init__()
                self.stop = kinds
                self.cost = nn.Parameter(torch.rand(kinds, 2))
            def forward(self):
                return self.cost[self.stop].sum()
        Costs(4)().backward()
        """, "torch.rand(kinds, 2)", "torch.rand(kinds + 1, 2)"),
    "rows counted by the largest id of one column": (
        """
        import torch
        from torch import nn
        def numbered(pairs):
            known, rows = {}, []
            for giver, taker in pairs:
                rows.append((known.setdefault(giver, len(known)), known.setdefault(taker, len(known))))
            rows = torch.tensor(rows)
            return rows, int(rows[:, 0].max()) + 1
        rows, count = numbered([("ann", "bob"), ("bob", "cid"), ("ann", "dan")])
        nn.Embedding(count, 3)(rows).sum().backward()
        """, "int(rows[:, 0].max()) + 1", "return rows, len(known)"),
    "nodes counted by those that edges start from": (
        """
        import torch
        links = torch.tensor([[0, 1, 1, 2], [1, 2, 4, 0]])
        count = links[0].max().item() + 1
        torch.ones(count)[links[1]].sum()
        """, "links[0].max().item() + 1", "count = links.max().item() + 1"),
    "a mask of zeros and ones that came through a function": (
        """
        import torch
        def known(speeds):
            return (speeds > 0).float()
        def kept(speeds):
            mask = torch.stack([known(one) for one in speeds])
            return speeds[:, 0][mask[:, 0]].mean()
        print(kept(torch.rand(6, 3)))
        """, "(speeds > 0).float()", "return (speeds > 0)"),
    "classes computed by a division of floats": (
        """
        import torch
        from torch.nn import functional as F
        def band(heights):
            return heights // 10.0
        print(F.one_hot(band(torch.tensor([3.5, 12.0, 28.0])), num_classes=3).sum())
        """, "heights // 10.0", "(heights // 10.0).long()"),
    "statistics in an object that knows how to be moved": (
        """
        import torch
        from torch import nn
        class Range:
            def __init__(self, low, high):
                self.low, self.high = low, high
            def to(self, device):
                return Range(self.low.to(device), self.high.to(device))
            def narrowed(self, x):
                return (x - self.low) / (self.high - self.low)
        class Runner:
            def __init__(self, net, span, device):
                self.net, self.device = net.to(device), device
                self.span = span
            def run(self, x):
                return self.net(self.span.narrowed(x.to(self.device)))
        Runner(nn.Linear(3, 2), Range(torch.zeros(3), torch.ones(3)), torch.device("meta")).run(torch.rand(4, 3))
        """, "self.span = span", "self.span = span.to(device)"),
    "statistics in an object that is not moved": (
        """
        import torch
        from torch import nn
        class Range:
            def __init__(self, low, high):
                self.low = low
                self.high = high
            def narrowed(self, x):
                return (x - self.low) / (self.high - self.low)
        net, span = nn.Linear(3, 2).to("meta"), Range(torch.zeros(3), torch.ones(3))
        net(span.narrowed(torch.rand(4, 3, device="meta")))
        """, "x - self.low", "(x - self.low.to(x.device)) / (self.high.to(x.device) - self.low.to(x.device))"),
    "two tables that read each other's column": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        people, films = nn.Embedding(3, 2), nn.Embedding(8, 2)
        def liked(pairs):
            return (people(pairs[:, 1]) * films(pairs[:, 0])).sum(1)
        print(liked(torch.tensor([[0, 7], [2, 5]])))
        """, "people(pairs[:, 1])", "people(pairs[:, 0]) * films(pairs[:, 1])"),
    "a mask the other way round": (
        """
        import torch
        known = torch.ones(3, 5, dtype=torch.bool)
        print(torch.rand(5, 3)[known].mean())
        """, "[known]", "[known.t()]"),
    "classes with gaps counted by how many there are": (
        """
        import torch
        from torch import nn
        kinds = torch.tensor([0, 5, 5, 2])
        net = nn.Linear(3, len(torch.unique(kinds)))
        nn.functional.cross_entropy(net(torch.rand(4, 3)), kinds).backward()
        """, "len(torch.unique(kinds))", "int(kinds.max()) + 1"),
    "parameters saved without the running statistics": (
        """
        from torch import nn
        def made():
            return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        def kept(net):
            return {name: one.detach() for name, one in net.named_parameters()}
        made().load_state_dict(kept(made()))
        """, "in net.named_parameters()", "return net.state_dict()"),
    "a folder that is not there yet": (
        """
        import torch
        from torch import nn
        torch.save(nn.Linear(2, 2).state_dict(), "kept/best.pt")
        """, "torch.save", "os.makedirs(\"kept\", exist_ok=True)"),
    "a key of the checkpoint that was saved under another name": (
        """
        import torch
        from torch import nn
        torch.save({"net": nn.Linear(2, 2).state_dict(), "epoch": 1}, "kept.pt")
        nn.Linear(2, 2).load_state_dict(torch.load("kept.pt")["model"])
        """, "torch.load", "torch.load(\"kept.pt\")[\"net\"]"),
    "layers built when the first input is seen": (
        """
        import torch
        from torch import nn
        class Heads(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.sizes, self.made = sizes, nn.ModuleList()
            def grow(self, width):
                for size in self.sizes:
                    self.made.append(nn.Linear(width, size))
            def forward(self, x):
                if not len(self.made):
                    self.grow(x.shape[1])
                return [one(x) for one in self.made]
        Heads([2, 3]).to("meta")(torch.rand(4, 5, device="meta"))
        """, "self.grow(x.shape[1])", "self.to(x.device)"),
    "a mask drawn before rows were left out": (
        """
        import torch
        def kept(rows):
            return rows[rows.sum(1) > 0]
        def prepared(count):
            rows = torch.ones(count, 3)
            rows[2] = 0
            chosen = torch.arange(len(rows)) % 2 == 0
            rows = kept(rows)
            return rows, chosen
        rows, chosen = prepared(8)
        print(rows[chosen].sum())
        """, "chosen = torch.arange", "chosen = torch.arange(len(rows)) % 2 == 0"),
}  # fmt: skip


#: Program, what no fix may put there.
NEAR = {
    "positions that are no mask": (
        """
        import torch
        order = torch.rand(4).argsort().float()
        print(torch.rand(4, 2)[order])
        """, ".bool()"),
    "data that is just indexed too far": (
        """
        import torch
        rows = torch.rand(3, 2)
        for at in range(1, 4):
            print(rows[at].sum())
        """, "torch.rand(3 + 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


@pytest.mark.parametrize("name", list(NEAR))
def test_a_repair_for_another_fault_is_not_offered(runner: Runner, name: str) -> None:
    assert_never_offered(runner, *NEAR[name])
