"""The search where positions are drawn from 1 to n, and what they index has those from 0 to n - 1."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

BETAS = """
    import torch
    STEPS = 8
    torch.manual_seed(0)
    class Noise:
        def __init__(self, steps):
            self.steps, self.kept = steps, torch.linspace(0.9, 0.1, steps)
        def draw(self, count):
            return torch.randint(1, self.steps + 1, (count,))
    def noisy(noise, x):
        t = noise.draw(len(x))
        return noise.kept[t].unsqueeze(1) * x
    for _ in range(20):
        noisy(Noise(STEPS), torch.rand(16, 2))
    """
#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "steps of noise": (BETAS, "torch.randint(1", "torch.randint(0, self.steps, (count,))"),
    "Python's own draw, which gives its last number": (
        """
        import random
        import torch
        random.seed(0)
        bank = torch.rand(6, 3)
        for _ in range(30):
            rows = torch.tensor([random.randint(1, len(bank)) for _ in range(5)])
            chosen = bank[rows]
        """, "rows = torch.tensor(", "random.randint(0, len(bank) - 1)"),
    "positions from 1 on": (
        """
        import torch
        def places(count):
            return torch.arange(1, count + 1)
        codes = torch.rand(5, 4)
        print((codes[places(5)] + torch.rand(5, 4)).shape)
        """, "torch.arange(1", "torch.arange(0, count)"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_drawn_begins_at_zero(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])


def test_a_draw_that_is_counted_on_from_is_left_as_it_is(runner: Runner) -> None:
    assert_never_offered(runner, BETAS.replace("self.steps + 1, (", "self.steps, (").replace("kept[t]", "kept[t + 1]"),
                         "randint(0")  # fmt: skip


def test_ids_of_a_table_may_begin_at_one(runner: Runner) -> None:
    program = """
        import torch
        table = torch.nn.Embedding(9, 2)
        table(torch.arange(1, 10)).sum().backward()
        """
    assert_never_offered(runner, program, "arange(0")
