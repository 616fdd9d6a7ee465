"""The search where layers are built for other sizes than arrive: tables, settings, lists, scales."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "features written down twice, for smaller images": (
        """
        import torch
        from torch import nn
        class Digits(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 6, 5)
                self.out = nn.Linear(6 * 24 * 24, 3)
            def forward(self, x):
                x = self.conv(x)
                x = x.view(-1, 3456)
                return self.out(x)
        nn.functional.cross_entropy(Digits()(torch.rand(5, 1, 32, 32)), torch.randint(0, 3, (5,))).backward()
        """, "x.view(-1, 3456)", "nn.Linear(6 * 28 * 28, 3)"),
    "the width of a norm that settings in a class have": (
        """
        import torch
        from torch import nn
        class Settings:
            width, inner = 10, 30
        class Mixer(nn.Module):
            def __init__(self, settings):
                super().__init__()
                self.norm = nn.LayerNorm(settings.inner)
                self.grow = nn.Linear(settings.width, settings.inner)
                self.back = nn.Linear(settings.inner, settings.width)
            def forward(self, x):
                return self.norm(x + self.back(self.grow(x).relu()))
        Mixer(Settings)(torch.rand(2, 4, 10)).sum().backward()
        """, "nn.LayerNorm(settings.inner)", "nn.LayerNorm(settings.width)"),
    "a layer splits what a linear layer made into maps of another size": (
        """
        import torch
        from torch import nn
        decoder = nn.Sequential(
            nn.Linear(3, 4 * 5 * 5),
            nn.Unflatten(1, (4, 6, 6)),
            nn.ConvTranspose2d(4, 1, 2, 2),
        )
        decoder(torch.rand(2, 3)).sum().backward()
        """, "nn.Unflatten", "nn.Unflatten(1, (4, 5, 5))"),
    "a size in settings of which a view makes squares": (
        """
        import torch
        from torch import nn
        settings = {"maps": 6, "side": 5}
        class Decoder(nn.Module):
            def __init__(self, maps, side):
                super().__init__()
                self.lift = nn.Linear(3, maps * 4 * 4)
                self.maps, self.side = maps, side
            def forward(self, z):
                return self.lift(z).view(-1, self.maps, self.side, self.side)
        loss = Decoder(**settings)(torch.rand(2, 3)) - torch.rand(2, 6, 4, 4)
        loss.sum().backward()
        """, "side", '"side": 4'),
    "a scale for the channels that a layer before it has halved": (
        """
        import torch
        from torch import nn
        class Scale(nn.Module):
            def __init__(self, shape):
                super().__init__()
                self.by = nn.Parameter(torch.ones(shape))
            def forward(self, x):
                return self.by * x
        class Net(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.layers = nn.Sequential(nn.Conv2d(width, width // 2, 1), Scale((width, 1, 1)))
            def forward(self, x):
                return self.layers(x)
        Net(12)(torch.rand(2, 12, 5, 5)).sum().backward()
        """, "Scale((width, 1, 1))", "Scale((width // 2, 1, 1))"),
    "a pooled map of four places read as one, where the number of classes is four as well": (
        """
        import torch
        from torch import nn
        def built(width, classes):
            pooled = nn.Conv2d(3, width, 3), nn.AdaptiveAvgPool2d(2), nn.Flatten()
            return nn.Sequential(*pooled, nn.Linear(width, classes))
        built(8, 4)(torch.rand(2, 3, 9, 9)).sum().backward()
        """, "nn.Linear(width", "nn.Linear(4 * width, classes)"),
    "a first layer that keeps its number where the others follow a scale": (
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, scale):
                super().__init__()
                widths = [int(width * scale) for width in (16, 24)]
                self.stem = nn.Conv1d(2, 16, 3)
                self.body = nn.Conv1d(widths[0], widths[1], 3)
            def forward(self, x):
                return self.body(self.stem(x).relu())
        Net(0.5)(torch.rand(2, 2, 9)).sum().backward()
        """, "nn.Conv1d(2, 16", "nn.Conv1d(2, widths[0], 3)"),
    "maps for another number of classes than the view splits them into": (
        """
        import torch
        from torch import nn
        layers = [{"maps": 6, "size": 3}, {"maps": 30, "size": 1}]
        class Cells(nn.Module):
            def __init__(self, boxes, classes):
                super().__init__()
                self.boxes, self.values = boxes, 5 + classes
            def forward(self, x):
                n, _, h, w = x.shape
                return x.view(n, self.boxes, self.values, h, w)
        def built(size_in, classes):
            made = []
            for one in layers:
                made.append(nn.Conv2d(size_in, one["maps"], one["size"]))
                size_in = one["maps"]
            return nn.Sequential(*made, Cells(2, classes))
        built(3, 4)(torch.rand(2, 3, 9, 9)).sum().backward()
        """, "layers = ", '{"maps": 18, "size": 1}'),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_sizes_went_apart(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])
