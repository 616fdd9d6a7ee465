"""The search where one of two tensors was cut and its companion was not: masks, weights, targets, names of sets."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a mask of all tokens for the costs of those that come next": (
        """
        import torch
        from torch import nn
        def cost(scores, goal, real):
            each = nn.functional.cross_entropy(scores.transpose(1, 2), goal, reduction="none")
            return each[real].mean()
        table, out = nn.Embedding(7, 4), nn.Linear(4, 7)
        def learn(entry):
            words, real = entry["words"], entry["real"]
            return cost(out(table(words))[:, :-1], words[:, 1:], real)
        learn({"words": torch.randint(0, 7, (3, 6)), "real": torch.ones(3, 6).bool()}).backward()
        """, "return cost(", "words[:, 1:], real[:, 1:])"),
    "weights that are used twice are cut where they are bound": (
        """
        import torch
        track = torch.randn(9, 2, requires_grad=True)
        speed = track[1:] - track[:-1]
        weight = torch.rand(9, 1)
        ((speed * weight).sum() / weight.sum()).backward()
        """, "weight = torch.rand(9, 1)", "torch.rand(9, 1)[1:]"),
    "a mask that is used further on is cut beside what it marks": (
        """
        import torch
        def pooled(steps, real):
            print(real.sum())
            rest = steps[:, 2:]
            return (rest * real.unsqueeze(-1)).sum(1) / real.sum(1, keepdim=True)
        pooled(torch.rand(3, 8, 4, requires_grad=True), torch.ones(3, 8)).sum().backward()
        """, "rest * real.unsqueeze", "real = real[:, 2:]"),
    "rows left out of the inputs where a helper gives both back": (
        """
        import torch
        from torch.utils.data import TensorDataset
        def sound(x, y):
            keep = x.sum(1) > 2.0
            return x[keep], y
        data = TensorDataset(*sound(torch.rand(20, 4), torch.arange(20)))
        """, "return x[keep], y", "x[keep], y[keep]"),
    "rows left out of an array that is bound again": (
        """
        import numpy as np
        import torch
        from torch.utils.data import TensorDataset
        values, marks = np.arange(12.0), np.arange(12)
        values = values[marks % 3 > 0]
        data = TensorDataset(torch.from_numpy(values), torch.from_numpy(marks))
        """, "values = values[marks % 3 > 0]", "marks = marks[marks % 3 > 0]"),
    "a series beside its windows": (
        """
        import torch
        from torch.utils.data import TensorDataset
        def pairs(series, width):
            past = torch.stack([series[at:at + width] for at in range(len(series) - width)])
            return TensorDataset(past, series)
        pairs(torch.rand(30), 5)
        """, "TensorDataset(past, series)", "TensorDataset(past, series[width:])"),
    "targets of all of the data beside inputs of a part": (
        """
        import torch
        from torch.utils.data import TensorDataset
        x, y = torch.rand(10, 2), torch.arange(10)
        x_fit, x_test = x[:7], x[7:]
        y_fit, y_test = y[:7], y[7:]
        print(len(TensorDataset(x_fit, y_fit)), len(TensorDataset(x_test, y)))
        """, "TensorDataset(x_test, y)", "TensorDataset(x_test, y_test)"),
    "what a split returns is taken in another order": (
        """
        import torch
        from torch.utils.data import TensorDataset
        def parted(x, y, at):
            return x[:at], y[:at], x[at:], y[at:]
        x_fit, x_test, y_fit, y_test = parted(torch.rand(10, 2), torch.arange(10), 7)
        fit, test = TensorDataset(x_fit, y_fit), TensorDataset(x_test, y_test)
        """, "= parted(", "x_fit, y_fit, x_test, y_test = parted"),
    "samples in the columns of a matrix": (
        """
        import torch
        from torch.utils.data import TensorDataset
        data = TensorDataset(torch.rand(3, 10), torch.arange(10))
        """, "TensorDataset(torch.rand(3, 10)", "torch.rand(3, 10).t()"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_left_out_of_one_is_left_out_of_the_other(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])


def test_a_tensor_of_another_length_is_not_cut_to_fit(runner: Runner) -> None:
    """No subscript on the way took as many entries as are missing."""
    program = """
        import torch
        from torch.utils.data import TensorDataset
        x = torch.rand(12, 2)
        data = TensorDataset(x[:9], torch.arange(11))
        """
    assert_never_offered(runner, program, "arange(11)[")
