"""The registry of probes: one is found by its name, at the price of its own module."""

from __future__ import annotations

import ast
import inspect

import pytest
from commands import ROOT

from explainer import probes
from explainer.edits import candidates
from explainer.probes.homes import HOMES


def test_the_table_names_exactly_the_probes_that_the_modules_register():
    """A probe that is missing there is never found; one that is gone would fail under a crash."""
    registered = {}
    folder = ROOT / "explainer" / "probes"
    for path in folder.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            decorators = getattr(node, "decorator_list", [])
            if any(isinstance(one, ast.Name) and one.id == "probe" for one in decorators):
                registered[node.name] = ".".join(path.relative_to(folder).with_suffix("").parts)
    assert registered == HOMES


def test_every_probe_is_found():
    assert {name: function.__module__ for name, function in probes.probes().items()} == {
        name: f"explainer.probes.{module}" for name, module in HOMES.items()
    }


def test_a_probe_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(KeyError, match="built_at"):
        probes.find("build_at")


@pytest.mark.parametrize("kind", candidates.KINDS)
def test_every_kind_of_edit_names_a_function_that_takes_places(kind):
    """Kinds are resolved when a rule asks for one: a wrong name would show under a crash only."""
    assert inspect.signature(candidates.maker(kind)).parameters
