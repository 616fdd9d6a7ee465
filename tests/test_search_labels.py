"""Labels that are the numbers of something else: they are renumbered, the head is not made wider for them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

CODES = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    codes = [11, 52, 30] * 4
    labels = torch.tensor(codes)
    rows = TensorDataset(torch.rand(12, 3), labels)
    net = nn.Linear(3, len(set(codes)))
    for x, y in DataLoader(rows, batch_size=6):
        nn.functional.cross_entropy(net(x), y).backward()
    """


def test_codes_become_class_numbers_where_all_of_them_are_seen(runner: Runner) -> None:
    assert_repaired(runner, CODES, "labels = torch.tensor(codes)", "torch.unique(torch.tensor(codes), return_inverse")


def test_a_head_is_not_made_as_wide_as_the_largest_code(runner: Runner) -> None:
    assert_never_offered(runner, CODES, "53")


def test_codes_are_not_renumbered_batch_by_batch(runner: Runner) -> None:
    program = CODES.replace("in DataLoader(rows, batch_size=6):", "in [(torch.rand(3, 3), codes[:3])]:")
    program = program.replace("(net(x), y)", "(net(x), torch.tensor(y))")
    assert_never_offered(runner, program, "torch.unique")


def test_offsets_noted_too_late_are_noted_before_the_sum_goes_on(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        def starts(sizes):
            found, at = [], 0
            for size in sizes:
                at += size
                found.append(at)
            return torch.tensor(found)
        sizes = [4, 3, 2]
        table = nn.Embedding(sum(sizes), 2)
        def looked_up(ids, begin):
            return table(ids + begin)
        looked_up(torch.tensor([[3, 2, 1], [0, 0, 0]]), starts(sizes)).sum().backward()
        """
    assert_repaired(runner, program, "found.append(at)", "at += size")
