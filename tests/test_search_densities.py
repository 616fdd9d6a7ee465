"""The search where a dimension means something else than the program takes it for: densities, channels, states."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "the density of each dimension of an action weighed by one return": (
        """
        import torch
        from torch import nn
        from torch.distributions import Normal
        policy = nn.Linear(5, 3)
        def surprise(states, actions):
            spread = Normal(policy(states), 0.3)
            return -spread.log_prob(actions)
        states, actions, returns = torch.rand(7, 5), torch.rand(7, 3), torch.rand(7)
        loss = (surprise(states, actions) * returns).mean()
        loss.backward()
        """, "return -spread.log_prob", "-spread.log_prob(actions).sum(-1)"),
    "two densities that are compared and one that is kept beside": (
        """
        import torch
        from torch import nn
        from torch.distributions import Normal
        encode, decode = nn.Linear(6, 4), nn.Linear(4, 6)
        x, weight = torch.rand(9, 6), torch.rand(9)
        q = Normal(encode(x), 1.0)
        z = q.rsample()
        gap = q.log_prob(z) - Normal(0.0, 1.0).log_prob(z)
        (gap * weight).mean().backward()
        """, "gap = q.log_prob(z)", "q.log_prob(z).sum(-1) - Normal(0.0, 1.0).log_prob(z).sum(-1)"),
    "features of points normed by channels": (
        """
        import torch
        from torch import nn
        class Points(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.lift = nn.Linear(3, width)
                self.norm = nn.BatchNorm1d(width)
            def forward(self, x):
                return torch.relu(self.norm(self.lift(x))).amax(1)
        count = 20
        Points(12)(torch.rand(4, count, 3)).sum().backward()
        """, "self.norm(self.lift(x))", "self.norm(self.lift(x).transpose(1, 2)).transpose(1, 2)"),
}  # fmt: skip

#: Programs with the same signs, and what no fix may put anywhere.
NEAR = {
    "the words of a text have one density each": (
        """
        import torch
        from torch import nn
        from torch.distributions import Categorical
        words = nn.Linear(5, 11)
        states, reward = torch.rand(7, 3, 5), torch.rand(7)
        spread = Categorical(logits=words(states))
        (spread.log_prob(spread.sample()) * reward).mean().backward()
        """, "sum(-1)"),
    "a density whose weights are for its dimensions, one too many": (
        """
        import torch
        from torch import nn
        from torch.distributions import Normal
        policy = nn.Linear(5, 3)
        spread = Normal(policy(torch.rand(7, 5)), 0.3)
        (spread.log_prob(torch.rand(7, 3)) * torch.rand(4)).mean().backward()
        """, "sum(-1)"),
    "a norm built for too few channels of a convolution as long as that": (
        """
        import torch
        from torch import nn
        class Signal(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv1d(3, 12, 3, padding=1)
                self.norm = nn.BatchNorm1d(8)
            def forward(self, x):
                return self.norm(torch.relu(self.conv(x)))
        Signal()(torch.rand(4, 3, 8)).sum().backward()
        """, "transpose"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_line_to_edit_is_where_the_dimension_was_made(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


@pytest.mark.parametrize("name", list(NEAR))
def test_what_only_looks_alike_gets_another_repair(runner: Runner, name: str) -> None:
    assert_never_offered(runner, *NEAR[name])
