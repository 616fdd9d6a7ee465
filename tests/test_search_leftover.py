"""The search where a network for images of one side is given larger ones: the setting that the side comes from."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

PROGRAM = """
    import argparse
    import torch
    from dataclasses import dataclass
    from torch import nn
    SETTINGS
    def tiles(crop, count=40, whole=56):
        pictures = torch.rand(count, 1, whole, whole)
        top = (whole - crop) // 2
        return pictures[:, :, top:top + crop, top:top + crop]
    critic = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(8, 8, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(8, 1, 4, 1, 0),
    )
    for some in tiles(given.crop).split(given.batch_size):
        scores = critic(some).view(-1)
        nn.functional.binary_cross_entropy_with_logits(scores, torch.ones(len(some))).backward()
    """
FIELDS = """@dataclass
    class Given:
        batch_size: int = 40
        crop: int = 40
    given = Given()"""
OPTIONS = """options = argparse.ArgumentParser()
    options.add_argument("--batch-size", type=int, default=40)
    options.add_argument("--crop", type=int, default=40)
    given = options.parse_args([])"""


@pytest.mark.parametrize(("settings", "line", "new"), [
    (FIELDS, "crop: int = 40", "crop: int = 16"), (OPTIONS, '"--crop"', 'add_argument("--crop", type=int, default=16)'),
])  # fmt: skip
def test_the_side_is_set_to_what_the_layers_leave_one_place_of(
    runner: Runner, settings: str, line: str, new: str
) -> None:
    assert_repaired(runner, PROGRAM.replace("SETTINGS", settings), line, new)


def test_neither_how_many_there_are_nor_the_batch_is_a_side(runner: Runner) -> None:
    program = PROGRAM.replace("SETTINGS", FIELDS)
    assert_never_offered(runner, program, "count=16")
    assert_never_offered(runner, program, "batch_size: int = 16")
