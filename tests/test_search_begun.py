"""The search where the state that a recurrent layer begins with lacks the dimension of its layers."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "both states returned by a function": (
        """
        import torch
        from torch import nn
        class Speaker(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(3, 8)
                self.rnn = nn.LSTM(4, 8, batch_first=True)
            def begin(self, seen):
                return torch.tanh(self.first(seen)), self.first(seen)
            def forward(self, seen, words):
                state = self.begin(seen)
                return self.rnn(words, state)[0]
        Speaker()(torch.rand(5, 3), torch.rand(5, 6, 4)).sum().backward()
        """, "return torch.tanh", "torch.tanh(self.first(seen)).unsqueeze(0), self.first(seen).unsqueeze(0)"),
    "one state of a layer with gates": (
        """
        import torch
        from torch import nn
        reads = nn.GRU(4, 8, batch_first=True)
        first = nn.Linear(3, 8)
        start = first(torch.rand(5, 3))
        reads(torch.rand(5, 6, 4), start)[0].sum().backward()
        """, "reads(torch.rand(5, 6, 4), start)", "start.unsqueeze(0)"),
    "a pair written in the call": (
        """
        import torch
        from torch import nn
        rnn = nn.LSTM(4, 8)
        h, c = torch.zeros(5, 8), torch.zeros(5, 8)
        rnn(torch.rand(6, 5, 4), (h, c))[0].sum().backward()
        """, "(h, c))[0]", "(h.unsqueeze(0), c.unsqueeze(0))"),
}  # fmt: skip

#: Programs with the same signs, and what no fix may put anywhere.
NEAR = {
    "a layer of two layers needs a state for each": (
        """
        import torch
        from torch import nn
        rnn = nn.GRU(4, 8, num_layers=2, batch_first=True)
        rnn(torch.rand(5, 6, 4), torch.zeros(5, 8))[0].sum().backward()
        """, "unsqueeze(0)"),
    "the state of another batch": (
        """
        import torch
        from torch import nn
        rnn = nn.GRU(4, 8, batch_first=True)
        rnn(torch.rand(5, 6, 4), torch.zeros(3, 8))[0].sum().backward()
        """, "unsqueeze(0)"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_the_dimension_of_the_layers_is_put_where_the_state_is_made(runner: Runner, name: str) -> None:
    assert_repaired(runner, *FAULTS[name])


@pytest.mark.parametrize("name", list(NEAR))
def test_a_state_that_lacks_more_is_left_alone(runner: Runner, name: str) -> None:
    assert_never_offered(runner, *NEAR[name])
