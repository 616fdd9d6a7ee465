"""Where an edit runs and another one would as well: both are told, and none proves anything."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from crashes import crashed, replacing

from explainer import remedies
from explainer.oracle import source
from explainer.replay.trial import try_candidates


def test_a_mask_that_fits_two_ways_is_told_with_both_and_proves_nothing(as_program: Path) -> None:
    program = """
        import torch
        def attend(scores, mask):
            return scores.masked_fill(mask, -1e9).softmax(-1)
        attend(torch.ones(3, {heads}, 5, {keys}), torch.zeros(3, {keys}, dtype=torch.bool)).sum()
    """
    for keys, doubts in ((5, [("tied",), ("tied",)]), (7, [()])):
        scene = crashed(as_program, program.format(heads=2, keys=keys), whole=True)
        edit = replacing(as_program, 4, "(mask", "(mask[:, None, None, :]")
        found = [one for one in try_candidates(scene, [edit], "program") if one.passed]
        assert [one.judgement.doubts for one in found] == doubts
        shown = remedies._shown(found, (), "en")
        assert [fix.certainty for fix in shown] == ["suggestion" if one else "checked" for one in doubts]


def test_a_default_is_not_proved_where_a_turned_tensor_fits_too(as_program: Path) -> None:
    program = """
        import torch
        from torch import nn
        rnn = nn.GRU({width}, 4)
        x = torch.randn(3, 5, {width})
        rnn(x, torch.zeros(1, 3, 4))[0].sum().backward()
    """
    scene = crashed(as_program, program.format(width=6), whole=True)
    default = replacing(as_program, 4, "4)", "4, batch_first=True)")
    assert [one.passed for one in try_candidates(scene, [default], "program")] == [True]
    assert source.decides_default(default.edits)
    assert remedies.default_or_layout(scene, default)
    assert not remedies.default_or_layout(scene, replacing(as_program, 6, "(1, 3", "(1, 5"))
