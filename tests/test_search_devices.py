"""Errors of devices that were decided elsewhere: moves whose result is dropped, defaults, caches, each tried whole."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

FAULTS = {
    "a helper that goes through the values of a dict": (
        """
        import torch
        from torch import nn
        def send(sample, where):
            for part in sample.values():
                if torch.is_tensor(part):
                    part.to(where)
            return sample
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(4, 2)
            def forward(self, sample):
                return self.first(sample["x"]) * sample["w"]
        net, where = Net().to("meta"), torch.device("meta")
        sample = send({"x": torch.rand(3, 4), "w": torch.rand(3, 1), "id": "a"}, where)
        net(sample).sum().backward()
        """, "part.to(where)", "sample[key] = part.to(where)"),
    "a loop over a tuple of names": (
        """
        import torch
        from torch import nn
        device = "meta"
        net = nn.Linear(4, 1).to(device)
        for x, y in [(torch.rand(5, 4), torch.rand(5, 1))]:
            for one in (x, y):
                one.to(device)
            (net(x) - y).square().mean().backward()
        """, "one.to(device)", "x, y = x.to(device), y.to(device)"),
    "a loop over a list": (
        """
        import torch
        from torch import nn
        device = "meta"
        net = nn.Linear(4, 1).to(device)
        for batch in [[torch.rand(5, 4), torch.rand(5, 1)]]:
            for one in batch:
                one.to(device, non_blocking=True)
            x, y = batch
            (net(x) - y).square().mean().backward()
        """, "one.to(device", "batch[index] = one.to(device, non_blocking=True)"),
    "a comprehension as a statement": (
        """
        import torch
        from torch import nn
        device = "meta"
        net = nn.Linear(4, 1).to(device)
        for batch in [[torch.rand(5, 4), torch.rand(5, 1)]]:
            [one.to(device) for one in batch]
            x, y = batch
            (net(x) - y).square().mean().backward()
        """, "[one.to(device)", "batch = [one.to(device) for one in batch]"),
    "a loop that goes on with what it moves": (
        """
        import torch
        from torch import nn
        device = torch.device("meta")
        net = nn.Linear(4, 1).to(device)
        for index, image in enumerate([torch.rand(2, 4), torch.rand(3, 4)]):
            image.to(device=device)
            net(image).sum().backward()
        """, "image.to(", "image = image.to(device=device)"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_device_is_repaired_where_it_was_decided(name: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[name])


NEAR = {
    "a batch whose own `to` moves it in place": (
        """
        import torch
        from torch import nn
        class Batch(dict):
            def to(self, device):
                for name in list(self):
                    self[name] = self[name].to(device)
        batch, net = Batch(x=torch.rand(2, 4)), nn.Linear(4, 1).to("meta")
        batch.to("meta")
        shift = torch.ones(2, 1)
        (net(batch["x"]) * shift).sum()
        """, "batch = "),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR)
def test_what_only_looks_alike_is_left_alone(name: str, runner: Runner) -> None:
    assert_never_offered(runner, *NEAR[name])
