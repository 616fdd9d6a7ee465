"""Lengths for CTC that count the frames before the network's strides."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

SPEECH = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    front = nn.Sequential(nn.Conv1d(8, 6, 3, stride=2, padding=1), nn.ReLU(), nn.Conv1d(6, 6, 3, stride=2, padding=1))
    ctc = nn.CTCLoss()
    frames = torch.tensor([61, 40])
    out = front(torch.rand(2, 8, 61)).permute(2, 0, 1).log_softmax(-1)
    ctc(out, torch.ones(2, 4, dtype=torch.long), frames, torch.tensor([4, 4])).backward()
    """


def test_lengths_are_divided_by_the_strides(runner: Runner) -> None:
    assert_repaired(runner, SPEECH, "ctc(out", "(frames + 3) // 4")


def test_pools_round_lengths_down(runner: Runner) -> None:
    pooled = (
        "nn.Sequential(nn.Conv1d(8, 6, 3, padding=1), nn.MaxPool1d(2), nn.Conv1d(6, 6, 3, padding=1), nn.MaxPool1d(2))"
    )
    program = SPEECH.replace(SPEECH[SPEECH.index("nn.Sequential") : SPEECH.index("    ctc = ")], pooled + "\n")
    assert_repaired(runner, program.replace("61", "63"), "ctc(out", "frames // 4")


def test_convolutions_without_padding_take_their_kernels_off(runner: Runner) -> None:
    program = SPEECH.replace(", padding=1", "")
    assert_repaired(runner, program, "ctc(out", "((frames - 3) // 2 + 1) - 3) // 2 + 1")


def test_lengths_that_no_stride_explains_are_left_as_they_are(runner: Runner) -> None:
    program = SPEECH.replace(", stride=2", "").replace("[61, 40]", "[70, 40]")
    assert_never_offered(runner, program, "//")
