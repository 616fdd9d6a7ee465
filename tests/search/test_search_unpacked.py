"""The search where tensors come apart otherwise than meant: unpacked shapes and parts, crops, states, windows."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import OPEN, assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "one projection that holds three parts": (
        """
        import torch
        from torch import nn
        class Mix(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.project = nn.Linear(width, 3 * width)
            def forward(self, x):
                asks, keys, values = self.project(x)
                return torch.softmax(asks @ keys.transpose(-2, -1), -1) @ values
        Mix(8)(torch.rand(5, 7, 8)).sum().backward()
        """, "asks, keys, values", ".chunk(3, dim=-1)"),
    "maps flattened before a layer that unpacks their sizes": (
        """
        import torch
        from torch import nn
        class Pool(nn.Module):
            def forward(self, x):
                b, c, h, w = x.size()
                return x.reshape(b, c, h * w).mean(-1)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.pool, self.fc = nn.Conv2d(3, 8, 3), Pool(), nn.Linear(8, 2)
            def forward(self, x):
                x = torch.relu(self.conv(x)).flatten(1)
                return self.fc(self.pool(x))
        Net()(torch.rand(2, 3, 8, 8)).sum().backward()
        """, ".flatten(1)", "torch.relu(self.conv(x))"),
    "a list is filled with two results each": (
        """
        import torch
        from torch import nn
        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn, self.top = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 8)
            def forward(self, x):
                out, state = self.rnn(x)
                return self.top(state[-1]), out
        encoder, head = Encoder(), nn.Linear(16, 3)
        for step in range(3):
            parts = []
            for x in torch.rand(2, 6, 5, 4):
                parts.append(encoder(x))
            scores = head(torch.cat(parts, dim=-1))
            nn.functional.cross_entropy(scores, torch.arange(6) % 3).backward()
        """, "parts.append(encoder(x))", "encoder(x)[0]"),
    "heads split by the length of another tensor": (
        """
        import torch
        from torch import nn
        class Cross(nn.Module):
            def __init__(self):
                super().__init__()
                self.ask, self.keys = nn.Linear(8, 8), nn.Linear(8, 8)
            def forward(self, x, memory):
                n, length, width = x.shape
                def split(part):
                    return part.view(n, length, 2, 4).transpose(1, 2)
                return split(self.ask(x)) @ split(self.keys(memory)).transpose(-2, -1)
        Cross()(torch.rand(3, 5, 8), torch.rand(3, 7, 8)).sum().backward()
        """, "part.view(n, length", "part.view(n, -1, 2, 4)", OPEN),
}  # fmt: skip

#: Programs in which the same signs mean something else, and what must not be put there.
NEAR = {
    "a tuple of another length is no tensor to be split": (
        """
        import torch
        from torch import nn
        class Both(nn.Module):
            def forward(self, x):
                rows = x.shape[0]
                one, other = (x, x + rows, x - rows)
                return one + other
        Both()(torch.rand(4, 4))
        """, ".chunk("),
    "a window of five dimensions is meant where the weights have three axes": (
        """
        import torch
        from torch import nn
        net = nn.Conv3d(4, 2, 3)
        net(torch.rand(2, 3, 8, 8, 8))
        """, "flatten(0, 1)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_parts_were_miscounted(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


@pytest.mark.parametrize("name", list(NEAR))
def test_a_repair_for_another_fault_is_not_offered(runner: Runner, name: str) -> None:
    assert_never_offered(runner, *NEAR[name])
