"""The search where something is counted wrongly: loops from one, bytes of a header; layers left behind."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "steps are counted down to one": (
        """
        import torch
        class Noise:
            def __init__(self, steps):
                self.steps, self.scale = steps, torch.linspace(0, 1, steps)
            def removed(self, x):
                for step in range(self.steps, 0, -1):
                    x = x - self.scale[step]
                return x
        Noise(6).removed(torch.rand(2))
        """, "for step in range", "range(self.steps - 1, -1, -1)"),
    "steps are counted up from one, and looked up by a helper": (
        """
        import torch
        from torch import nn
        table = nn.Embedding(4, 2)
        def row(number):
            return table(torch.tensor(number))
        total = sum(row(0).detach())
        for number in range(1, 4 + 1):
            total = total + row(number).sum()
        total.backward()
        """, "for number in range", "range(4)"),
    "a loop that goes on while there are steps": (
        """
        import torch
        rates = torch.ones(5)
        left = len(rates)
        while left > 0:
            print(rates[left].item())
            left -= 1
        """, "left = len(rates)", "left = len(rates) - 1"),
    "a file of which more is the header": (
        """
        import struct
        import torch
        def pixels(raw):
            kind, rows, columns = struct.unpack("<III", raw[:12])
            body = torch.frombuffer(bytearray(raw), dtype=torch.uint8, offset=8)
            return body.view(rows, columns)
        print(pixels(struct.pack("<III", 7, 3, 5) + bytes(15)).shape)
        """, "torch.frombuffer", "offset=12"),
    "too little is read before the numbers": (
        """
        import io
        import numpy as np
        import torch
        file = io.BytesIO(b"TABL" + bytes(4) + np.ones(6, dtype=np.float32).tobytes())
        file.read(4)
        table = torch.from_numpy(np.frombuffer(file.read(), dtype=np.float32).copy()).view(2, 3)
        """, "file.read(4)", "file.read(8)"),
    "a position is half of a length": (
        """
        import torch
        def middle(values):
            at = values.size(0) / 2
            return values.sort()[0][at]
        middle(torch.rand(9))
        """, "at = values.size(0) / 2", "values.size(0) // 2"),
    "an order of more rows than there are, drawn anew in each run": (
        """
        import torch
        values = torch.rand(50, 2)
        order = torch.randperm(64)
        print(values[order].shape)
        """, "torch.randperm(64)", "torch.randperm(len(values))"),
    "shares of a length are no lengths": (
        """
        import torch
        from torch.utils.data import TensorDataset, random_split
        data = TensorDataset(torch.rand(33, 2))
        lengths = [0.7 * len(data), 0.3 * len(data)]
        random_split(data, lengths)
        """, "lengths = [0.7", "lengths = [0.7, 0.3]"),
    "a batch is a quarter of the data": (
        """
        import torch
        from torch.utils.data import DataLoader
        data = torch.rand(32, 2)
        print(next(iter(DataLoader(data, batch_size=len(data) / 4))).shape)
        """, "DataLoader(data", "len(data) // 4"),
    "a helper makes the loss, and where it is called there is a device": (
        """
        import torch
        from torch import nn
        def cost(shares):
            return nn.CrossEntropyLoss(weight=1 / shares)
        def fit(device):
            model, measure = nn.Linear(4, 3).to(device), cost(torch.tensor([0.2, 0.5, 0.3]))
            measure(model(torch.rand(6, 4, device=device)), torch.zeros(6, dtype=torch.long, device=device)).backward()
        fit(torch.device("meta"))
        """, "cost(torch.tensor", "cost(torch.tensor([0.2, 0.5, 0.3])).to(device)"),
    "a loss of one's own keeps a buffer": (
        """
        import torch
        from torch import nn
        class Weighted(nn.Module):
            def __init__(self, shares):
                super().__init__()
                self.register_buffer("shares", torch.tensor(shares))
            def forward(self, scores):
                return (self.shares * scores.exp()).mean()
        def fit(device):
            model = nn.Linear(4, 3).to(device)
            measure = Weighted([0.2, 0.5, 0.3])
            measure(model(torch.rand(6, 4, device=device))).backward()
        fit(torch.device("meta"))
        """, "Weighted([0.2", "Weighted([0.2, 0.5, 0.3]).to(device)"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_counted_wrongly_is_counted_right(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])


def test_a_loop_whose_number_is_no_index_is_left_alone(runner: Runner) -> None:
    """The index is beyond the end in each pass of the loop."""
    program = """
        import torch
        marks = torch.ones(5)
        for turn in range(1, 3):
            print(turn, marks[9].item())
        """
    assert_never_offered(runner, program, "range(2)")


def test_numbers_that_are_too_few_are_not_sought_in_a_header(runner: Runner) -> None:
    program = """
        import torch
        raw = bytearray(4 + 10)
        torch.frombuffer(raw, dtype=torch.uint8, offset=4).view(3, 4)
        """
    assert_never_offered(runner, program, "offset=")
