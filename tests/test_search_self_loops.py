"""The search where a graph gets self loops and the weights of its edges do not."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

GRAPH = """
        import torch
        def add_self_loops(edges, count):
            return torch.cat([edges, torch.arange(count).repeat(2, 1)], dim=1)
        def graph(count):
            edges, edge_weight = torch.randint(0, count, (2, 9)), torch.rand(9)
            {extended}
            return edges, edge_weight
        (source, target), weight = graph(4)
        degree = torch.bincount(target, minlength=4).float()
        print((degree[source] * {weights}).sum())
        """


def test_the_loops_get_weights(runner: Runner) -> None:
    program = GRAPH.format(extended="edges = add_self_loops(edges, count)", weights="weight")
    repair = "edge_weight = torch.cat([edge_weight, torch.ones(count)])"
    assert_repaired(runner, program, "edges = add_self_loops", repair)


def test_weights_of_a_graph_without_loops_stay(runner: Runner) -> None:
    program = GRAPH.format(extended="edges = edges.flip(0)", weights="torch.ones(13)")
    assert_never_offered(runner, program, "edge_weight = torch.cat")
