"""Every rule's examples, run for real: each fires its own rule first, on the marked line; near misses stay silent."""

from __future__ import annotations

import importlib.util

import pytest

from explainer.authoring.examples import differences
from explainer.catalogue import load

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="examples need torch")
CATALOGUE = load()
EXAMPLES = [
    (one.id, place, example["name"])
    for one in (*CATALOGUE.rules.values(), *CATALOGUE.symptoms.values())
    for place, example in enumerate(one.examples)
]


@pytest.mark.parametrize(("name", "place"), [one[:2] for one in EXAMPLES], ids=[f"{a}: {c}" for a, _, c in EXAMPLES])
def test_an_example_of_a_rule_shows_what_the_rule_says(name, place, runner):
    one = CATALOGUE.rules.get(name) or CATALOGUE.symptoms[name]
    assert differences(one, one.examples[place], runner) == []


def test_the_runner_tells_ended_raised_hung_and_dead_programs_apart(runner):
    assert runner.run("x = 1\nraise SystemExit(0)")["outcome"] == "ended"
    assert runner.run("import torch\ntorch.ones(2) @ torch.ones(3)")["outcome"] == "raised"
    assert "no answer" in runner.run("import time\ntime.sleep(60)", seconds=1.0)["outcome"]
    assert "no answer" in runner.run("import os\nos._exit(1)")["outcome"]
    assert runner.run("import other\nother.f()", {"other.py": "def f(): pass"})["outcome"] == "ended"
