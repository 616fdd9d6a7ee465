"""The search where positions are counted or taken apart otherwise than what they point into."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a position in a flattened matrix is divided by the number of rows": (
        """
        import torch
        torch.manual_seed(0)
        def step(tokens, scores):
            batch, beams, words = scores.shape
            best, flat = scores.view(batch, -1).topk(beams, dim=-1)
            origin = flat // beams
            word = flat % words
            kept = tokens.gather(1, origin.unsqueeze(-1).expand(-1, -1, tokens.size(-1)))
            return torch.cat([kept, word.unsqueeze(-1)], dim=-1)
        print(step(torch.zeros(2, 3, 4, dtype=torch.long), torch.rand(2, 3, 20)).shape)
        """, "origin =", "flat // words"),
    "edges whose first ends begin with 1 and whose second ends go up to the count": (
        """
        import torch
        def edges(text):
            return torch.tensor([[int(a), int(b)] for a, b in map(str.split, text.splitlines())]).t()
        def table(ends, count):
            linked = torch.eye(count)
            linked[ends[0], ends[1]] = 1.0
            return linked
        print(table(edges("1 2\\n2 4\\n3 5\\n1 3"), 5).sum())
        """, "return torch.tensor", "- 1).t()"),
    "samples that are None beside samples in tuples": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Patches(Dataset):
            sizes = [4, 4, 3, 4]
            def __len__(self):
                return 4
            def __getitem__(self, number):
                if self.sizes[number] < 4:
                    return None
                return torch.rand(self.sizes[number]), 1.0
        def loader():
            return DataLoader(Patches(), batch_size=2)
        for patches, labels in loader():
            print(patches.shape)
        """, "return DataLoader", "collate_fn=collate_present"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_the_first_fix_edits_the_line_and_runs(name: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[name])
