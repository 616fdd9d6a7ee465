"""What a layer's guard leaves out, what was made once for all batches, and class numbers beside features."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

RESIDUAL = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    class Block(nn.Module):
        def __init__(self, before, after, step={step}):
            super(Block, self).__init__()
            self.conv = nn.Conv2d(before, after, 3, stride=step, padding=1)
            self.skip = nn.Identity()
            {guard}
        def forward(self, x):
            return self.conv(x) + self.skip(x)
    net = nn.Sequential({blocks})
    net(torch.rand(2, 3, 8, 8)).mean().backward()
    """
AFTER = "if before != after:\n                self.skip = nn.Conv2d(before, after, 1, stride=step)"
BRANCH = "self.skip = nn.Identity() if step == 1 else nn.Conv2d(before, after, 1, stride=step)"
#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a stride at equal width": (
        RESIDUAL.format(step=1, guard=AFTER, blocks="Block(3, 4), Block(4, 4, 2)"),
        "if before != after",
        "if step != 1 or before != after",
    ),
    "other widths without a stride": (
        RESIDUAL.format(step=2, guard=BRANCH, blocks="Block(3, 3), Block(3, 5, 1)"),
        "if step == 1",
        "if before == after and step == 1",
    ),
    "labels made once for whole batches": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Pairs(nn.Module):
            def __init__(self, size):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(()))
                self.register_buffer("own", torch.arange(size))
            def forward(self, a, b):
                logits = self.scale * a @ b.t()
                one = nn.functional.cross_entropy(logits, self.own)
                return one + nn.functional.cross_entropy(logits.t(), self.own)
        loss = Pairs(4)
        rows = torch.utils.data.DataLoader(torch.rand(10, 3), batch_size=4)
        for a in rows:
            loss(a, a.flip(1)).backward()
        """, "one = nn.functional", "self.own[:logits.size(0)]"),
    "class numbers beside features": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Decoder(nn.Module):
            def __init__(self, latent, kinds):
                super().__init__()
                self.kinds, self.top = kinds, nn.Linear(latent + kinds, 7)
            def forward(self, z, kind):
                return self.top(torch.cat([z, kind], dim=1))
        net = Decoder(5, 3)
        kind = torch.arange(6) % 3
        net(torch.rand(6, 5), kind).mean().backward()
        """, "kind", "F.one_hot(kind, "),
    "tables that are no buffers": (
        """
        import torch
        from torch import nn
        class Turn(nn.Module):
            def __init__(self, length):
                super().__init__()
                angle = torch.arange(length) / length
                self.low = angle.cos()
                self.high = angle.sin()
            def forward(self, x):
                return x * self.low + x * self.high
        net = nn.Sequential(nn.Linear(4, 6), Turn(6)).to("meta")
        net(torch.rand(2, 4, device="meta")).sum().backward()
        """, "angle.cos()", 'self.register_buffer("low", angle.cos())'),
    "windows that overlap": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Front(nn.Module):
            def __init__(self, length, size, hop, width, kinds):
                super().__init__()
                self.cut = nn.Conv1d(1, width, kernel_size=size, stride=hop)
                self.place = nn.Parameter(torch.zeros(1, length // hop, width))
                self.top = nn.Linear(width, kinds)
            def forward(self, x):
                parts = self.cut(x).transpose(1, 2)
                return self.top((parts + self.place).mean(1))
        nn.functional.cross_entropy(Front(40, 8, 4, 6, 8)(torch.rand(2, 1, 40)), torch.tensor([1, 5])).backward()
        """, "length // hop", "(length - size) // hop + 1"),
    "windows of rows that two loops unpack": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        ROWS = [(5, 7, 3), (5, 4, 2)]
        class Ear(nn.Module):
            def __init__(self, rows):
                super().__init__()
                self.rows, self.parts, before = rows, nn.ModuleList(), 1
                for width, size, hop in rows:
                    self.parts.append(nn.Conv1d(before, width, size, stride=hop))
                    before = width
            def counts(self, lengths):
                for _, window, step in self.rows:
                    lengths = torch.div(lengths, step, rounding_mode="floor")
                return lengths
            def forward(self, x, lengths):
                for part in self.parts:
                    x = part(x)
                counts = self.counts(lengths)
                shown = torch.arange(int(counts.max())) < counts[:, None]
                return (x * shown[:, None]).sum(2) / counts[:, None]
        Ear(ROWS)(torch.rand(2, 1, 60), torch.tensor([60, 44])).mean().backward()
        """, "torch.div(lengths", "torch.div(lengths - window, step, rounding_mode=\"floor\") + 1"),
    "a grid that halves from stage to stage": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Stage(nn.Module):
            def __init__(self, width, grid):
                super().__init__()
                self.place = nn.Parameter(torch.zeros(width, grid, grid))
                self.down = nn.Conv2d(width, 2 * width, 2, stride=2)
            def forward(self, x):
                return self.down(x + self.place)
        class Tower(nn.Module):
            def __init__(self, grid, depth, width=3):
                super().__init__()
                self.stages = nn.ModuleList()
                for level in range(depth):
                    side = grid
                    self.stages.append(Stage(width, side))
                    width = 2 * width
            def forward(self, x):
                for stage in self.stages:
                    x = stage(x)
                return x
        Tower(16, 3)(torch.rand(2, 3, 16, 16)).mean().backward()
        """, "side = grid", "side = grid // 2 ** level"),
    "ones that are written into whole numbers": (
        """
        import torch
        class Counts:
            def __init__(self, kinds):
                self.table = torch.zeros(kinds, kinds, dtype=torch.int64)
            def add(self, found, meant):
                ones = torch.ones(meant.numel())
                self.table.index_put_((meant, found), ones, accumulate=True)
        counts = Counts(3)
        counts.add(torch.tensor([0, 2, 1]), torch.tensor([0, 1, 1]))
        """, "torch.ones(", "dtype=self.table.dtype"),
    "a column that each step of a loop makes": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Worth(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
            def forward(self, x):
                return self.body(x)
        def summed(gains, worths, last):
            kept, running = torch.zeros(*gains.shape), torch.zeros(gains.shape[1])
            for t in reversed(range(len(gains))):
                after = last if t + 1 == len(gains) else worths[t + 1]
                running = gains[t] + 0.9 * after - worths[t] + 0.5 * running
                kept[t] = running
            return kept
        worth, x, worths = Worth(), torch.rand(5, 3), []
        for _ in range(4):
            worths.append(worth(x))
            x = 0.5 * x + 0.1
        summed(torch.rand(4, 5), torch.stack(worths), worth(x)).mean().backward()
        """, "return self.body(x)", "self.body(x).squeeze(-1)"),
    "letters numbered behind two marks": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        words = ["salt", "lamp", "atlas", "psalm"]
        letters = sorted(set("".join(words)))
        number = {letter: at + 2 for at, letter in enumerate(letters)}
        size = len(letters)
        def coded(word, length=6):
            ids = [number[letter] for letter in word] + [1]
            return ids + [0] * (length - len(ids))
        class Reader(nn.Module):
            def __init__(self, kinds):
                super().__init__()
                self.table, self.top = nn.Embedding(kinds, 4, padding_idx=0), nn.Linear(4, kinds)
            def forward(self, ids):
                return self.top(self.table(ids))
        ids = torch.tensor([coded(word) for word in words])
        scores = Reader(size)(ids[:, :-1])
        nn.functional.cross_entropy(scores.flatten(0, 1), ids[:, 1:].flatten()).backward()
        """, "size = len(letters)", "len(letters) + 2"),
    "a layer that another class calls by the same name": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Reader(nn.Module):
            def __init__(self, kinds=None):
                super().__init__()
                self.body = nn.Linear(4, 6)
                self.head = nn.Linear(6, kinds) if kinds else nn.Identity()
            def forward(self, x):
                return self.body(x).relu()
        class Other(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(4, 2)
            def forward(self, x):
                return self.head(x)
        nn.functional.cross_entropy(Reader(9)(torch.rand(9, 4)), torch.arange(9)).backward()
        """, "self.body(x)", "self.head(self.body(x)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_what_was_left_out_is_put_there(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


def test_a_guard_is_not_made_wider_by_what_no_layer_strides_with(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Block(nn.Module):
            def __init__(self, before, after, dropped):
                super().__init__()
                self.skip = nn.Identity()
                if before != after:
                    self.skip = nn.Sequential(nn.Linear(before, after), nn.Dropout(1 / dropped))
                self.body = nn.Linear(before, after + 1)
            def forward(self, x):
                return self.body(x) + self.skip(x)
        Block(3, 4, 2)(torch.rand(5, 3)).sum().backward()
        """
    assert_never_offered(runner, program, "dropped != 1")
