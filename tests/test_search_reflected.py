"""Reflections that reach beyond a signal: the setting of its length, the windows, or the mode."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired, explained

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

SPECTRUM = """
    import torch
    cfg = {"rate": 8000, "clip": 300, "n_fft": 1024}
    def spectrum(wave, n_fft):
        return torch.stft(wave, n_fft, window=torch.hann_window(n_fft), return_complex=True).abs()
    t = torch.arange(cfg["clip"]) / cfg["rate"]
    spectrum(torch.sin(400 * t)[None], cfg["n_fft"]).sum()
    """
BORDER = """
    import torch
    import torch.nn.functional as F
    from torch import nn
    def bordered(image, width):
        return F.pad(image, (width, width, width, width), mode="reflect")
    net = nn.Conv2d(1, 2, 3)
    net(bordered(torch.rand(1, 1, 6, 6), 8)).sum().backward()
    """


def test_the_clip_or_the_window_is_changed_to_fit(runner: Runner) -> None:
    fixes = explained(runner, SPECTRUM)["fixes"]
    after = [edit["after"] for fix in fixes for edit in fix["edits"]]
    assert any('"clip": 513' in one for one in after)
    assert any('"n_fft": 512' in one for one in after)
    assert any('pad_mode="constant"' in one for one in after)


def test_the_border_of_a_small_image_is_zeros(runner: Runner) -> None:
    assert_repaired(runner, BORDER, "F.pad", 'mode="constant"')


def test_the_size_of_random_data_is_left_alone(runner: Runner) -> None:
    assert_never_offered(runner, BORDER, "rand(1, 1, 9")
