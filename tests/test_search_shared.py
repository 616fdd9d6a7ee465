"""The search where a helper that several calls share views one of their inputs by a size of the others."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

ATTENTION = """
        import torch
        from torch import nn
        class Attention(nn.Module):
            def __init__(self, width=24, heads=6, shared=2):
                super().__init__()
                self.heads, self.size = heads, width // heads
                self.queries, self.keys = nn.Linear(width, width), nn.Linear(width, shared * self.size)
            def split(self, x):
                return {view}
            def forward(self, x):
                queries, keys = self.split(self.queries(x)), self.split(self.keys(x))
                return queries @ keys.repeat_interleave(queries.size(1) // keys.size(1), 1).transpose(-2, -1)
        Attention()(torch.rand(3, 5, 24)).sum().backward()
        """
VIEWS = {
    "x.unflatten(-1, (self.heads, self.size)).transpose(1, 2)": "(-1, self.size)",
    "x.view(x.size(0), x.size(1), self.heads, self.size).transpose(1, 2)": "-1, self.size)",
}


@pytest.mark.parametrize("view", VIEWS)
def test_the_number_of_heads_follows_from_the_input(view: str, runner: Runner) -> None:
    assert_repaired(runner, ATTENTION.format(view=view), "return x.", VIEWS[view])


def test_other_layers_are_not_taken_for_a_better_prepared_input(runner: Runner) -> None:
    program = ATTENTION.format(view="x.unflatten(-1, (self.heads, self.size)).transpose(1, 2)")
    assert_never_offered(runner, program, "self.split(self.queries(x)), self.split(self.queries(x))")
