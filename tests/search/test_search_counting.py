"""The search where something is counted wrongly: loops from one, bytes, lists and pairs; layers left behind."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import OPEN, assert_repaired, explained

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a mark behind the classes, beside a wider size": (
        """
        import torch
        from torch import nn
        from torch.nn.functional import cross_entropy
        class Settings:
            classes, width = 3, 16
        class Net(nn.Module):
            def __init__(self, settings):
                super().__init__()
                self.embed = nn.Sequential(nn.Linear(5, settings.width), nn.Linear(settings.width, settings.width))
                self.head = nn.Linear(settings.width, settings.classes)
            def forward(self, x):
                return self.head(self.embed(x))
        net = Net(Settings)
        labels = torch.full((8,), Settings.classes)
        labels[:5] = torch.tensor([0, 1, 2, 1, 0])
        cross_entropy(net(torch.rand(8, 5)), labels).backward()
        """, "self.head = nn.Linear", "settings.classes + 1"),
    "one of three layers lacks the padding of the others, and the count is right": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, side=32, width=16):
                super().__init__()
                self.layers = nn.Sequential(
                    nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(width, width, 3), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                )
                left = side // 8
                self.out = nn.Linear(width * left * left, 5)
            def forward(self, x):
                return self.out(self.layers(x).flatten(1))
        Net()(torch.rand(6, 3, 32, 32)).mean().backward()
        """, "nn.Conv2d(width, width, 3), nn.ReLU()", "nn.Conv2d(width, width, 3, padding=1), nn.ReLU()"),
    "the second of two lengths lacks what the first has": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, window, first=9, second=5, pool=2):
                super().__init__()
                self.layers = nn.Sequential(nn.Conv1d(3, 12, first), nn.ReLU(), nn.MaxPool1d(pool),
                                            nn.Conv1d(12, 24, second), nn.ReLU(), nn.MaxPool1d(pool))
                once = (window - first + 1) // pool
                twice = (once - second) // pool
                self.out = nn.Linear(24 * twice, 3)
            def forward(self, x):
                return self.out(self.layers(x).flatten(1))
        Net(88)(torch.rand(7, 3, 88)).mean().backward()
        """, "twice = (once - second) // pool", "(once - second + 1) // pool"),
    "frames counted as of a padded transform": (
        """
        from dataclasses import dataclass
        import torch
        from torch import nn
        @dataclass
        class Sizes:
            samples: int = 6000
            window: int = 480
            hop: int = 120
            @property
            def frames(self):
                return 1 + self.samples // self.hop
        class Net(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.sizes = sizes
                self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, stride=4, padding=1), nn.ReLU())
                rows, columns = (sizes.window // 2 + 4) // 4, (sizes.frames + 3) // 4
                self.out = nn.Linear(8 * rows * columns, 3)
                self.register_buffer("hann", torch.hann_window(sizes.window))
            def forward(self, wave):
                given = self.sizes
                seen = torch.stft(wave, given.window, given.hop, window=self.hann, center=False, return_complex=True)
                return self.out(self.conv(seen.abs().unsqueeze(1)).flatten(1))
        Net(Sizes())(torch.rand(2, 6000)).mean().backward()
        """, "return 1 + self.samples // self.hop", "(self.samples - self.window) // self.hop"),
    "as many positions as patches, where a token comes in front": (
        """
        import torch
        from torch import nn
        class Patches(nn.Module):
            def __init__(self, samples, patch, dim):
                super().__init__()
                self.cut = nn.Conv1d(3, dim, patch, stride=patch)
                self.count = samples // patch
            def forward(self, wave):
                return self.cut(wave).transpose(1, 2)
        class Net(nn.Module):
            def __init__(self, samples=300, patch=6, dim=16):
                super().__init__()
                self.patches = Patches(samples, patch, dim)
                self.token = nn.Parameter(torch.zeros(1, 1, dim))
                self.places = nn.Parameter(0.02 * torch.randn(1, self.patches.count, dim))
                self.out = nn.Linear(dim, 2)
            def forward(self, wave):
                x = self.patches(wave)
                x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)
                return self.out((x + self.places)[:, 0])
        Net()(torch.rand(4, 3, 300)).mean().backward()
        """, "torch.randn(1, self.patches.count, dim)", "self.patches.count + 1"),
    "the other of two splits rounds up": (
        """
        import torch
        from torch import nn
        class Half(nn.Module):
            def __init__(self, dim, hidden):
                super().__init__()
                self.keep = dim // 2
                self.net = nn.Sequential(nn.Linear(self.keep, hidden), nn.Tanh(), nn.Linear(hidden, dim - self.keep))
            def forward(self, x):
                kept, moved = x.chunk(2, dim=1)
                return torch.cat([kept, moved + self.net(kept)], dim=1)
        flow = nn.Sequential(Half(9, 32), Half(9, 32))
        flow(torch.rand(64, 9)).square().mean().backward()
        """, "self.keep = dim // 2", "-(-dim // 2)"),
    "a sum over what is listed, which lacks what is listed beside it": (
        """
        from dataclasses import dataclass
        import torch
        from torch import nn
        @dataclass
        class Kinds:
            named: list[tuple[int, int]]
            measured: tuple[str, ...] = ()
            def width(self):
                return sum(wide for _, wide in self.named)
        class Net(nn.Module):
            def __init__(self, kinds):
                super().__init__()
                self.looks = nn.ModuleList([nn.Embedding(many, wide) for many, wide in kinds.named])
                self.out = nn.Sequential(nn.Linear(kinds.width(), 8), nn.ReLU(), nn.Linear(8, 1))
            def forward(self, x, more):
                return self.out(torch.cat([*(look(x[:, at]) for at, look in enumerate(self.looks)), more], 1))
        kinds = Kinds([(9, 4), (5, 7)], ("age", "size", "cost"))
        Net(kinds)(torch.randint(0, 5, (6, 2)), torch.rand(6, len(kinds.measured))).mean().backward()
        """, "sum(wide for _, wide in self.named)", "+ len(self.measured)"),
    "what a loop leaves of the pairs that it goes over": (
        """
        import torch
        from torch import nn
        class Table(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.looks = nn.ModuleList([nn.Embedding(many, wide) for many, wide in sizes])
                width = sum(many for many, _ in sizes)
                self.out = nn.Sequential(nn.Linear(width + 2, 8), nn.ReLU(), nn.Linear(8, 1))
            def forward(self, x, more):
                looks = [look(x[:, at]) for at, look in enumerate(self.looks)]
                return self.out(torch.cat([*looks, more], 1))
        Table([(9, 4), (5, 3)])(torch.randint(0, 5, (6, 2)), torch.rand(6, 2)).mean().backward()
        """, "sum(many for many, _ in sizes)", "sum(wide for _, wide in sizes)"),
    "all pairs of classes are counted, though some do not occur": (
        """
        import torch
        def confusion(guess, label, classes):
            counts = torch.bincount(label * classes + guess)
            return counts.view(classes, classes)
        torch.manual_seed(0)
        total = torch.zeros(5, 5)
        for label in torch.randint(0, 4, (6, 9)):
            total += confusion(label.flip(0), label, 5)
        """, "torch.bincount(label * classes + guess)", "minlength=classes * classes"),
    "a list whose length is written as a number": (
        """
        import torch
        from torch import nn
        KINDS = ["oak", "elm", "ash", "fir", "yew", "box"]
        label = torch.arange(30) % len(KINDS)
        counts = torch.stack([(label == k).sum() for k in range(5)]).float()
        net = nn.Linear(4, len(KINDS))
        nn.CrossEntropyLoss(weight=1 / counts)(net(torch.rand(30, 4)), label).backward()
        """, "for k in range(5)", "range(len(KINDS))"),
    "a helper that counts classes is not told how many there are": (
        """
        import torch
        from torch import nn
        class Settings:
            kinds = 4
        def weights_of(labels):
            counts = torch.bincount(labels)
            return len(labels) / counts.clamp(min=1).float()
        settings = Settings()
        net, labels = nn.Linear(3, settings.kinds), torch.tensor([0, 1, 2, 1, 0, 2])
        loss = nn.CrossEntropyLoss(weight=weights_of(labels))
        loss(net(torch.rand(6, 3)), labels).backward()
        """, "counts = torch.bincount(labels)", "minlength="),
    "ids that are no counts need a row up to the largest": (
        """
        import numpy as np
        import torch
        items = np.array([3, 17, 40, 3, 8])
        count = len(np.unique(items))
        table = torch.nn.Embedding(count, 4)
        table(torch.from_numpy(items)).sum().backward()
        """, "len(np.unique(items))", "int(items.max()) + 1"),
    "links shifted by how many links there were, and not by how many points": (
        """
        import torch
        class Shape:
            def __init__(self, points, links):
                self.points, self.links = torch.rand(points, 3), links
            @property
            def count(self):
                return self.points.size(0)
        def joined(shapes):
            points, links, owner, start = [], [], [], 0
            for i, shape in enumerate(shapes):
                points.append(shape.points)
                links.append(shape.links + start)
                owner.append(torch.full((shape.count,), i))
                start += shape.links.size(1)
            return torch.cat(points), torch.cat(links, dim=1), torch.cat(owner)
        def ring(count):
            return Shape(count, torch.stack([torch.arange(count).repeat(2), torch.arange(count).roll(1).repeat(2)]))
        points, links, owner = joined([ring(4), ring(6), ring(5)])
        print(points.index_select(0, links[0]).sum(), owner.shape)
        """, "start += shape.links", "start += shape.count", OPEN),
    "a side that strided convolutions round up is rounded down": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Maps(nn.Module):
            def __init__(self, side, widths=(4, 8, 8)):
                super().__init__()
                rows = [nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in zip((1, *widths), widths)]
                self.body = nn.Sequential(*rows)
                side = side // 2 ** len(widths)
                self.features = widths[-1] * side * side
            def forward(self, x):
                return self.body(x).flatten(1)
        class Net(nn.Module):
            def __init__(self, maps):
                super().__init__()
                self.maps, self.head = maps, nn.Linear(maps.features, 3)
            def forward(self, x):
                return self.head(self.maps(x))
        Net(Maps(30))(torch.randn(2, 1, 30, 30)).sum().backward()
        """, "side // 2", "-(-side // 2 ** len(widths))"),
    "where a number was and what it was there are not of one division": (
        """
        import torch
        torch.manual_seed(0)
        beams, words = 3, 11
        kept = torch.zeros(2, beams, 4)
        scores = torch.rand(2, beams, words)
        best, flat = scores.flatten(1).topk(beams, dim=1)
        row = flat // beams
        word = flat % words
        kept = kept.gather(1, row.unsqueeze(-1).expand(-1, -1, 4))
        print(kept.shape, word.shape)
        """, "flat // beams", "flat // words"),
    "a centred spectrum has a frame more than there are hops": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Settings:
            samples, hop, size = 1600, 80, 160
            @property
            def frames(self):
                return self.samples // self.hop
        class Net(nn.Module):
            def __init__(self, settings):
                super().__init__()
                self.row, self.head = nn.Conv1d(81, 4, 3, padding=1), nn.Linear(4 * settings.frames, 2)
            def forward(self, x):
                return self.head(self.row(x).flatten(1))
        settings = Settings()
        window = torch.hann_window(settings.size)
        spectrum = torch.stft(torch.randn(3, settings.samples), settings.size, settings.hop, window=window,
                              return_complex=True).abs()
        Net(settings)(spectrum).sum().backward()
        """, "self.samples // self.hop", "self.samples // self.hop + 1"),
    "words numbered behind the special ones, which the length leaves out": (
        """
        import torch
        MARKS = ["<pad>", "<unk>", "<end>"]
        class Words:
            def __init__(self, text):
                self.listed = sorted(set(text.split()))
                self.number = {word: i for i, word in enumerate(self.listed, start=len(MARKS))}
            def __len__(self):
                return len(self.listed)
        words = Words("the cat sat on the mat")
        table = torch.nn.Embedding(len(words), 4)
        print(table(torch.tensor(list(words.number.values()))).sum())
        """, "return len(self.listed)", "len(self.listed) + len(MARKS)"),
    "one anchor for each shape, where there is one for each size of it too": (
        """
        import torch
        from torch import nn
        class Settings:
            def __init__(self):
                self.shapes = [0.5, 1.0, 2.0]
                self.sizes = [8, 16]
            @property
            def anchors(self):
                return len(self.shapes)
        own = Settings()
        head, boxes = nn.Conv2d(4, own.anchors, 1), nn.Conv2d(4, 4 * own.anchors, 1)
        wanted = torch.cat([torch.zeros(2, 1, 5, 5) for _ in own.shapes for _ in own.sizes], dim=1)
        maps = torch.rand(2, 4, 5, 5)
        nn.functional.binary_cross_entropy_with_logits(head(maps), wanted).backward()
        nn.functional.mse_loss(boxes(maps), torch.cat([wanted] * 4, dim=1)).backward()
        """, "return len(self.shapes)", "len(self.shapes) * len(self.sizes)"),
    "a table for the largest of numbers that are counted one by one": (
        """
        import torch
        class Goods:
            def __init__(self, numbers):
                self.numbers = sorted(set(numbers))
                self.row = {number: i for i, number in enumerate(self.numbers)}
            def __len__(self):
                return max(self.numbers) + 1
        goods = Goods([910_433_111, 300_500_020, 910_433_111])
        table = torch.zeros(len(goods), len(goods))
        table[goods.row[300_500_020]] += 1
        print(table.sum())
        """, "return max(", "len(self.numbers)"),
    "a batch is a quarter of the data": (
        """
        import torch
        from torch.utils.data import DataLoader
        data = torch.rand(32, 2)
        print(next(iter(DataLoader(data, batch_size=len(data) / 4))).shape)
        """, "DataLoader(data", "len(data) // 4"),
    "raw numbers size a table, and a function that makes them dense is left out": (
        """
        import torch
        def dense(ids):
            return torch.unique(ids, return_inverse=True)[1]
        def load():
            return torch.tensor([4_000_000_000_017, 9_000_000_000_002, 4_000_000_000_017])
        ids = load()
        table = torch.nn.Embedding(int(ids.max()) + 1, 4)
        print(table(ids).sum())
        """, "ids = load()", "dense(load())"),
    "a length is read, and kept, before what it measures grows": (
        """
        import torch
        words = {"<pad>": 0, "on": 1}
        def encode(text):
            return torch.tensor([words.setdefault(word, len(words)) for word in text.split()])
        rows = len(words)
        print("rows", rows)
        ids = encode("on and off")
        table = torch.nn.Embedding(rows, 3)
        print(table(ids).shape)
        """, "torch.nn.Embedding(rows", "torch.nn.Embedding(len(words), 3)"),
    "a table is built before what it is sized by grows": (
        """
        import torch
        words = {"<pad>": 0, "on": 1}
        def encode(text):
            return torch.tensor([words.setdefault(word, len(words)) for word in text.split()])
        table = torch.nn.Embedding(len(words), 3)
        ids = encode("on and off")
        print(table(ids).shape)
        """, "table = torch.nn.Embedding", "table = torch.nn.Embedding(len(words), 3)"),
}  # fmt: skip
#: A number that is too large, and no word in the program of which would be meant.
ABSURD = {
    "written as a power": "rows = 10**15",
    "written as a product": "rows = 1024 * 1024 * 1024 * 1024",
    "computed of times": "rows = int(1_700_000_000.0 * 48_000)",
}


@pytest.mark.parametrize("number", ABSURD)
def test_a_smaller_number_is_no_repair_of_an_absurd_one(number: str, runner: Runner) -> None:
    code = f"import torch\n{ABSURD[number]}\ntable = torch.zeros(rows)\nprint(table.sum())\n"
    diagnosis = explained(runner, code)
    assert diagnosis["rule"] == "huge-request"
    assert all(fix["certainty"] != "checked" for fix in diagnosis["fixes"])


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_counted_wrongly_is_counted_right(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])
