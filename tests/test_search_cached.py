"""The search where a mask of the new tokens meets scores over the keys of earlier calls."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

_NET = """
    import torch
    class Attention(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.qkv = torch.nn.Linear(width, 3 * width)
        def forward(self, x, past=None):
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            if past is not None:
                k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
            PAST
            t = q.size(1)
            MASK
            scores = q @ k.transpose(1, 2)
            return USE, (k, v)
    net = Attention(8)
    _, past = net(torch.rand(2, 5, 8))
    net(torch.rand(2, 3, 8), past)[0].sum().backward()
    """
ADDED = (
    _NET.replace("PAST", "seen = 0 if past is None else past[0].size(1)")
    .replace("MASK", 'hidden = torch.full((t, t), float("-inf")).triu(1)')
    .replace("USE", "(scores + hidden).softmax(-1) @ v")
)
SHOWN = (
    _NET.replace("PAST", "old_keys = k[:, :-x.size(1)]")
    .replace("MASK", "shown = torch.tril(torch.ones(t, t))")
    .replace("USE", 'scores.masked_fill(shown == 0, float("-inf")).softmax(-1) @ v')
)
#: A mask by queries alone: nothing is cached, the keys are another sequence's.
CROSSED = """
    import torch
    q, k = torch.rand(2, 3, 8), torch.rand(2, 8, 8)
    hidden = torch.full((3, 3), float("-inf")).triu(1)
    (q @ k.transpose(1, 2) + hidden).softmax(-1)
    """


def test_an_added_mask_lets_cached_keys_be_seen(runner: Runner) -> None:
    assert_repaired(runner, ADDED, "hidden =", "(seen, 0), value=0)")


def test_a_mask_of_what_may_be_seen_covers_cached_keys(runner: Runner) -> None:
    assert_repaired(runner, SHOWN, "shown =", "(old_keys.size(1), 0), value=1)")


def test_another_sequence_is_no_cache(runner: Runner) -> None:
    assert_never_offered(runner, CROSSED, "pad(")
