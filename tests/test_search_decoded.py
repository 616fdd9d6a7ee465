"""The search where a dataset loads pictures with a fourth channel among those of three: mended where it loads them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "arrays that are read with their channels last": (
        """
        import io
        import numpy as np
        import torch
        from torch.utils.data import DataLoader, Dataset
        def packed(channels):
            file = io.BytesIO()
            np.save(file, np.zeros((8, 9, channels), np.uint8))
            return file.getvalue()
        class Shop(Dataset):
            def __init__(self, files):
                self.files = files
            def __len__(self):
                return len(self.files)
            def __getitem__(self, at):
                pixels = np.load(io.BytesIO(self.files[at]))
                image = torch.from_numpy(pixels).permute(2, 0, 1).float() / 255
                return image, at
        files = [packed(4 if at == 3 else 3) for at in range(6)]
        for images, at in DataLoader(Shop(files), batch_size=3):
            torch.nn.functional.conv2d(images, torch.rand(2, 3, 1, 1))
        """, "pixels = np.load(", "np.load(io.BytesIO(self.files[at]))[..., :3]"),
    "a helper that gives tensors with their channels first": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        def read_picture(at):
            return torch.zeros(4 if at % 3 == 2 else 3, 8, 6)
        class Shop(Dataset):
            def __len__(self):
                return 6
            def __getitem__(self, at):
                picture = read_picture(at)
                picture = picture - picture.mean()
                return {"picture": picture, "at": at}
        net = torch.nn.Conv2d(3, 2, 3)
        for batch in DataLoader(Shop(), batch_size=3):
            net(batch["picture"]).sum().backward()
        """, "picture = read_picture(at)", "read_picture(at)[:3]"),
    "pictures that are held in a list": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Held(Dataset):
            def __init__(self, images, labels):
                self.images, self.labels = images, labels
            def __len__(self):
                return len(self.images)
            def __getitem__(self, at):
                image = self.images[at]
                return image.float() / 255, self.labels[at]
        images = [torch.zeros(4 if at % 3 == 1 else 3, 6, 7, dtype=torch.uint8) for at in range(8)]
        for x, y in DataLoader(Held(images, list(range(8))), batch_size=4):
            torch.nn.functional.conv2d(x, torch.rand(2, 3, 1, 1))
        """, "image = self.images[at]", "self.images[at][:3]"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_pictures_get_three_channels_where_they_are_loaded(name: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[name])


#: Program, what no fix may put anywhere.
NEAR = {
    "tables of three and four rows": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Tables(Dataset):
            def __init__(self, rows):
                self.rows = rows
            def __len__(self):
                return len(self.rows)
            def __getitem__(self, at):
                row = self.rows[at]
                return row
        for x in DataLoader(Tables([torch.rand(count, 8, 5) for count in (3, 4, 3, 5)]), batch_size=2):
            x.sum()
        """, "[:3]"),
    "scans of four and five channels": (
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        def read_image(at):
            return torch.rand(4 if at % 2 else 5, 6, 6)
        class Scans(Dataset):
            def __len__(self):
                return 6
            def __getitem__(self, at):
                image = read_image(at)
                return image
        for x in DataLoader(Scans(), batch_size=3):
            x.sum()
        """, ":3]"),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR)
def test_what_only_looks_alike_is_left_alone(name: str, runner: Runner) -> None:
    assert_never_offered(runner, *NEAR[name])
