"""The search where a size is looked up: the key that chose it, and lists that are longer than what arrives."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

#: The features of one encoder meet a head that is built for another, which a setting chose.
KEY = """
    import torch
    from torch import nn
    WIDTHS = {"small": 12, "base": 20, "large": 28}
    cfg = {"encoder": "small", "classes": 3}
    class Head(nn.Module):
        def __init__(self, cfg):
            super().__init__()
            self.fc = nn.Linear(WIDTHS[cfg["encoder"]], cfg["classes"])
        def forward(self, x):
            return self.fc(x)
    encoder = nn.Linear(6, 20)
    Head(cfg)(encoder(torch.rand(4, 6))).sum().backward()
    """
OPTION = """
    import argparse, torch
    from torch import nn
    parser = argparse.ArgumentParser()
    parser.add_argument("--time-unit", default="day", choices=["day", "hour"])
    args = parser.parse_args([])
    columns = {"day": 3, "hour": 5}
    embed = nn.Linear(columns[args.time_unit], 8)
    embed(torch.rand(4, 5)).sum().backward()
    """
#: A number that stands in no other entry of the table: the table is what is wrong.
NO_KEY = KEY.replace('"base": 20', '"base": 24')

#: The decoder of a configuration that takes fewer stages than the one it is made from.
LISTS = """
    import copy
    import torch
    from torch import nn
    BASE = {"body": {"widths": [8, 16, 24], "taken": (0, 1, 2)}, "neck": {"inputs": [8, 16, 24], "out": 6}}
    def loaded(more):
        cfg = copy.deepcopy(BASE)
        for name, values in more.items():
            cfg[name].update(values)
        return cfg
    cfg = loaded({"body": {"taken": (1, 2)}, "neck": {"out": 10}})
    class Net(nn.Module):
        def __init__(self, cfg):
            super().__init__()
            pairs = zip([3, *cfg["body"]["widths"]], cfg["body"]["widths"])
            self.body = nn.ModuleList([nn.Conv2d(a, b, 3, 2, 1) for a, b in pairs])
            self.neck = nn.ModuleList([nn.Conv2d(c, cfg["neck"]["out"], 1) for c in cfg["neck"]["inputs"]])
            self.taken = cfg["body"]["taken"]
        def forward(self, x):
            found = []
            for i, stage in enumerate(self.body):
                x = stage(x)
                if i in self.taken:
                    found.append(x)
            return [layer(one) for layer, one in zip(self.neck, found)]
    sum(one.mean() for one in Net(cfg)(torch.rand(2, 3, 32, 32))).backward()
    """


def test_another_key_of_the_table_is_chosen(runner: Runner) -> None:
    assert_repaired(runner, KEY, 'cfg = {"encoder"', '"encoder": "base"')
    assert_repaired(runner, OPTION, "parser.add_argument", 'default="hour"')


def test_a_table_never_gets_a_number_twice(runner: Runner) -> None:
    assert_never_offered(runner, KEY, '"small": 20')


def test_no_key_is_chosen_that_the_table_lacks(runner: Runner) -> None:
    assert_never_offered(runner, NO_KEY, '"encoder": "')


def test_a_list_names_only_the_stages_that_arrive(runner: Runner) -> None:
    assert_repaired(runner, LISTS, "cfg = loaded", '"neck": {"inputs": [16, 24], "out": 10}')
