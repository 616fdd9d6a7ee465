"""The search where values with one entry for each sample meet all places of a sample."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

_NOISED = """
    import torch
    keep = torch.linspace(1, 0, 30)
    net = torch.nn.Conv2d(3, 3, 3, padding=1)
    def at(table, t):
        return table[t]
    def noised(x, t, noise):
        NOISED
    x = torch.rand(7, 3, 16, 16)
    noise = torch.randn_like(x)
    each = (net(noised(x, torch.randint(30, (7,)), noise)) - noise).pow(2).mean((1, 2, 3))
    (each * keep[:7]).mean().backward()
    """
IN_LINE = _NOISED.replace("NOISED", "return keep[t] * x + (1 - keep[t]).sqrt() * noise")
HELPER = _NOISED.replace("NOISED", "return at(keep, t) * x + (1 - at(keep, t)).sqrt() * noise")
ALIKE = _NOISED.replace("NOISED", "mean = keep.gather(0, t) * x; return mean + keep.flip(0).gather(0, t) * noise")
#: What a helper gives is summed up elsewhere: with sizes of one the sum would be another.
SUMMED = """
    import torch
    words = torch.nn.Embedding(30, 12)
    def real(ids):
        return (ids > 0).float()
    def pooled(ids):
        x = words(ids) * real(ids)
        return x.sum(1) / real(ids).sum(1, keepdim=True)
    pooled(torch.randint(1, 30, (5, 8))).sum().backward()
    """
#: The layer has a number for each channel, and as many as there are samples.
CHANNELS = """
    import torch
    from torch import nn
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 3)
            self.gain = nn.Parameter(torch.zeros(8))
        def scale(self):
            return self.gain.exp()
        def forward(self, x):
            return self.conv(x) * self.scale()
    Scaled()(torch.rand(8, 3, 14, 14)).sum().backward()
    """
#: The means of each sample, which keep their dimensions when they are told to.
CENTRED = """
    import torch
    def centred(x):
        return x - x.mean(dim=(1, 2, 3))
    centred(torch.rand(5, 3, 12, 12).requires_grad_()).sum().backward()
    """


def test_all_values_of_a_statement_get_sizes_of_one(runner: Runner) -> None:
    assert_repaired(runner, IN_LINE, "return keep[t] * x", "(1 - keep[t][:, None, None, None]).sqrt()")
    assert_repaired(runner, ALIKE, "mean = keep.gather", "keep.flip(0).gather(0, t)[:, None, None, None]")


def test_a_helper_returns_values_with_sizes_of_one(runner: Runner) -> None:
    assert_repaired(runner, HELPER, "return table[t]", "return table[t][:, None, None, None]")


def test_a_helper_of_which_something_is_summed_stays(runner: Runner) -> None:
    assert_repaired(runner, SUMMED, "x = words(ids) * real(ids)", "* real(ids)")
    assert_never_offered(runner, SUMMED, "(ids > 0).float()[")


def test_channels_are_no_samples(runner: Runner) -> None:
    assert_never_offered(runner, CHANNELS, "[:, None, None, None]")
    assert_never_offered(runner, CHANNELS, "torch.zeros(8, 1, 1, 1)")


def test_means_keep_their_dimensions(runner: Runner) -> None:
    assert_repaired(runner, CENTRED, "return x - x.mean", "keepdim=True")
