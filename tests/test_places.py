"""docs/places.md says of every place which test shows it: those tests are there."""

from __future__ import annotations

import re

from commands import ROOT

ROWS = [line for line in (ROOT / "docs" / "places.md").read_text("utf-8").splitlines() if line.startswith("| ")][1:]


def test_every_place_names_tests_that_exist():
    assert len(ROWS) > 60
    for row in ROWS:
        named = re.findall(r"`(test_\w+\.py)(?:::(test_\w+)(?:\[\w+\])?)?`", row.rpartition(" | ")[2])
        assert named, row
        for file, test in named:
            assert not test or f"def {test}(" in (ROOT / "tests" / file).read_text("utf-8"), f"{file}::{test}"
