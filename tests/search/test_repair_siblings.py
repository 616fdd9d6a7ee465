"""An edit is made at sibling places too: statements that differ in names or keys alone."""

from __future__ import annotations

import pytest

from explainer.diagnosis import Edit, Span
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.repair.atoms import ATOMS
from explainer.repair.siblings import agrees, together
from explainer.repair.spots import Spot
from explainer.source import parsed_source

pytest.importorskip("torch")  # its signatures say what a call lacks

CACHE = """
def update(self, k, v):
    k = torch.cat([self.keys[0], k], dim=1)
    v = torch.cat([self.values[0], v], dim=1)
    w = torch.stack([self.keys[0], v], dim=1)
    z = torch.cat([self.keys[0], v], dim=3)
"""


def test_an_edit_is_made_at_the_statements_that_differ_in_names_alone():
    source = parsed_source("cache.py", CACHE)
    node = source.tree.body[0].body[0].value
    spot = Spot(Place(source, node), "crash", 0)
    evidence = Evidence("", "en", sources=lambda _: source)
    offers = [one.candidate(evidence) for one in ATOMS["dimension"](spot, evidence)]
    both = [together(one, evidence) for one in offers if one is not None]
    rows = [[edit.after.strip() for edit in one.edits] for one in both]
    assert ["k = torch.cat([self.keys[0], k], dim=2)", "v = torch.cat([self.values[0], v], dim=2)"] in rows
    assert all(len(row) == 2 for row in rows)


ROWS = """
def collate(rows):
    start = torch.tensor([f["start"] for f in rows]) + shift
    end = torch.tensor([f['end'] for f in rows]) + shift
"""


def test_an_edit_is_made_at_the_statement_that_reads_another_key():
    source = parsed_source("rows.py", ROWS)
    spot = Spot(Place(source, source.tree.body[0].body[0].value), "slice", 0)
    evidence = Evidence("", "en", sources=lambda _: source)
    offers = [one.candidate(evidence) for one in ATOMS["operator"](spot, evidence)]
    both = [together(one, evidence) for one in offers if one is not None]
    rows = [[edit.after.strip() for edit in one.edits] for one in both if one is not None]
    assert ['start = torch.tensor([f["start"] for f in rows])', 'end = torch.tensor([f["end"] for f in rows])'] in rows
    assert not any(row[0] == "start = shift" for row in rows)  # both would be one value


BUILT = """
def build(net, cfg):
    branch = MADE[net["branch"]](cfg["sensors"], net["basis"], net["width"], net["depth"])
    trunk = MADE[net["trunk"]](cfg["points"], net["width"], net["width"], net["depth"])
    once = (cfg.window - cfg.first + 1) // cfg.pool
    twice = (once - cfg.second) // cfg.pool
"""


@pytest.mark.parametrize(
    ("line", "old", "new", "told"),
    [
        (4, 'net["width"], net["width"]', 'net["basis"], net["width"]', True),
        (4, 'net["width"], net["depth"]', 'net["basis"], net["depth"]', False),
        (6, "once - cfg.second", "once - cfg.second + 1", True),
        (6, "once - cfg.second", "once - cfg.second + 2", False),
    ],
)
def test_an_edit_agrees_with_a_sibling_that_says_it_already(line, old, new, told):
    source = parsed_source("built.py", BUILT)
    before = source.line(line)
    edit = Edit("built.py", line, line, before, before.replace(old, new, 1))
    candidate = Candidate((edit,), "replace", "", Span("built.py", line))
    assert agrees(candidate, Evidence("", "en", sources=lambda _: source)) is told
