"""docs/places.md says of every place which test shows it: those tests are there."""

from __future__ import annotations

import re

from commands import ROOT

ROWS = [line for line in (ROOT / "docs" / "places.md").read_text("utf-8").splitlines() if line.startswith("| ")][1:]


def test_every_place_names_tests_that_exist():
    assert len(ROWS) > 20
    for row in ROWS:
        names = re.findall(r"`(test_\w+\.py)`", row)
        assert names, row
        assert all((ROOT / "tests" / name).is_file() for name in names), row
