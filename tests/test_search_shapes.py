"""The search where shapes do not fit: the line to edit and the repair, for faults of kinds that real programs have."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a transposition that puts time where the features were": (
        """
        import torch
        from torch import nn
        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.out = nn.Linear(6, 3)
            def forward(self, x):
                x = x.transpose(1, 2)
                return self.out(x).mean(dim=1)
        Tagger()(torch.rand(4, 10, 6)).sum().backward()
        """, "x = x.transpose", ""),
    "odd lengths come back one short from a transposed convolution used at two depths": (
        """
        import torch
        from torch import nn
        class Small(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.halve = nn.MaxPool1d(2)
                self.grow = nn.ConvTranspose1d(width, width, 2, stride=2)
            def forward(self, x):
                first = self.halve(x)
                second = self.grow(self.halve(first))
                third = self.grow(second)
                return torch.cat([second, first], 1).mean() + torch.cat([third, x], 1).mean()
        Small(3)(torch.rand(2, 3, 21)).backward()
        """, "torch.cat([third, x], 1)", "interpolate(third, size=x.shape[2:])"),
    "a pyramid doubles a map that was rounded up when it was halved": (
        """
        import torch
        import torch.nn.functional as F
        halve = torch.nn.Conv2d(2, 2, 3, 2, 1)
        large = torch.rand(1, 2, 9, 9)
        small = halve(large)
        (large + F.interpolate(small, scale_factor=2)).sum().backward()
        """, "F.interpolate(small", "F.interpolate(small, size=large.shape[2:])"),
    "the skip connection is taken from a stack": (
        """
        import torch
        from torch import nn
        halve, double = nn.AvgPool3d(2), nn.Upsample(scale_factor=2)
        skips = [torch.rand(1, 2, 7, 8, 7, requires_grad=True)]
        x = halve(skips[0])
        torch.cat([double(x), skips.pop()], 1).sum().backward()
        """, "torch.cat", "size=skip.shape[2:]"),
    "convolutions without padding take the edges of a map": (
        """
        import torch
        from torch import nn
        down = nn.Sequential(nn.MaxPool1d(2), nn.Conv1d(2, 2, 5))
        up = nn.ConvTranspose1d(2, 2, 2, stride=2)
        x = torch.rand(1, 2, 32)
        y = up(down(x))
        torch.cat([x, y], dim=1).sum().backward()
        """, "torch.cat", "x.narrow(2, (x.size(2) - y.size(2)) // 2, y.size(2))"),
    "two numbers in the wrong order": (
        """
        import torch
        from torch import nn
        class Head(nn.Module):
            def __init__(self, features, classes):
                super().__init__()
                self.out = nn.Linear(features, classes)
            def forward(self, x):
                return self.out(x)
        make = Head
        nn.functional.cross_entropy(make(3, 8)(torch.rand(5, 8)), torch.zeros(5, dtype=torch.long)).backward()
        """, "make(3, 8)", "make(8, 3)"),
    "two tensors in the wrong order": (
        """
        import torch
        from torch import nn
        class Reading(nn.Module):
            def __init__(self):
                super().__init__()
                self.of_query, self.of_memory = nn.Linear(4, 5), nn.Linear(6, 5)
            def forward(self, query, memory):
                return self.of_query(query) @ self.of_memory(memory).transpose(1, 2)
        def read(layer, query, memory):
            return layer(memory, query)
        read(Reading(), torch.rand(2, 3, 4), torch.rand(2, 7, 6)).sum().backward()
        """, "layer(memory, query)", "layer(query, memory)"),
    "a method forgets what another does to the input of a layer": (
        """
        import torch
        from torch import nn
        class Conditional(nn.Module):
            def __init__(self, noise, kinds):
                super().__init__()
                self.noise, self.kind = noise, nn.Embedding(kinds, 3)
                self.maker = nn.Linear(noise + 3, 5)
            def forward(self, noise, kind):
                joined = torch.cat([noise, self.kind(kind)], 1)
                return self.maker(joined)
            def draw(self, kind):
                values = torch.randn(len(kind), self.noise)
                return self.maker(values)
        net = Conditional(4, 2)
        net(torch.rand(2, 4), torch.tensor([0, 1])).sum().backward()
        net.draw(torch.tensor([1, 1]))
        """, "self.maker(values)", "self.maker(torch.cat([values, self.kind(kind)], 1))"),
    "some rows are taken of one argument only": (
        """
        import torch
        from torch import nn
        class Spread(nn.Module):
            def __init__(self):
                super().__init__()
                self.own = nn.Linear(3, 2)
            def forward(self, x, links):
                return links @ self.own(x)
        x, links, some = torch.rand(6, 3), torch.eye(6), torch.tensor([0, 2, 5])
        made = Spread()(x[some], links)
        nn.functional.cross_entropy(made, torch.tensor([0, 1, 1])).backward()
        """, "Spread()(x[some], links)", "Spread()(x, links)[some]"),
    "a loss of all rows with the labels of some": (
        """
        import torch
        from torch import nn
        scores = nn.Linear(3, 2)(torch.rand(6, 3))
        labels, known = torch.tensor([0, 1, 1, 0, 0, 1]), torch.tensor([True, False, True, True, False, False])
        nn.functional.cross_entropy(scores, labels[known]).backward()
        """, "cross_entropy(scores", "cross_entropy(scores[known], labels[known])"),
    "a bare squeeze drops a batch of one": (
        """
        import torch
        from torch import nn
        pool, norm = nn.AdaptiveAvgPool2d(1), nn.BatchNorm1d(3).eval()
        for batch in torch.rand(5, 3, 4, 4).split(2):
            pooled = pool(batch).squeeze()
            norm(pooled)
        """, "pool(batch).squeeze()", "pool(batch).flatten(1)"),
    "the sizes of a weight taken in the wrong order": (
        """
        import torch
        from torch import nn
        class Added(nn.Module):
            def __init__(self, base):
                super().__init__()
                inner, outer = base.weight.shape
                self.base = base
                self.down = nn.Linear(inner, 2)
                self.up = nn.Linear(2, outer)
            def forward(self, x):
                return self.base(x) + self.up(self.down(x))
        Added(nn.Linear(3, 8))(torch.rand(4, 3)).sum().backward()
        """, "inner, outer = base", "outer, inner = base.weight.shape"),
    "one number a sample for a batch of images": (
        """
        import torch
        def mixed(one, other):
            share = torch.rand(one.size(0))
            return share * one + (1 - share) * other
        mixed(torch.rand(4, 3, 8, 8), torch.rand(4, 3, 8, 8))
        """, "torch.rand(one.size(0))", "torch.rand(one.size(0), 1, 1, 1)"),
    "parts are joined one below the other": (
        """
        import torch
        from torch import nn
        one, other, out = nn.Linear(2, 4), nn.Linear(3, 4), nn.Linear(8, 2)
        both = torch.cat([one(torch.rand(5, 2)), other(torch.rand(5, 3))])
        nn.functional.cross_entropy(out(both), torch.tensor([0, 1, 0, 1, 0])).backward()
        """, "torch.cat([one", "dim=1"),
    "a table is cut to the size of another dimension": (
        """
        import torch
        from torch import nn
        class Placed(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("table", torch.rand(1, 20, 4))
            def forward(self, x):
                return x + self.table[:, :x.size(0)]
        assert Placed()(torch.rand(3, 6, 4)).shape == (3, 6, 4)
        """, "self.table[:, :x.size(0)]", "self.table[:, :x.size(1)]"),
    "parts of one row stacked in place of joined": (
        """
        import torch
        from torch import nn
        class Table(nn.Module):
            def __init__(self):
                super().__init__()
                self.kinds = nn.Embedding(4, 3)
                self.out = nn.Linear(5, 1)
            def forward(self, numbers, kind):
                return self.out(torch.stack([numbers, self.kinds(kind)], dim=1))
        Table()(torch.rand(6, 2), torch.randint(0, 4, (6,))).sum().backward()
        """, "torch.stack(", "torch.cat("),
    "coordinates joined in place of stacked": (
        """
        import torch
        def ring(count):
            angle = torch.rand(count) * 6.28
            return torch.cat([angle.cos(), angle.sin()], dim=1)
        torch.nn.Linear(2, 3)(ring(7)).sum().backward()
        """, "torch.cat(", "torch.stack("),
    "a map of class numbers beside scores": (
        """
        import torch
        def overlap(scores, labels):
            both = (scores.softmax(1) * labels).sum((2, 3))
            return both / (scores.softmax(1).sum((2, 3)) + labels.sum((2, 3)))
        scores = torch.randn(2, 5, 4, 4, requires_grad=True)
        overlap(scores, torch.arange(32).view(2, 4, 4) % 5).mean().backward()
        """, "labels).sum", "one_hot(labels, 5)"),
    "the numbers of several classes for each sample": (
        """
        import torch
        from torch import nn
        scores = nn.Linear(3, 6)(torch.rand(4, 3))
        tags = torch.tensor([[0, 5], [1, 2], [3, 4], [2, 5]])
        nn.functional.binary_cross_entropy_with_logits(scores, tags.float()).backward()
        """, "tags.float()", "one_hot(tags, scores.shape[1]).amax(1)"),
    "vectors for a generator that is given maps elsewhere": (
        """
        import torch
        from torch import nn
        class Painter(nn.Module):
            def __init__(self, noise):
                super().__init__()
                self.up = nn.ConvTranspose2d(noise, 3, 4)
            def forward(self, z):
                return self.up(z).tanh()
        def between(noise, steps):
            share = torch.linspace(0, 1, steps)[:, None]
            return share * torch.rand(noise) + (1 - share) * torch.rand(noise)
        painter = Painter(7)
        painter(torch.randn(2, 7, 1, 1)).mean().backward()
        painter(between(7, 5))
        """, "share * torch.rand(noise) +", "[..., None, None]"),
    "a decoder takes the skips in the order of the encoder": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.down = nn.ModuleList([nn.Conv1d(1, 4, 3, 2, 1), nn.Conv1d(4, 8, 3, 2, 1)])
                self.up = nn.ModuleList([nn.ConvTranspose1d(8, 4, 2, 2), nn.ConvTranspose1d(8, 1, 2, 2)])
            def forward(self, x):
                skips = []
                for layer in self.down:
                    skips.append(x)
                    x = layer(x)
                for i, layer in enumerate(self.up):
                    x = torch.cat([layer(x), skips[i]], dim=1)
                return x
        Net()(torch.rand(2, 1, 16)).sum().backward()
        """, "skips[i]", "skips[-1 - i]"),
    "maps taken from the wrong end of a stack": (
        """
        import torch
        from torch import nn
        halve = nn.AvgPool2d(2)
        def merged(x):
            stack = []
            for _ in range(3):
                stack.append(x)
                x = halve(x)
            while stack:
                x = nn.functional.interpolate(x, scale_factor=2) + stack.pop(0)
            return x
        merged(torch.rand(1, 2, 16, 16, requires_grad=True)).sum().backward()
        """, "stack.pop(0)", "stack.pop()"),
    "a result that nothing uses": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(6, 9), nn.Linear(9, 2)
            def forward(self, x):
                hidden = self.first(x).relu()
                return self.second(x)
        Net()(torch.rand(3, 6)).sum().backward()
        """, "self.second(x)", "self.second(hidden)"),
    "one of three projections is not brought to heads": (
        """
        import torch
        def attended(q, k, v, heads):
            n, t, width = q.shape
            q = q.view(n, t, heads, width // heads).transpose(1, 2)
            k = k.view(n, t, heads, width // heads).transpose(1, 2)
            v = v.view(n, t, heads, width // heads)
            return (q @ k.mT).softmax(-1) @ v
        attended(*torch.rand(3, 2, 7, 8, requires_grad=True), 4).sum().backward()
        """, "v = v.view", "v = v.view(n, t, heads, width // heads).transpose(1, 2)"),
    "a table of odd width has room for fewer cosines": (
        """
        import torch
        def table(length, width):
            angles = torch.arange(length)[:, None] / torch.arange(1, width + 1, 2)
            made = torch.zeros(length, width)
            made[:, 0::2] = angles.sin()
            made[:, 1::2] = angles.cos()
            return made
        (table(5, 7) * torch.rand(7, requires_grad=True)).sum().backward()
        """, "made[:, 1::2] =", "angles.cos()[..., :made[:, 1::2].size(-1)]"),
    "an entry kept where the samples are to be stacked whole": (
        """
        import torch
        from torch import nn
        act = nn.Linear(5, 2)
        def collected(n):
            states = [torch.rand(5) for _ in range(n)]
            return torch.stack(states), torch.stack([act(state)[0] for state in states])
        states, actions = collected(7)
        nn.Linear(7, 1)(torch.cat([states, actions], dim=1)).sum().backward()
        """, "act(state)[0]", "torch.stack([act(state) for state in states])"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_shapes_went_apart(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])
