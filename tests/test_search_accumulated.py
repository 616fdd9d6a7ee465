"""The search where the offset of each sample's indices grows with the wrong count."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_never_offered, assert_repaired

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

GRAPHS = """
        import torch
        def merged(graphs):
            features, edges, shift = [], [], 0
            for graph in graphs:
                features.append(graph["nodes"])
                edges.append(graph["edges"] + shift)
                shift += {count}
            return torch.cat(features), torch.cat(edges, dim=1)
        ring = lambda n: torch.stack([torch.arange(n).repeat(2), torch.arange(2 * n) % n])
        graphs = [{{"nodes": torch.rand(n, 3), "edges": ring(n)}} for n in (3, 4, 5)]
        nodes, (source, target) = merged(graphs)
        print((nodes[source] - nodes[target]).shape{more})
        """


def test_the_edges_are_counted_in_place_of_the_nodes(runner: Runner) -> None:
    program = GRAPHS.format(count='graph["edges"].shape[1]', more="")
    assert_repaired(runner, program, "shift +=", 'shift += len(graph["nodes"])')


def test_the_right_count_stays_where_the_table_is_too_short(runner: Runner) -> None:
    program = GRAPHS.format(count='graph["nodes"].shape[0]', more=", nodes[:4][source]")
    assert_never_offered(runner, program, "shift += len(")
