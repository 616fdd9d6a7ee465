"""The search where memory, ids, checkpoints and batches are wrong: the line to edit and the repair for each fault."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "attention over the whole batch folded into one sequence": (
        """
        import torch
        from torch import nn
        class Mixer(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
            def forward(self, notes):
                flat = notes.flatten(0, 1)
                return torch.matmul(self.query(flat), self.key(flat).transpose(-2, -1)).softmax(-1)
        Mixer(4)(torch.rand(10_000, 30, 4))
        """, "notes.flatten(0, 1)", "flat = notes"),
    "an adjacency matrix of few entries, filled both ways": (
        """
        import torch
        def links(pairs, count):
            matrix = torch.zeros((count, count))
            matrix[pairs[0], pairs[1]] = 1.0
            matrix[pairs[1], pairs[0]] = 1.0
            return matrix
        links(torch.tensor([[0, 1, 2], [3, 4, 5]]), 300_000) @ torch.rand(300_000, 2)
        """, "torch.zeros((count, count))", "torch.sparse_coo_tensor(", "suggestion"),  # torch warns of its invariants
    "a product of all pairs of which the diagonal is kept": (
        """
        import torch
        def scores(users, items):
            return (users @ items.t()).diagonal()
        scores(torch.rand(300_000, 3), torch.rand(300_000, 3)).mean()
        """, "(users @ items.t()).diagonal()", "(users * items).sum(-1)"),
    "distances by the differences of all pairs": (
        """
        import torch
        def nearest(points, codes):
            gap = points.unsqueeze(1) - codes.unsqueeze(0)
            return gap.norm(dim=-1).argmin(1)
        nearest(torch.rand(60_000, 1024), torch.rand(400, 1024))
        """, "gap.norm(dim=-1)", "torch.cdist(points, codes)"),
    "rows of the whole table drawn to index its training part": (
        """
        import torch
        torch.manual_seed(0)
        class Fit:
            def __init__(self, table):
                self.train, self.rest = table.split([40, 10])
                self.order = torch.randperm(table.size(0))
            def epoch(self):
                for at in range(0, 50, 8):
                    rows = self.order[at:at + 8]
                    yield self.train[rows].mean()
        print(len(list(Fit(torch.rand(50, 3)).epoch())))
        """, "table", "self.order = torch.randperm(self.train.size(0))"),
    "sizes given to repeat, which takes counts": (
        """
        import torch
        def biased(scores, table):
            rows, columns = scores.shape[1:]
            bias = table.unsqueeze(0).repeat(len(scores), rows, columns)
            return scores + bias
        biased(torch.rand(64, 900, 700), torch.rand(900, 700))
        """, "table.unsqueeze(0).repeat(len(scores), rows, columns)", ".expand(len(scores), rows, columns)"),
    "a dense layer on every pixel of a large map": (
        """
        import torch
        from torch import nn
        class Grader(nn.Module):
            def __init__(self, side):
                super().__init__()
                self.layers = nn.Sequential(
                    nn.Conv2d(1, 4, 3, padding=1),
                    nn.Flatten(),
                    nn.Linear(4 * side * side, 50_000),
                )
            def forward(self, scans):
                return self.layers(scans)
        Grader(1000)(torch.rand(1, 1, 1000, 1000))
        """, "nn.Linear(4 * side * side, 50_000)", "nn.Linear(4 * 8 * 8, 50_000)"),
    "times in milliseconds counted by bincount": (
        """
        import torch
        def per_minute(times):
            return torch.bincount(times)
        base = 1_600_000_000_000
        per_minute(torch.tensor([base + minute * 60_000 for minute in range(30) for _ in range(3)]))
        """, "torch.bincount(times)", "(times - times.min()) // 60_000"),
    "hashed ids give a table its size": (
        """
        import torch
        from torch import nn
        shops = torch.tensor([900_000_000_017, 900_000_000_403, 900_000_000_017])
        table = nn.Embedding(int(shops.max()) + 1, 8)
        table(shops).sum().backward()
        """, "shops = torch.tensor(", "torch.unique(torch.tensor("),
    "a size with a factor that stands beside it, too": (
        """
        import torch
        def store(clips, frames, side):
            return torch.zeros(clips * frames * side * side, frames, side, side)
        store(40, 32, 64).view(40, 32, 64, 64)
        """, "torch.zeros(", "torch.zeros(clips, frames, side, side)"),
    "a mark of padding looked up in a table": (
        """
        import torch
        from torch import nn
        from torch.nn.utils.rnn import pad_sequence
        table = nn.Embedding(6, 3)
        words = pad_sequence([torch.tensor([5, 1]), torch.tensor([2])], batch_first=True, padding_value=-1)
        out = table(words)
        """, "table(words)", "words.masked_fill(words < 0, 0)"),
    "ids of the whole graph in a part of it": (
        """
        import torch
        def part(features, edges, nodes):
            inside = torch.isin(edges, nodes).all(0)
            return features[nodes], edges[:, inside]
        rows, links = part(torch.rand(9, 2), torch.tensor([[1, 7, 8], [7, 8, 2]]), torch.tensor([1, 7, 8]))
        rows[links[0]] + rows[links[1]]
        """, "edges[:, inside]", "(edges[:, inside].unsqueeze(-1) == nodes).int().argmax(-1)"),
    "a view with one dimension too many for expand": (
        """
        import torch
        def shift(x, amount):
            return x + amount.view(-1, 1, 1, 1).expand(x.size(0), 3, 5)
        shift(torch.rand(2, 3, 5), torch.rand(2))
        """, "amount.view(", "amount.view(-1, 1, 1)"),
    "lengths taken for the last positions": (
        """
        import torch
        def last(states, lengths):
            return states[torch.arange(len(states)), lengths]
        last(torch.rand(3, 6, 2), torch.tensor([6, 2, 4]))
        """, "lengths]", "lengths - 1]"),
    "a flat position divided by the size of another dimension": (
        """
        import torch
        def rows(table):
            flat = table.flatten(1).argmax(1)
            return torch.arange(4).repeat(2, 1)[torch.arange(2), flat // table.size(1)]
        rows(torch.arange(40.0).view(2, 4, 5))
        """, "flat // table.size(1)", "flat // table.size(2)"),
    "two constants of the file on another device": (
        """
        import torch
        CENTRE, SPREAD = torch.tensor([0.5]), torch.tensor([0.2])
        LOW = torch.tensor([0.1])
        HIGH = torch.tensor([0.9])
        def squeezed(pixels):
            return (pixels - LOW) / (HIGH - LOW)
        squeezed(torch.rand(3, device="meta"))
        """, "(pixels - LOW) / (HIGH - LOW)", "pixels - LOW.to(pixels.device)"),
    "weights of classes where each sample needs one": (
        """
        import torch
        from torch.utils.data import WeightedRandomSampler
        kinds = torch.tensor([0, 1, 1, 2, 2, 2])
        rarity = 1.0 / torch.bincount(kinds)
        list(WeightedRandomSampler(rarity, len(kinds), replacement=False))
        """, "WeightedRandomSampler(rarity", "rarity[kinds]"),
    "class weights from labels in which a class does not occur": (
        """
        import torch
        from torch import nn
        BIRDS = ["finch", "wren", "robin", "crow"]
        def balanced(labels):
            counts = torch.bincount(labels)
            return 1 / (counts.float() + 1)
        torch.manual_seed(0)
        x, y = torch.randn(40, 8), torch.arange(40) // 10
        measure = nn.CrossEntropyLoss(weight=balanced(y[:28]))
        measure(nn.Linear(8, len(BIRDS))(x), y).backward()
        """, "torch.bincount", "minlength=4"),
    "one-hot columns of a batch in which a class does not occur": (
        """
        import torch
        from torch import nn
        class Guided(nn.Module):
            def __init__(self, features, kinds):
                super().__init__()
                self.kinds = kinds
                self.out = nn.Linear(features + kinds, 1)
            def forward(self, x, kind):
                return self.out(torch.cat([x, nn.functional.one_hot(kind)], 1))
        net, kind = Guided(5, 6), torch.arange(24) % 6
        for some in (kind[:12], kind[:4]):
            net(torch.rand(len(some), 5), some).sum().backward()
        """, "one_hot(kind)", "num_classes=self.kinds"),
    "classes counted from a part of the labels": (
        """
        import torch
        from torch import nn
        def build(features, labels):
            kinds = int(labels.max()) + 1
            return nn.Linear(features, kinds)
        x, y = torch.rand(30, 6), torch.arange(30) // 10
        (x_train, x_test), (y_train, y_test) = x.split([20, 10]), y.split([20, 10])
        net = build(6, y_train)
        nn.functional.cross_entropy(net(x_train), y_train).backward()
        nn.functional.cross_entropy(net(x_test), y_test).backward()
        """, "build(6, y_train)", "build(6, y)"),
    "tokens of a beam search that still count through all beams": (
        """
        import torch
        from torch import nn
        class Letters(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.size = size
                self.table = nn.Embedding(size, 4)
                self.out = nn.Linear(4, size)
            def forward(self, ids):
                return self.out(self.table(ids)).log_softmax(-1)
        def search(model, beams):
            ids, scores = torch.zeros(beams, dtype=torch.long), torch.zeros(beams)
            for _ in range(4):
                scores, best = (scores[:, None] + model(ids)).flatten().topk(beams)
                rows = best // model.size
                ids = best.clone()
            return ids, rows
        torch.manual_seed(3)
        search(Letters(9), 3)
        """, "best.clone()", "best.clone() % model.size"),
    "states of sequences that come back shorter than their mask": (
        """
        import torch
        from torch import nn
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
        rnn = nn.GRU(3, 5, batch_first=True)
        def encoded(x, lengths):
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return pad_packed_sequence(rnn(packed)[0], batch_first=True)[0]
        x, lengths = torch.rand(2, 9, 3), torch.tensor([4, 6])
        mask = torch.arange(x.shape[1]) < lengths[:, None]
        (encoded(x, lengths) * mask[..., None]).sum().backward()
        """, "pad_packed_sequence(rnn", "total_length="),
    "samples folded into the channels of one convolution": (
        """
        import torch
        import torch.nn.functional as F
        def blurred(images, kernels):
            n, colours, height, width = images.shape
            filters = kernels.repeat_interleave(colours, 0).unsqueeze(1)
            out = F.conv2d(images.reshape(1, n * colours, height, width), filters, padding=1)
            return out.reshape(n, colours, height, width)
        blurred(torch.rand(4, 3, 8, 8), torch.rand(4, 3, 3))
        """, "F.conv2d(", "groups=n * colours"),
    "scores of fewer places than the map of labels": (
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 5, 1))
        images, labels = torch.rand(2, 3, 8, 8), torch.randint(0, 5, (2, 8, 8))
        scores = net(images)
        nn.functional.cross_entropy(scores, labels).backward()
        """, "cross_entropy(scores, labels)", "interpolate(scores, size=labels.shape[1:]"),
    "pixels that are scaled in training and not in use": (
        """
        import numpy as np
        import torch
        from torch import nn
        net = nn.Conv2d(3, 2, 1)
        def learn(pixels):
            return net(torch.from_numpy(pixels).float() / 255).mean()
        def use(pixels):
            images = torch.from_numpy(pixels)
            return net(images)
        pixels = np.full((2, 3, 4, 4), 255, dtype=np.uint8)
        learn(pixels).backward()
        assert use(pixels).abs().max() < 20
        """, "torch.from_numpy(pixels)", ".float().div(255)"),
}  # fmt: skip

#: Programs in which the same signs mean something else, and what must not be put there.
NEAR = {
    "ids that nothing leaves out are not among the chosen ones": (
        """
        import torch
        def part(features, edges, nodes):
            return features[nodes], edges
        rows, links = part(torch.rand(9, 2), torch.tensor([[1, 7, 8], [7, 8, 2]]), torch.tensor([1, 7, 8]))
        rows[links[0]]
        """, "argmax"),
    "as many classes as all labels have, and a label beyond": (
        """
        import torch
        from torch import nn
        y = torch.tensor([0, 1, 2, 3])
        net = nn.Linear(2, int(y.max()) + 1)
        nn.functional.cross_entropy(net(torch.rand(2, 2)), torch.tensor([1, 4]))
        """, "int(torch"),
    "a negative id that is no mark of padding": (
        """
        import torch
        table = torch.nn.Embedding(6, 3)
        out = table(torch.tensor([3, 1]) - 2)
        """, "masked_fill"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_fault_is(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


@pytest.mark.parametrize("name", list(NEAR))
def test_a_repair_for_another_fault_is_not_offered(runner: Runner, name: str) -> None:
    assert_never_offered(runner, *NEAR[name])
