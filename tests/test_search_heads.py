"""The search where layers join their heads and the next layers are built for one of them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

_NET = """
        import torch
        from torch import nn
        class Mixer(nn.Module):
            def __init__(self, d_in, d_out, heads):
                super().__init__()
                self.heads, self.size = heads, d_out
                self.proj = nn.Linear(d_in, WIDE)
            def forward(self, x):
                GIVEN
        class Stack(nn.Module):
            def __init__(self, features, width, heads, depth):
                super().__init__()
                dims = [features] + [width] * depth
                self.layers = nn.ModuleList(Mixer(a, b, heads) for a, b in zip(dims[:-1], dims[1:]))
            def forward(self, x):
                for layer in self.layers:
                    x = torch.tanh(layer(x))
                return x
        Stack(10, 6, 4, 3)(torch.rand(5, 7, 10)).sum().backward()
        """
#: All heads joined, and one head whose result stands beside itself as often as there are heads.
JOINED = _NET.replace("WIDE", "heads * d_out").replace(
    "GIVEN", "return self.proj(x).unflatten(-1, (self.heads, self.size)).softmax(-2).flatten(-2)"
)
BESIDE = _NET.replace("WIDE", "d_out").replace("GIVEN", "return torch.cat([self.proj(x)] * self.heads, dim=-1)")


def test_the_widths_between_layers_count_all_heads(runner: Runner) -> None:
    assert_repaired(runner, JOINED, "dims = [features]", "[width * heads] * depth")
    assert_repaired(runner, JOINED, "dims = [features]", "Mixer(a, b // heads, heads)")


def test_copies_that_are_joined_are_no_heads(runner: Runner) -> None:
    assert_never_offered(runner, BESIDE, "[width * heads]")
