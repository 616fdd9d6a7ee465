"""Shows what tests measured (`record_property`) under the results, also when they pass."""

from __future__ import annotations


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
