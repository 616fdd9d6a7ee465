"""Lengths that were measured of what is cut afterwards: the cut counts."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

MASKED = """
    import torch
    from torch import nn
    def collate(reviews, most):
        sizes = torch.tensor(list(len(r) for r in reviews))
        words = nn.utils.rnn.pad_sequence([r[:most] for r in reviews], batch_first=True)
        return words, sizes
    torch.manual_seed(0)
    reviews = [torch.randint(1, 50, (n,)) for n in (5, 19, 8)]
    words, sizes = collate(reviews, 12)
    mask = torch.arange(int(sizes.max()))[None] < sizes[:, None]
    x = nn.Embedding(50, 6)(words)
    ((x * mask[..., None]).sum(1) / sizes[:, None]).sum().backward()
    """
PACKED = """
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
    from torch.utils.data import DataLoader, Dataset
    class Trips(Dataset):
        cap = 10
        def __init__(self):
            g = torch.Generator().manual_seed(0)
            self.trips = [torch.randn(n, 3, generator=g) for n in (7, 14, 9, 21)]
        def __len__(self):
            return 4
        def __getitem__(self, i):
            trip = self.trips[i]
            return trip[-self.cap:], len(trip)
    def join(pairs):
        return pad_sequence([x for x, _ in pairs], batch_first=True), torch.tensor([n for _, n in pairs])
    net = nn.LSTM(3, 8, batch_first=True)
    for x, n in DataLoader(Trips(), batch_size=4, collate_fn=join):
        out, _ = net(pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False))
        out.data.sum().backward()
    """
PICKED = """
    import torch
    from torch import nn
    texts = [[3, 4, 5], [6, 7, 8, 9, 10, 11, 12], [1, 2]]
    ids = nn.utils.rnn.pad_sequence([torch.tensor(t) for t in texts], batch_first=True)
    def shorten(ids, texts, most=5):
        ends = torch.tensor([len(t) for t in texts]) - 1
        return ids[:, :most], ends
    kept, ends = shorten(ids, texts)
    x = nn.Embedding(20, 4)(kept)
    x[torch.arange(3), ends].sum().backward()
    """


def test_a_mask_of_lengths_before_the_cut(runner: Runner) -> None:
    assert_repaired(runner, MASKED, "len(r)", "min(len(r), most)")


def test_a_length_beside_the_cut_sample_is_packed(runner: Runner) -> None:
    assert_repaired(runner, PACKED, "len(trip)", "min(len(trip), self.cap)")


def test_the_columns_of_a_padded_batch_are_cut(runner: Runner) -> None:
    assert_repaired(runner, PICKED, "len(t)", "min(len(t), most)")


def test_a_length_of_what_was_cut_already_stays(runner: Runner) -> None:
    program = MASKED.replace("sizes = torch", "reviews = [r[:most] for r in reviews]\n        sizes = torch")
    program = program.replace("sizes[:, None]).sum()", "sizes).sum()")
    assert_never_offered(runner, program, "min(len")
