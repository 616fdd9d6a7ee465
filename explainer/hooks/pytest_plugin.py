"""The tests' door: `pytest --explain` adds the diagnosis to the report of a failing test."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--explain`."""
    parser.getgroup("explainer").addoption(
        "--explain", action="store_true", help="explain PyTorch errors in the reports of failing tests"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Without the flag nothing more of this package is imported."""
    if config.getoption("--explain"):
        config.pluginmanager.register(Reports(), "explainer-reports")


class Reports:
    """Adds a section to the reports of failed phases: setup, the test itself, teardown."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo):
        """The report as pytest makes it, with the diagnosis under its traceback."""
        outcome = yield
        report = outcome.get_result()
        if report.failed and call.excinfo is not None:
            from explainer.hooks.section import section

            text = section(call.excinfo.value, call.excinfo.tb)
            if text:
                _add_section(report, text)


def _add_section(report, text: str) -> None:
    if hasattr(report.longrepr, "addsection"):
        report.longrepr.addsection("explainer", text)
    else:
        report.sections.append(("explainer", text))
