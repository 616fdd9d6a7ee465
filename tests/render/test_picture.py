"""The README's picture: drawn from a report, nothing fetched from elsewhere."""

import re
import runpy
from pathlib import Path

from render_samples import shape

ROOT = Path(__file__).parents[2]


def test_the_picture_says_what_the_terminal_says_and_fetches_nothing():
    svg = runpy.run_path(str(ROOT / "scripts" / "picture.py"))["picture"](shape(), "train.py")
    assert "linear-input-size" in svg
    assert "explain run train.py" in svg.replace("&#160;", " ")
    assert not re.search(r"url\((?!#)|@import|href=", svg)


def test_the_picture_of_the_readme_shows_a_checked_fix():
    assert "checked:" in (ROOT / "docs" / "diagnosis.svg").read_text(encoding="utf-8")
