"""The search where positions were chosen along with the rows that were kept, and still count all rows."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from faults import assert_repaired, explained

from explainer.authoring.examples import Runner, can_check

pytestmark = pytest.mark.skipif(not can_check(), reason="no sandbox here")

MESH = """
    import torch
    torch.manual_seed(3)
    def crop(points, faces, plane):
        above = points[:, 2] > plane
        faces = faces[above[faces].all(dim=1)]
        return points[above], faces
    points, faces = crop(torch.rand(60, 3), torch.randint(0, 60, (200, 3)), 0.3)
    corners = points[faces]
    print((corners[:, 1] - corners[:, 0]).norm(dim=1).shape)
    """
#: Program, a piece of the line to edit, what the first fix puts there.
FAULTS = {
    "faces of the points that are left": (
        MESH, "faces = faces[", "faces = (above.cumsum(0) - 1)[faces[above[faces].all(dim=1)]]"),
    "ends of edges in two entries": (
        """
        import torch
        torch.manual_seed(1)
        def part(g, seen):
            ok = seen[g["from"]] & seen[g["to"]]
            return {"x": g["x"][seen], "kind": g["kind"][ok], "from": g["from"][ok], "to": g["to"][ok]}
        ends = torch.randint(0, 40, (2, 300))
        g = {"x": torch.rand(40, 5), "kind": torch.arange(300) % 2, "from": ends[0], "to": ends[1]}
        g = part(g, torch.arange(40) % 3 > 0)
        out = torch.zeros_like(g["x"]).index_add(0, g["to"], g["x"][g["from"]] * g["kind"][:, None])
        print(out.shape)
        """, 'return {"x"',
        '"from": (seen.cumsum(0) - 1)[g["from"][ok]], "to": (seen.cumsum(0) - 1)[g["to"][ok]]}'),
    "links between rows that were drawn": (
        """
        import torch
        torch.manual_seed(1)
        def sample(vectors, links, count):
            chosen = torch.randperm(len(vectors))[:count]
            both = torch.isin(links, chosen).all(dim=0)
            return vectors[chosen], links[:, both]
        vectors, links = sample(torch.rand(80, 6), torch.randint(0, 80, (2, 900)), 50)
        print((vectors[links[0]] - vectors[links[1]]).norm(dim=1).mean())
        """, "links[:, both]", "(links[:, both].unsqueeze(-1) == chosen).int().argmax(-1)"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_positions_are_counted_among_the_rows_that_are_left(fault: str, runner: Runner) -> None:
    assert_repaired(runner, *FAULTS[fault])


def test_positions_that_were_chosen_by_something_else_are_not_renumbered(runner: Runner) -> None:
    program = MESH.replace("above[faces].all(dim=1)", "torch.rand(len(faces)) > 0.5")
    assert not any("positions of all rows" in fix["title"] for fix in explained(runner, program)["fixes"])
