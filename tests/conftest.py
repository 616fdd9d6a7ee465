"""Shows what tests measured (`record_property`) under the results, also when they pass; the runner of programs."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


@pytest.fixture(scope="module")
def runner():
    """One process that runs a module's programs, each in a fork."""
    from explainer.authoring.examples import Runner

    with Runner() as one:
        yield one
