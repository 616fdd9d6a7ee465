"""Batches compared with the samples that a `collate_fn` made them of: which parts stand apart, and which do not."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch.nn.utils.rnn import pack_sequence, pad_sequence  # noqa: E402

from explainer.training.collating import taken_apart  # noqa: E402

SAMPLES = [(torch.arange(3 + n).float() + 10 * n, int(n < 2)) for n in range(5)]
ROWS, LABELS = [x for x, _ in SAMPLES], torch.tensor([y for _, y in SAMPLES])
LONGEST = sorted(ROWS, key=len, reverse=True)


@pytest.mark.parametrize(
    ("batch", "apart"),
    [
        ((pad_sequence(ROWS, batch_first=True), LABELS), False),
        ((pad_sequence(ROWS), LABELS), False),  # time first
        ((pad_sequence(LONGEST, batch_first=True), LABELS), True),
        ((pad_sequence(LONGEST), LABELS), True),
        ((pack_sequence(LONGEST), LABELS), True),
        ((LONGEST, LABELS), True),
        ((ROWS, LABELS.sort().values), True),
        ({"x": LONGEST, "y": LABELS}, True),
        ((LONGEST, LABELS.flip(0)), False),
        ((ROWS, LABELS, LONGEST, LABELS.flip(0)), False),  # held in both orders: samples are mixed
        ((torch.stack([x[:3] * 2 for x in ROWS]), LABELS), False),  # changed: nothing is known
        (LABELS, False),
        (None, False),
    ],
)
def test_parts_stand_apart_where_the_rows_of_two_are_of_different_samples(batch, apart):
    """A wrong answer here would accuse a healthy loader as a fact."""
    assert (taken_apart(SAMPLES, batch) is not None) == apart


def test_samples_that_are_alike_say_nothing():
    samples = [(torch.ones(3), n) for n in range(5)]
    assert taken_apart(samples, (torch.ones(5, 3), torch.arange(5).flip(0))) is None
