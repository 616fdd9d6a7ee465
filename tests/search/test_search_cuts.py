"""What was cut, handed over or left unrecorded elsewhere than was meant."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

FIELD = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.mlp = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
        {decorator}
        def encode(self, places):
            return torch.cat([places, places.sin(), places.cos()], dim=1)
        def forward(self, places):
            return self.mlp(self.encode(places))
    field, places = Field(), torch.rand(5, 2, requires_grad=True)
    {within}heights = field({given})
    slopes, = torch.autograd.grad(heights.sum(), places, create_graph=True)
    (slopes.pow(2) + heights).sum().backward()
    """
#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a gradient by columns that are cut for the call": (
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        def slope(u, places):
            return torch.autograd.grad(u, places, torch.ones_like(u), create_graph=True)[0]
        places = torch.rand(9, 2, requires_grad=True)
        u = net(places)
        along = slope(u, places[:, :1])
        across = slope(u, places[:, 1:])
        (along + 2 * across).square().mean().backward()
        """, "along = slope", "slope(u, places)[:, :1]"),
    "an axis of channels is cut, not that of time": (
        """
        import torch
        from torch.utils.data import DataLoader
        torch.manual_seed(0)
        waves = [torch.rand(1, n) for n in (40, 55, 48, 50)]
        def trimmed(wave, longest=48):
            if wave.size(1) > longest:
                return wave[:longest]
            return torch.nn.functional.pad(wave, (0, longest - wave.size(1)))
        class Waves:
            def __len__(self):
                return len(waves)
            def __getitem__(self, at):
                return trimmed(waves[at])
        for batch in DataLoader(Waves(), batch_size=2):
            batch.mean()
        """, "return wave[:longest]", "wave[:, :longest]"),
    "a text is cut to a length and never filled up to it": (
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader
        torch.manual_seed(0)
        texts = [list(range(1, n)) for n in (9, 20, 14, 11)]
        class Texts:
            def __len__(self):
                return len(texts)
            def __getitem__(self, at):
                ids = texts[at][:12]
                return torch.tensor(ids), at % 2
        for ids, labels in DataLoader(Texts(), batch_size=2):
            nn.functional.one_hot(ids, 20).float().flatten(1).mean()
        """, "torch.tensor(ids)", "torch.tensor(ids + [0] * (12 - len(ids)))"),
    "one entry too few is filled up": (
        """
        import torch
        from torch.utils.data import DataLoader
        torch.manual_seed(0)
        waves = [torch.rand(n) for n in (40, 55, 48, 50)]
        class Waves:
            def __len__(self):
                return len(waves)
            def __getitem__(self, at):
                wave = waves[at][:48]
                if len(wave) < 48:
                    wave = torch.cat([wave, wave.new_zeros(48 - len(wave) - 1)])
                return wave
        for batch in DataLoader(Waves(), batch_size=2):
            batch.mean()
        """, "48 - len(wave) - 1", "wave.new_zeros(48 - len(wave))"),
    "joined features are taken apart beside their seam": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        MEASURED = 3
        KINDS = 4
        rows = torch.cat([torch.rand(12, 5), torch.eye(4)[torch.randint(4, (12,))]], dim=1)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.measured, self.kinds = nn.Linear(MEASURED, 8), nn.Linear(KINDS, 8)
            def forward(self, x):
                return self.measured(x[:, :MEASURED]) + self.kinds(x[:, MEASURED:])
        Net()(rows).sum().backward()
        """, "MEASURED = 3", "MEASURED = 5"),
    "a mask of padding is given as a mask of attention": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Reader(nn.Module):
            def __init__(self):
                super().__init__()
                layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
                self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
            def forward(self, x, padding):
                return self.encoder(x, padding).mean(1)
        lengths = torch.tensor([5, 3, 4])
        padding = torch.arange(5)[None] >= lengths[:, None]
        Reader()(torch.rand(3, 5, 8), padding).sum().backward()
        """, "self.encoder(x, padding)", "self.encoder(x, src_key_padding_mask=padding)"),
    "the state of an LSTM is a pair": (
        """
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Risk(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder, self.rest, self.head = nn.LSTM(5, 8, batch_first=True), nn.Linear(3, 4), nn.Linear(12, 1)
            def forward(self, series, rest):
                _, state = self.encoder(series)
                summary = state[-1]
                return self.head(torch.cat([summary, self.rest(rest)], dim=-1))
        Risk()(torch.rand(6, 9, 5), torch.rand(6, 3)).sum().backward()
        """, "state[-1]", "state[0][-1]"),
    "a layer is added behind the move": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.heads = nn.Linear(4, 8), nn.ModuleList()
            def grow(self, classes):
                self.heads.append(nn.Linear(8, classes))
            def forward(self, x):
                return [head(self.body(x)) for head in self.heads]
        device = torch.device("meta")
        net = Net().to(device)
        net.grow(3)
        net(torch.rand(5, 4, device=device))[0].sum().backward()
        """, "net.grow(3)", "net.to(device)"),
    "what is collected for an array": (
        """
        import numpy as np
        import torch
        from torch import nn
        torch.manual_seed(0)
        class Player(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.worth = nn.Linear(3, 4), nn.Linear(4, 1)
            def look(self, x):
                h = self.body(x).tanh()
                return h, self.worth(h).squeeze(-1)
            def choose(self, x):
                chances, worth = self.look(x)
                return chances.softmax(0)[0], worth
        class Games:
            def __init__(self):
                self.chances, self.worths = [], []
            def add(self, chance, worth):
                self.chances.append(chance)
                self.worths.append(worth)
            def whole(self):
                before = np.append(torch.stack(self.worths).numpy(), 0.0)
                return torch.stack(self.chances), torch.from_numpy(before[1:] - before[:-1]).float()
        player, optimizer = Player(), None
        optimizer = torch.optim.SGD(player.parameters(), lr=0.1)
        games = Games()
        for x in torch.rand(5, 3):
            games.add(*player.choose(x))
        old, gains = games.whole()
        for _ in range(3):
            chances, worths = player.look(torch.rand(5, 3))
            loss = (chances.softmax(1)[:, 0] / old * gains).mean() + (worths - gains).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """, "chances, worth = self.look", "with torch.no_grad():"),
    "a function on the way is not recorded": (
        FIELD.format(decorator="@torch.no_grad()", within="", given="places"), "@torch.no_grad()", "def encode"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_it_is_mended_where_it_was_meant(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


def test_no_value_is_differentiated_by_itself(runner: Runner) -> None:
    program = FIELD.format(decorator="@staticmethod", within="", given="places.detach()").replace(
        "self, places", "places"
    )
    assert_never_offered(runner, program, "grad(places.sum(), places")


def test_a_sample_that_is_one_tensor_is_not_taken_apart(runner: Runner) -> None:
    program = """
        import torch
        from torch.utils.data import DataLoader
        class Rows:
            def __len__(self):
                return 4
            def __getitem__(self, at):
                return torch.ones(3 + at)
        for batch in DataLoader(Rows(), batch_size=2):
            len(batch)
        """
    assert_never_offered(runner, program, "zip(*batch)))")
