"""docs/places.md says of every place which test shows it: those tests are there, and run where it says."""

from __future__ import annotations

import re

import pytest
import yaml
from commands import ROOT

PAGE = (ROOT / "docs" / "places.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")][1:]
#: A test as a row names it, and whether the page says that CI runs it in a job of its own.
NAMED = re.compile(r"`((?:\w+/)?test_\w+\.py)(?:::(test_\w+)(?:\[([\w-]+)\])?)?`( †)?")


def named_in(row):
    """The tests that a row names: file, name, parameter, mark."""
    return NAMED.findall(row.rpartition(" | ")[2])


def test_the_page_says_how_many_places_it_has():
    assert f"These are {len(ROWS)} places." in PAGE


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split(" | ")[0].strip("| "))
def test_a_place_names_tests_that_exist(row):
    named = named_in(row)
    assert named
    for file, test, _, _ in named:
        assert not test or f"def {test}(" in (ROOT / "tests" / file).read_text("utf-8"), f"{file}::{test}"


def test_what_ci_s_usual_machines_lack_is_marked_and_has_a_job():
    """The frameworks by their own names; the job runs every file with such a test."""
    steps = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["places"]["steps"]
    said = " ".join(step.get("run", "") for step in steps)
    always = (ROOT / "pyproject.toml").read_text().partition("\nserve = ")[0]
    for file, test, parameter, marked in [one for row in ROWS for one in named_in(row)]:
        assert not marked or f"tests/{file}" in said, f"{file}::{test} runs in no job"
        if file == "hooks/test_frameworks.py" and parameter:
            assert bool(marked) == (parameter not in always), parameter
            installed = {"absl": "absl-py", "hydra": "hydra-core"}.get(parameter, parameter.replace("_", "-"))
            assert not marked or f" {installed} " in f"{said} ", parameter
