"""A column that meets a row behind the failing call: it is squeezed, unless a table of both is meant."""

from __future__ import annotations

import pytest

from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.squeezed import columns
from explainer.edits.place import Place
from explainer.source import parsed_source

F32 = "float32"


def made(text, shapes):
    """What is offered for an operation that was given tensors of two shapes."""
    source = parsed_source("model.py", text)
    place = Place(source, source.tree.body[0].value)
    before, out = tuple((shape, F32) for shape in shapes), [shapes[0][0], max(shapes[1][0], shapes[0][-1])]
    steps = [Step("mul", (place,), (1,), (), (), (), None)]
    steps.append(Step("sub", (place,), (None, None), before, ((out, F32),), (), None))
    evidence = Evidence("", "en", sources=lambda _: source, steps=steps)
    return [edit.after for candidate in columns(evidence) for edit in candidate.edits]


@pytest.mark.parametrize(
    ("text", "shapes", "repaired"),
    [
        ("q - goal", ([5, 1], [5]), ["q.squeeze(-1) - goal"]),
        ("goal - f(x)", ([5], [5, 1]), ["goal - f(x).squeeze(-1)"]),
    ],
)
def test_a_column_that_meets_a_row_is_squeezed(text, shapes, repaired):
    assert made(text, shapes) == repaired


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("q.unsqueeze(-1) - goal", ([5, 1], [5])),  # a table of all differences is meant
        ("q[:, None] - goal", ([5, 1], [5])),
        ("q - goal", ([5, 1], [4])),  # of others
        ("q - goal", ([5, 1], [5, 1])),
        ("q - goal", ([1, 1], [1])),
    ],
)
def test_other_operands_stay_as_they_are(text, shapes):
    assert made(text, shapes) == []
