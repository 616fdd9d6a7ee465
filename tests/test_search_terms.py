"""The search where a layer's size is a sum of sizes and one of the parts that are joined is left out of it."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired, explained

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "an entry of the settings where the model is built": (
        """
        import torch
        from torch import nn
        sizes = {"text": 12, "image": 20, "meta": 5, "classes": 3}
        class Fusion(nn.Module):
            def __init__(self, width, classes):
                super().__init__()
                self.head = nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, classes))
            def forward(self, text, image, meta):
                return self.head(torch.cat((text, image, meta), dim=1))
        net = Fusion(sizes["text"] + sizes["image"], sizes["classes"])
        net(torch.rand(2, 12), torch.rand(2, 20), torch.rand(2, 5)).sum().backward()
        """, "net = Fusion(", 'sizes["text"] + sizes["image"] + sizes["meta"]'),
    "a field of the layer itself, in a product": (
        """
        import torch
        from torch import nn
        class Reader(nn.Module):
            def __init__(self, words=7, tags=3, shapes=2, window=2):
                super().__init__()
                self.word_dim, self.tag_dim, self.shape_dim = words, tags, shapes
                self.out = nn.Linear(window * (self.word_dim + self.tag_dim), 4)
            def forward(self, words, tags, shapes):
                return self.out(torch.cat([words, tags, shapes], dim=-1).flatten(1))
        Reader()(torch.rand(5, 2, 7), torch.rand(5, 2, 3), torch.rand(5, 2, 2)).sum().backward()
        """, "self.out =", "(self.word_dim + self.tag_dim + self.shape_dim)"),
    "a property of the settings": (
        """
        import torch
        from dataclasses import dataclass
        from torch import nn
        @dataclass
        class Config:
            state_size: int = 6
            skill_size: int = 4
            hidden: int = 16
            noise_size: int = 2
            @property
            def input_size(self):
                return self.state_size + self.noise_size
        class Policy(nn.Module):
            def __init__(self, cfg):
                super().__init__()
                self.first, self.last = nn.Linear(cfg.input_size, cfg.hidden), nn.Linear(cfg.hidden, 1)
            def forward(self, state, skill, noise):
                joined = torch.cat([state, skill, noise], -1)
                return self.last(torch.relu(self.first(joined)))
        Policy(Config())(torch.rand(3, 6), torch.rand(3, 4), torch.rand(3, 2)).mean().backward()
        """, "return self.state_size", "self.state_size + self.noise_size + self.skill_size"),
    "a sum of a list": (
        """
        import torch
        from torch import nn
        class Tower(nn.Module):
            def __init__(self, widths, hidden=16):
                super().__init__()
                width = sum([widths["user"], widths["item"]])
                self.net = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, 1))
            def forward(self, user, item, time):
                return self.net(torch.cat([user, item, time], dim=-1))
        tower = Tower({"user": 8, "item": 12, "time": 4})
        tower(torch.rand(3, 8), torch.rand(3, 12), torch.rand(3, 4)).sum().backward()
        """, "width = sum(", 'sum([widths["user"], widths["item"], widths["time"]])'),
    "the target network is a copy": (
        """
        import copy
        import torch
        from torch import nn
        class Q(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(width, 8), nn.Tanh(), nn.Linear(8, 1))
            def forward(self, seen, done, wish):
                return self.net(torch.cat([seen, done, wish], dim=-1))
        class Learner:
            def __init__(self, spec):
                self.q = Q(spec["seen_size"] + spec["done_size"])
                self.slow = copy.deepcopy(self.q)
        SPEC = {"seen_size": 7, "done_size": 2, "wish_size": 4, "most": 30}
        learner = Learner(SPEC)
        parts = torch.rand(5, 7), torch.rand(5, 2), torch.rand(5, 4)
        with torch.no_grad():
            goal = learner.slow(*parts)
        (learner.q(*parts) - goal).square().mean().backward()
        """, "self.q = Q(", 'spec["seen_size"] + spec["done_size"] + spec["wish_size"]'),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_part_that_is_joined_is_counted(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])


def test_a_number_of_another_kind_is_no_part(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        settings = {"left": 6, "right": 4, "layers": 2}
        head = nn.Linear(settings["left"] + settings["right"], 3)
        head(torch.cat([torch.rand(5, 6), torch.rand(5, 4), torch.rand(5, 2)], dim=1)).sum().backward()
        """
    assert not _counted(runner, program)


def test_what_is_not_joined_is_not_counted(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        obs_dim, act_dim, goal_dim = 6, 4, 2
        head = nn.Linear(obs_dim + act_dim, 3)
        head(torch.cat([torch.rand(5, 7), torch.rand(5, 5)], dim=1)).sum().backward()
        """
    assert not _counted(runner, program)


def test_data_of_another_width_behind_a_layer_that_went_well_are_not_counted(runner: Runner) -> None:
    program = """
        import torch
        from torch import nn
        obs_dim, act_dim, goal_dim = 6, 4, 2
        head = nn.Linear(obs_dim + act_dim, 3)
        def value(*given):
            return head(torch.cat(given, dim=1))
        value(torch.rand(5, obs_dim), torch.rand(5, act_dim))
        value(torch.rand(5, obs_dim), torch.rand(5, act_dim), torch.rand(5, goal_dim)).sum().backward()
        """
    assert not _counted(runner, program)


def _counted(runner: Runner, program: str) -> bool:
    return any("joined to the others" in fix["title"] for fix in explained(runner, program)["fixes"])
