"""The line that decided, rather than the call that failed: what is counted, cut, converted or moved before."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")


def test_a_count_that_leaves_one_out_is_followed_through_the_arithmetic(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Pairs(nn.Module):
            def __init__(self, things):
                super().__init__()
                self.count = things * (things - 1) // 2
            def forward(self, x):
                i, j = torch.triu_indices(x.size(1), x.size(1), 1)
                return (x[:, i] * x[:, j]).sum(2)
        fields = ["a", "b", "c"]
        pairs = Pairs(len(fields))
        head = nn.Linear(pairs.count, 2)
        parts = [torch.rand(5, 8) for _ in fields] + [torch.rand(5, 8)]
        head(pairs(torch.stack(parts, 1))).sum().backward()
        """
    assert_repaired(runner, program, "pairs = Pairs(len(fields))", "pairs = Pairs(len(fields) + 1)")


def test_a_term_too_many_is_left_out_where_the_layer_is_built(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.first = nn.Linear(width, 6)
                self.last = nn.Linear(6 + width + 1, 2)
            def forward(self, x):
                return self.last(torch.cat([x, self.first(x)], 1))
        Net(4)(torch.rand(3, 4)).sum().backward()
        """
    assert_repaired(runner, program, "nn.Linear(6 + width + 1, 2)", "nn.Linear(6 + width, 2)")


def test_one_position_more_is_made_where_the_positions_are(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        class Patches(nn.Module):
            def __init__(self, side):
                super().__init__()
                self.count = (side // 4) ** 2
        patches = Patches(16)
        places = nn.Parameter(torch.zeros(1, patches.count, 6))
        first = nn.Parameter(torch.zeros(1, 1, 6))
        x = torch.cat([first.expand(3, -1, -1), torch.rand(3, 16, 6)], dim=1)
        (x + places).sum().backward()
        """
    assert_repaired(runner, program, "torch.zeros(1, patches.count, 6)", "torch.zeros(1, patches.count + 1, 6)")


def test_arrays_are_all_cast_where_one_alone_would_leave_the_others_behind(runner: Runner) -> None:
    program = """
        import numpy as np
        import torch
        from torch import nn
        rows, goals = np.ones((6, 3)), np.ones((6, 1))
        x, y = torch.from_numpy(rows), torch.from_numpy(goals)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 1)
            def forward(self, given):
                return self.layer(given)
        loss = nn.functional.mse_loss(Net()(x), y)
        torch.stack([loss, torch.zeros(())], out=torch.zeros(2)) if loss.dtype != torch.float32 else loss.backward()
        """
    repaired = "torch.from_numpy(rows).float(), torch.from_numpy(goals).float()"
    assert_repaired(runner, program, "torch.from_numpy(rows), torch.from_numpy(goals)", repaired)


def test_a_side_is_named_where_a_name_has_its_length(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        def decoder(image):
            side = image // 4
            return nn.Sequential(nn.Linear(5, 6 * side * side), nn.Unflatten(1, (6, 2, 2)), nn.Conv2d(6, 1, 1))
        decoder(12)(torch.rand(3, 5)).sum().backward()
        """
    assert_repaired(runner, program, "nn.Unflatten(1, (6, 2, 2))", "nn.Unflatten(1, (6, side, side))")


SHIFTED = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    net = nn.Linear(3, 4)
    criterion = nn.CrossEntropyLoss()
    for batch in range(3):
        codes = torch.tensor([0, 1, 2, 3, 0])
        labels = codes - 1
        criterion(net(torch.rand(5, 3)), labels).backward()
    """


def test_labels_that_count_from_zero_are_not_shifted(runner: Runner) -> None:
    assert_repaired(runner, SHIFTED, "labels = codes - 1", "labels = codes")


def test_labels_that_hold_a_mark_keep_it(runner: Runner) -> None:
    program = SHIFTED.replace("labels = labels - 1", "labels = torch.where(labels > 2, labels - 4, labels)")
    assert_never_offered(runner, program, "labels > 2, labels, labels")


def test_data_in_the_same_order_as_before_is_not_turned_round(runner: Runner) -> None:
    """A state carried from full batches to a smaller one: with the steps for samples it would run as well."""
    program = """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        class Next(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.GRU(2, 5, batch_first=True)
                self.out = nn.Linear(5, 1)
            def forward(self, x, state=None):
                y, state = self.rnn(x, state)
                return self.out(y[:, -1]), state
        net, state = Next(), None
        loader = DataLoader(TensorDataset(torch.rand(20, 7, 2)), batch_size=8)
        for (x,) in loader:
            guess, state = net(x, state)
            state = state.detach()
            guess.sum().backward()
        """
    assert_never_offered(runner, program, "transpose")
    assert_repaired(runner, program, "loader = DataLoader", "drop_last=True")
