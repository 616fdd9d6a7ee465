"""What numbers are for: an edit that gives a layer a number that is used for something else is told from others."""

from __future__ import annotations

import ast

import pytest

from explainer.edits.evidence import Evidence
from explainer.repair.uses import misnamed, misplaced
from explainer.source import parsed_source

pytest.importorskip("torch")  # whose signatures say what an argument is

PROGRAM = """
class Head(nn.Module):
    def __init__(self, given, kinds):
        self.out = nn.Linear(given, kinds)
loader = DataLoader(data, batch_size=cfg.batch, shuffle=True)
def deep(count):
    return 2 ** count
head = Head(cfg.width, cfg.kinds)
conv = nn.Conv2d(3, cfg.width, cfg.kernel, padding=1)
for step in range(cfg.steps):
    loss(head(step)).backward()
"""
EDITS = [
    ("nn.Conv2d(3, 8, 3, padding=1)", "nn.Conv2d(3, 8, 3, padding=cfg.batch)", True),
    ("nn.Conv2d(3, 8, 3, padding=1)", "nn.Conv2d(3, 8, 3, padding=cfg.kernel // 2)", False),
    ("Head(cfg.width, 4)", "Head(cfg.width, cfg.steps)", True),  # by what the class does with it
    ("Head(cfg.width, 4)", "Head(cfg.width, cfg.kinds)", False),
    ("Head(cfg.width, 4)", "Head(cfg.width, cfg.other)", False),  # nothing says what that is for
    ("f(4)", "f(cfg.batch)", False),  # nor what this takes
    ("deep(4)", "deep(cfg.steps)", True),  # whatever this takes, it is no count of steps
    ("deep(4)", "deep(cfg.width)", False),
]


@pytest.mark.parametrize(("before", "after", "wrong"), EDITS)
def test_a_number_goes_where_such_numbers_go(before: str, after: str, wrong: bool) -> None:
    source = parsed_source("model.py", PROGRAM)
    evidence = Evidence("", "en", sources=lambda _: source, files=("model.py",))
    assert misplaced(evidence, ast.parse(before), ast.parse(after)) == wrong


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        ("Head(cfg.width, cfg.kinds)", "Head(cfg.width, cfg.steps)", True),
        ("Head(cfg.kinds, cfg.width)", "Head(cfg.kinds, cfg.kinds)", False),
        ("Head(cfg.width, cfg.kinds)", "Head(cfg.width, cfg.kinds + 1)", False),
        ("f(epochs=cfg.epochs)", "f(epochs=cfg.batch_size)", True),  # whatever `f` is
        ("f(epochs=cfg.epochs)", "f(epochs=len(rows))", False),  # which is counted
        ("f(size=cfg.width)", "f(size=cfg.height)", False),
        ("width = cfg.width", "width = cfg.steps", True),
        ("self.y = y", "self.y = y.double()", False),  # the same, cast
    ],
)
def test_what_has_the_name_of_its_parameter_is_meant(before: str, after: str, wrong: bool) -> None:
    source = parsed_source("model.py", PROGRAM)
    evidence = Evidence("", "en", sources=lambda _: source, files=("model.py",))
    assert misnamed(evidence, ast.parse(before), ast.parse(after)) == wrong
