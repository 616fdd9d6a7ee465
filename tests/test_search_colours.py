"""The search where one picture of several has a fourth channel, or one alone, and the others have three."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

SCANS = """
    import torch
    from torch.utils.data import DataLoader, Dataset
    CENTRE, SPREAD = torch.full((3, 1, 1), 0.5), torch.full((3, 1, 1), 0.2)
    def scan(at):
        return torch.rand(4 if at == 5 else 3, 16, 16)
    class Scans(Dataset):
        def __len__(self):
            return 8
        def __getitem__(self, at):
            sheet = scan(at)
            return (sheet - CENTRE) / SPREAD, at % 2
    net = torch.nn.Conv2d(3, 2, 3)
    for sheets, kinds in DataLoader(Scans(), batch_size=4):
        net(sheets).mean().backward()
    """
OPENED = """
    import numpy as np
    import torch
    class Image:
        def __init__(self, channels):
            self.channels = channels
        @staticmethod
        def open(path):
            return Image(4 if path.endswith("7.png") else 3)
        def convert(self, mode):
            return Image(3)
        def __array__(self, dtype=None, copy=None):
            return np.zeros((20, 24, self.channels), dtype=np.uint8)
    net = torch.nn.Conv2d(3, 4, 3)
    def prepared(path):
        image = Image.open(path)
        return torch.from_numpy(np.array(image)).permute(2, 0, 1).float() / 255
    for at in range(9):
        net(prepared(f"{at}.png").unsqueeze(0)).sum().backward()
    """
#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "a tensor with the channels first": (SCANS, "sheet = scan(at)", "scan(at)[:3]"),
    "a picture as the file has it": (OPENED, "image = Image.open(path)", 'Image.open(path).convert("RGB")'),
    "a call among others": (
        SCANS.replace("scan(at)\n", "scan(at).float() / 2\n"), "sheet = scan(at)", "scan(at)[:3].float() / 2"),
    "an array that a script makes a tensor of": (
        """
        import numpy as np
        import torch
        def decoded(at):
            return np.zeros((12, 12, 4 if at == 2 else 3), dtype=np.float32)
        def normal(picture, mean):
            planes = torch.from_numpy(picture).permute(2, 0, 1)
            return planes - mean.view(-1, 1, 1)
        every = []
        for at in range(4):
            picture = decoded(at)
            every.append(normal(picture, torch.tensor([0.4, 0.5, 0.6])))
        print(torch.stack(every).shape)
        """, "picture = decoded(at)", "decoded(at)[..., :3]"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_pictures_are_loaded_with_three_channels(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])


def test_a_fourth_band_that_all_have_is_kept(runner: Runner) -> None:
    assert_never_offered(runner, SCANS.replace("4 if at == 5 else 3", "4"), ":3]")


def test_a_model_for_four_bands_keeps_them(runner: Runner) -> None:
    program = SCANS.replace("4 if at == 5 else 3", "4").replace("Conv2d(3,", "Conv2d(4,")
    assert_never_offered(runner, program, ":3]")
