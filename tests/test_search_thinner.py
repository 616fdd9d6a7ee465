"""The search where parts of a join lack the dimension that they are joined along."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "what a comprehension adds to a list": (
        """
        import torch
        from torch import nn
        class Inputs(nn.Module):
            def __init__(self, sizes, plain):
                super().__init__()
                self.tables, self.plain = nn.ModuleDict({k: nn.Embedding(n, 4) for k, n in sizes.items()}), plain
            def forward(self, rows):
                columns = [table(rows[name]) for name, table in self.tables.items()]
                columns += [rows[name] for name in self.plain]
                return torch.cat(columns, dim=1)
        rows = {"shop": torch.arange(6) % 3, "price": torch.rand(6), "age": torch.rand(6)}
        print(Inputs({"shop": 3}, ["price", "age"])(rows).shape)
        """, "columns +=", "rows[name].unsqueeze(1)"),
    "what is appended": (
        """
        import torch
        def table(groups, weights):
            found = []
            for group in groups:
                found.append(group * 2)
            found.append(weights["all"])
            return torch.cat(found, 1)
        print(table([torch.rand(5, 2), torch.rand(5, 3)], {"all": torch.rand(5)}).shape)
        """, 'found.append(weights["all"])', 'weights["all"].unsqueeze(1)'),
    "two of the parts that a call names": (
        """
        import torch
        def joined(features, price, age):
            return torch.cat([features, price, age], dim=-1)
        print(joined(torch.rand(5, 4), torch.rand(5), torch.rand(5)).shape)
        """, "return torch.cat", "[features, price.unsqueeze(1), age.unsqueeze(1)]"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_the_first_fix_edits_the_line_and_runs(name: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[name])


def test_a_part_of_two_dimensions_less_is_left_alone(runner: Runner) -> None:
    program = """
        import torch
        parts = [torch.rand(2, 3, 4)]
        parts += [torch.rand(2)]
        torch.cat(parts, 1)
        """
    assert_never_offered(runner, program, ".unsqueeze(1)")
