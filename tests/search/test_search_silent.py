"""What the search must not do: an edit that only makes the sizes fit is no cause."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import explained

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")


def test_a_size_of_random_data_is_not_blamed(runner: Runner) -> None:
    program = """
        import torch
        def state(batch, side):
            return torch.zeros(batch, 4, side, side)
        frames = torch.rand(2, 3, 10, 14)
        seen = state(len(frames), frames.size(-1))
        (torch.cat([frames, seen], dim=1) * torch.rand(1, requires_grad=True)).sum().backward()
        """
    assert "torch.rand" not in (explained(runner, program)["culprit"] or {}).get("code", "")


def test_a_map_that_a_padding_made_larger_is_not_resized(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        wide, near = nn.Conv1d(2, 2, 3, padding=4, dilation=2), nn.Conv1d(2, 2, 1)
        x = torch.rand(1, 2, 20)
        (wide(x)[:, :, :-2] + near(x)).sum().backward()
        """
    best = explained(runner, program)
    assert not any("interpolate" in (edit["after"] or "") for fix in best["fixes"] for edit in fix["edits"])


def test_other_data_of_the_program_is_no_repair(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        sets = {"train": torch.rand(6, 4), "test": torch.rand(6, 5)}
        model = nn.Linear(4, 2)
        model(sets["train"]).sum().backward()
        model(sets["test"]).sum().backward()
        """
    best = explained(runner, program)
    after = [edit["after"] or "" for fix in best["fixes"] for edit in fix["edits"]]
    assert not any("'train'" in text or "nn.Linear(5" in text for text in after)
