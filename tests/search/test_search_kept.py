"""What is kept narrow or too late, exchanged, counted beside, put behind, and what fills a leaf."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

BANK = """
    import torch
    class Bank:
        def __init__(self):
            self.rows = None
        def add(self, rows):
            rows = rows.{kept}
            self.rows = rows if self.rows is None else torch.cat([self.rows, rows])
        def far(self, asked):
            known = self.rows
            return asked @ known.t()
    bank = Bank()
    bank.add(torch.rand(4, 3))
    bank.add(torch.rand(2, 3))
    bank.far(torch.rand(5, 3)).sum()
    """
PAIR = """
        import torch
        from torch import nn
        torch.manual_seed(0)
        maker, judge = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        of_maker = torch.optim.SGD(maker.parameters(), lr=0.1)
        of_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
        for x in torch.rand(3, 5, 2):
            made = maker(x)
"""
#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "what is kept in half precision": (BANK.format(kept="half()"), "known = self.rows", "self.rows.float()"),
    "a score that both losses read": (
        PAIR + """\
            score = judge(made)
            wrong = score.pow(2).mean()
            of_judge.zero_grad()
            wrong.backward(retain_graph=True)
            of_judge.step()
            fooled = (score - 1).pow(2).mean()
            of_maker.zero_grad()
            fooled.backward()
            of_maker.step()
        """, "fooled = ", "judge(made) - 1"),
    "a loss that is computed before the step": (
        PAIR + """\
            wrong = judge(made.detach()).pow(2).mean()
            fooled = (judge(made) - 1).pow(2).mean()
            of_judge.zero_grad()
            wrong.backward()
            of_judge.step()
            of_maker.zero_grad()
            fooled.backward()
            of_maker.step()
        """, "fooled = ", "fooled = (judge(made) - 1)"),
    "what is kept behind a pooling": (
        """
        import torch
        from torch import nn
        class Fan(nn.Module):
            def __init__(self):
                super().__init__()
                self.downs = nn.ModuleList([nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)])
                self.ups = nn.ModuleList([nn.ConvTranspose2d(4, 4, 2, stride=2), nn.ConvTranspose2d(8, 4, 2, stride=2)])
                self.pool = nn.MaxPool2d(2)
            def forward(self, x):
                kept = []
                for down in self.downs:
                    x = self.pool(down(x))
                    kept.append(x)
                for up in self.ups:
                    x = torch.cat([up(x), kept.pop()], dim=1)
                return x
        Fan()(torch.rand(2, 1, 8, 8)).mean().backward()
        """, "x = self.pool(down(x))", "kept.append(x)"),
    "two sizes that are exchanged further up": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        SIZE = (6, 4)
        def drawn(points):
            rows, columns = SIZE
            x = torch.arange(columns).view(1, 1, columns) - points[:, 0].view(-1, 1, 1)
            y = torch.arange(rows).view(1, rows, 1) - points[:, 1].view(-1, 1, 1)
            return torch.exp(-(x ** 2 + y ** 2) / 2)
        net = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 5, 1))
        target = torch.stack([drawn(torch.rand(5, 2)) for _ in range(3)])
        (net(torch.rand(3, 1, 2 * SIZE[1], 2 * SIZE[0])) - target).pow(2).mean().backward()
        """, "rows, columns = SIZE", "columns, rows = SIZE"),
    "steps that are put together along another dimension": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Steps(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.GRUCell(4, 6)
            def forward(self, x):
                state, kept = x.new_zeros(x.size(0), 6), []
                for step in x.unbind(1):
                    state = self.cell(step, state)
                    kept.append(state)
                return torch.stack(kept), state
        class Looks(nn.Module):
            def forward(self, steps, state):
                return torch.bmm(steps, state.unsqueeze(-1)).squeeze(-1)
        steps, state = Steps()(torch.rand(5, 3, 4))
        Looks()(steps, state).mean().backward()
        """, "return torch.stack(kept), state", "torch.stack(kept, dim="),
    "images that are padded to too few halvings": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Padded:
            def __init__(self, depth):
                self.most = 2 ** (depth - 1)
            def __call__(self, x):
                more = [-size % self.most for size in x.shape[-2:]]
                return nn.functional.pad(x, (0, more[1], 0, more[0]))
        class Fan(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.downs = nn.ModuleList([nn.Conv2d(1 if at == 0 else 4, 4, 3, padding=1) for at in range(depth)])
                self.ups = nn.ModuleList([nn.Conv2d(8, 4, 3, padding=1) for _ in range(depth)])
                self.pool, self.grow = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)
            def forward(self, x):
                kept = []
                for down in self.downs:
                    x = down(x)
                    kept.append(x)
                    x = self.pool(x)
                for up in self.ups:
                    x = up(torch.cat([kept.pop(), self.grow(x)], dim=1))
                return x
        pad, net = Padded(2), Fan(2)
        net(pad(torch.rand(3, 1, 10, 14))).mean().backward()
        """, "self.most = 2 **", "2 ** (depth)"),
    "a width that lacks what is put beside": (
        """
        import torch
        from dataclasses import dataclass, field
        from torch import nn
        @dataclass
        class Table:
            plain: list = field(default_factory=lambda: ["a", "b", "c", "d", "e"])
            marked: list = field(default_factory=lambda: ["b", "d"])
            @property
            def width(self):
                return len(self.plain)
        table = Table()
        rows = torch.rand(6, len(table.plain))
        flags = (rows[:, [table.plain.index(one) for one in table.marked]] > 0.5).float()
        net = nn.Sequential(nn.Linear(table.width, 4), nn.ReLU(), nn.Linear(4, 1))
        net(torch.cat([rows, flags], dim=1)).mean().backward()
        """, "return len(self.plain)", "len(self.plain) + len(self.marked)"),
    "the tail of a padded convolution": (
        """
        import torch
        from torch import nn
        class Mixer(nn.Module):
            def __init__(self, width, taps=4):
                super().__init__()
                self.conv = nn.Conv1d(width, width, taps, padding=taps - 1)
                self.gate = nn.Linear(width, width)
            def forward(self, x):
                y = self.conv(x.transpose(1, 2))
                return y.transpose(1, 2) * self.gate(x)
        Mixer(5)(torch.rand(2, 9, 5)).mean().backward()
        """, "y = self.conv", "[..., : x.size(1)]"),
    "a mask for what is put behind": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Page(nn.Module):
            def __init__(self):
                super().__init__()
                self.words = nn.Embedding(9, 8, padding_idx=0)
                self.mix = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
            def forward(self, ids, image):
                hidden = torch.cat([self.words(ids), image], dim=1)
                hidden = self.mix(hidden, src_key_padding_mask=ids.eq(0))
                return hidden.mean(1)
        ids = torch.randint(1, 9, (3, 7))
        ids[:, 5:] = 0
        Page()(ids, torch.rand(3, 4, 8)).mean().backward()
        """, "src_key_padding_mask=ids.eq(0)", "pad(ids.eq(0), (0, image.size(1)))"),
    "a function that fills the leaf it is given": (
        """
        import torch
        from torch import nn
        def fill(weights):
            weights.normal_()
            for _ in range(2):
                far = weights.abs() > 0.5 * weights.abs().max()
                weights[far] = torch.randn(int(far.sum()))
            return weights
        noise = fill(torch.empty(3))
        layer = nn.Linear(3, 2)
        fill(layer.weight)
        layer(noise).sum().backward()
        """, "def fill", "@torch.no_grad()"),
    "names of which a part is asked for": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Wide(nn.Linear):
            def __init__(self, before, after):
                super().__init__(before, after)
                self.low_in = nn.Parameter(torch.rand(2, before))
                self.low_out = nn.Parameter(torch.rand(after, 2))
            def forward(self, x):
                return super().forward(x) + x @ self.low_in.t() @ self.low_out.t()
        net = nn.Sequential(Wide(3, 4), nn.ReLU(), Wide(4, 1))
        def choose(model, kept):
            for name, one in model.named_parameters():
                one.requires_grad_(any(name.startswith(part) for part in kept))
        choose(net, ("low_",))
        net(torch.rand(5, 3)).mean().backward()
        """, "one.requires_grad_", "part in name"),
    "a task whose network is meant": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Task(nn.Module):
            def __init__(self, net):
                super().__init__()
                self.net = net
            def loss(self, x):
                return self.net(x).pow(2).mean()
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 1)
            def forward(self, x):
                return self.head(self.body(x).relu())
        def train_only(module, starts):
            for name, one in module.named_parameters():
                kept = any(name.startswith(start) for start in starts)
                one.requires_grad = kept
        net = Net()
        task = Task(net)
        train_only(task, ("head",))
        for _ in range(3):
            loss = task.loss(torch.rand(5, 3))
            loss.backward()
        """, "train_only(task", "train_only(net"),
    "a mask that lacks what is put in front": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.mix = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
            def forward(self, x, hidden):
                return self.mix(x, src_key_padding_mask=hidden)
        class Prompted(nn.Module):
            def __init__(self):
                super().__init__()
                self.words, self.inner = nn.Embedding(9, 8, padding_idx=0), Inner()
                self.first = nn.Parameter(torch.rand(4, 8))
            def forward(self, ids):
                hidden = ids.eq(0)
                first = self.first.expand(ids.size(0), -1, -1)
                return self.inner(torch.cat([first, self.words(ids)], dim=1), hidden).mean(1)
        ids = torch.randint(1, 9, (3, 7))
        ids[:, 5:] = 0
        Prompted()(ids).mean().backward()
        """, "return self.inner(", "pad(hidden, (first.size(1), 0))"),
    "a sampler of batches": (
        """
        import torch
        from torch.utils.data import DataLoader
        class Rows:
            def __init__(self):
                self.rows = [torch.ones(3) for _ in range(6)]
            def __len__(self):
                return 6
            def __getitem__(self, at):
                return self.rows[at]
        class Pairs(torch.utils.data.Sampler):
            def __init__(self, count):
                self.count = count
            def __iter__(self):
                yield from ([at, at + 1] for at in range(0, self.count, 2))
            def __len__(self):
                return self.count // 2
        for batch in DataLoader(Rows(), sampler=Pairs(6)):
            assert batch.shape == (2, 3)
        """, "sampler=Pairs", "DataLoader(Rows(), batch_sampler=Pairs(6))"),
    "a key that nobody wrote": (
        """
        import torch
        from torch import nn
        def criterion(kind, **more):
            left_out = more.pop("skipped", -100)
            return nn.CrossEntropyLoss(ignore_index=left_out)
        loss = criterion("plain", ignored=255)
        labels = torch.tensor([0, 2, 255, 1])
        loss(torch.rand(4, 3, requires_grad=True), labels).backward()
        """, "left_out = more.pop", "\"ignored\""),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_it_is_mended_where_it_was_meant(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


def test_what_is_kept_narrow_is_not_kept_otherwise(runner: Runner) -> None:
    assert_never_offered(runner, BANK.format(kept="half()"), "rows.half().float()")


def test_a_function_that_a_network_learns_through_keeps_its_graph(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        weight = nn.Parameter(torch.ones(3))
        def scaled(x):
            weight.mul_(0.9)
            return (x * weight).sum()
        scaled(torch.rand(3)).backward()
        """
    assert_never_offered(runner, program, "@torch.no_grad()")
