"""Shows what tests measured (`record_property`) under the results, also when they pass; `--long` runs all tests.

Of the programs that the search is tested on, two of three are run with `--long` only: each takes several seconds.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run all programs that the search is tested on")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if "long" in item.keywords and not config.getoption("--long"):
            item.add_marker(pytest.mark.skip(reason="runs with --long"))


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
