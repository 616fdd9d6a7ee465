"""The search where rows were left out of some fields of an object, and the function that did so has returned."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired, explained

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

GRAPH = """
    import torch
    from dataclasses import dataclass
    from torch import nn
    @dataclass
    class Graph:
        x: torch.Tensor
        y: torch.Tensor
        seen: torch.Tensor
        held: torch.Tensor
    def load(n=20):
        seen = torch.arange(n) % 3 > 0
        return Graph(torch.rand(n, 4), torch.arange(n) % 2, seen, ~seen)
    def sound(g):
        keep = torch.arange(len(g.x)) % 5 > 0
        return Graph(x=g.x[keep], y=g.y[keep], seen=g.seen, held=g.held)
    net = nn.Linear(4, 2)
    def learn(g):
        out = net(g.x)
        nn.functional.cross_entropy(out[g.seen], g.y[g.seen]).backward()
        print(len(net(g.x)[g.held]))
    learn(sound(load()))
    """
#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "the masks where another object is made of the rest": (
        GRAPH, "return Graph(x=g.x[keep]", "seen=g.seen[keep], held=g.held[keep])"),
    "weights of the samples where entries are set again": (
        """
        import torch
        from torch import nn
        def clean(data):
            good = data["y"] >= 0
            data["x"] = data["x"][good]
            data["y"] = data["y"][good]
            return data
        def cost(net, data):
            each = nn.functional.cross_entropy(net(data["x"]), data["y"], reduction="none")
            return (each * data["weight"]).mean()
        data = clean({"x": torch.rand(12, 3), "y": torch.arange(12) % 4 - 1, "weight": torch.rand(12)})
        cost(nn.Linear(3, 3), data).backward()
        """, 'data["y"] = data["y"][good]', 'data["weight"] = data["weight"][good]'),
    "names that a loop goes through": (
        """
        import torch
        from torch import nn
        class Table:
            def __init__(self, n):
                self.values, self.labels, self.fold = torch.rand(n, 3), torch.arange(n) % 2, torch.arange(n) % 5
            def drop(self, gone):
                for name in ("values", "labels"):
                    setattr(self, name, getattr(self, name)[~gone])
                return self
        def held_out(net, table, fold):
            return net(table.values)[table.fold == fold]
        table = Table(15)
        table.drop(table.values[:, 0] < 0.4)
        held_out(nn.Linear(3, 2), table, 1).sum().backward()
        """, "for name in (", '"fold"'),
    "positions of rows in the same object": (
        GRAPH.replace("% 2, seen, ~seen)", "% 2, seen.nonzero()[:, 0], (~seen).nonzero()[:, 0])"),
        "return Graph(x=g.x[keep]", "seen=(keep.cumsum(0) - 1)[g.seen[keep[g.seen]]], held=(keep.cumsum(0) - 1)["),
    "edges between nodes some of which are left out": (
        """
        import torch
        from torch import nn
        def connected(data):
            keep = torch.bincount(data["edges"][1], minlength=len(data["x"])) > 1
            data["x"] = data["x"][keep]
            return data
        def messages(net, data):
            source, goal = data["edges"]
            return torch.zeros_like(data["x"]).index_add(0, goal, net(data["x"])[source])
        edges = torch.tensor([[0, 1, 3, 4, 5, 7, 8, 9], [9, 9, 8, 8, 2, 7, 7, 8]])
        data = connected({"x": torch.rand(10, 3), "edges": edges})
        print(messages(nn.Linear(3, 3), data)[data["edges"][0]].shape)
        """, 'data["x"] = data["x"][keep]',
        'data["edges"] = (keep.cumsum(0) - 1)[data["edges"][:, keep[data["edges"]].all(0)]]'),
    "a copy with some fields changed": (
        GRAPH.replace("return Graph(x=g.x[keep], y=g.y[keep], seen=g.seen, held=g.held)",
                      "return replace(g, x=g.x[keep], y=g.y[keep])")
        .replace("import dataclass\n", "import dataclass, replace\n"),
        "return replace(g", "y=g.y[keep], held=g.held[keep], seen=g.seen[keep])"),
    "two fields in one statement": (
        """
        import torch
        from torch import nn
        class Bag:
            def __init__(self, n):
                self.rows, self.kinds, self.shares = torch.rand(n, 5), torch.arange(n) % 2, torch.rand(n)
            def keep_sound(self):
                sound = torch.arange(len(self.rows)) % 4 > 0
                self.rows, self.kinds = self.rows[sound], self.kinds[sound]
        bag = Bag(40)
        bag.keep_sound()
        each = nn.functional.cross_entropy(nn.Linear(5, 2)(bag.rows), bag.kinds, reduction="none")
        (each * bag.shares).mean().backward()
        """, "self.rows, self.kinds = self.rows[sound]", "self.shares = self.shares[sound]"),
}  # fmt: skip
CUT = ("what was left out of the other", "holds positions of all rows")


@pytest.mark.parametrize("fault", FAULTS)
def test_fields_of_all_rows_are_cut_as_the_others_were(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])


def _offered(runner: Runner, program: str) -> bool:
    return any(words in fix["title"] for fix in explained(runner, program)["fixes"] for words in CUT)


def test_a_field_of_another_length_is_not_cut(runner: Runner) -> None:
    assert not _offered(runner, GRAPH.replace("seen = torch.arange(n) % 3 > 0", "seen = torch.arange(n + 3) % 3 > 0"))


def test_positions_beyond_all_rows_are_not_renumbered(runner: Runner) -> None:
    program = GRAPH.replace("% 2, seen, ~seen)", "% 2, seen.nonzero()[:, 0] + 9, torch.arange(3))")
    assert not _offered(runner, program)


def test_nothing_is_cut_where_no_rows_were_left_out(runner: Runner) -> None:
    program = GRAPH.replace("g.x[keep], y=g.y[keep]", "torch.rand(16, 4), y=torch.arange(16) % 2")
    assert not _offered(runner, program)
