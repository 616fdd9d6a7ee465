"""The tests' door: `pytest --explain` adds the diagnosis to the report of a failing test."""

from __future__ import annotations

import linecache
import sys
import time
import types
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--explain`, `--explain-fix FILE` and the setting `explain`."""
    group = parser.getgroup("explainer")
    group.addoption("--explain", action="store_true", help="explain PyTorch errors in the reports of failing tests")
    about = "write the patch of every checked fix to FILE, for `git apply` (implies --explain)"
    group.addoption("--explain-fix", metavar="FILE", help=about)
    parser.addini("explain", "explain PyTorch errors in the reports of failing tests", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Without the flag nothing more of this package is imported."""
    if config.getoption("--explain") or config.getoption("--explain-fix") or config.getini("explain"):
        config.pluginmanager.register(Reports(config), "explainer-reports")


#: Seconds that the searches for repairs of all failing tests may take, in work.
SEARCHES = 30.0


class Reports:
    """Adds a section to the reports of failed phases: setup, the test itself, teardown."""

    def __init__(self, config: pytest.Config):
        self.patches: dict[str, None] = {}
        self.file = config.getoption("--explain-fix")
        self.folder = config.invocation_params.dir
        self.worker = hasattr(config, "workerinput")
        self.left = SEARCHES

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo):
        """The report as pytest makes it, with the diagnosis under its traceback."""
        outcome = yield
        report = outcome.get_result()
        if report.failed and call.excinfo is not None:
            from explainer.hooks.section import section
            from explainer.probes.scene import SEARCH

            def then(explanation):
                from explainer.hooks import selected

                explanation = selected.confirmed(explanation, item)
                report.explainer_patch = selected.patch_of(explanation) if self.file else ""
                return explanation

            began = time.monotonic()
            text = section(*raised(call.excinfo.value), then, min(self.left, SEARCH))
            self.left = max(0.0, self.left - (time.monotonic() - began))
            if text:
                _add_section(report, text)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the patches, also those that xdist's workers found."""
        patch = getattr(report, "explainer_patch", "")
        if patch:
            self.patches[patch] = None

    def pytest_sessionfinish(self) -> None:
        """Write the patches, each once."""
        if self.file and not self.worker:
            path = self.folder / self.file
            try:
                path.write_bytes("".join(self.patches).encode())
            except OSError as error:
                raise pytest.UsageError(f"--explain-fix: {path} cannot be written: {error.strerror}") from None


def raised(error: BaseException) -> tuple[BaseException, types.TracebackType | None]:
    """The error that a test met and its traceback; of a doctest those of the example that raised."""
    doctest = sys.modules.get("doctest")
    for one in getattr(error, "failures", (error,)):
        if doctest is not None and isinstance(one, doctest.UnexpectedException):
            _remember(one.test)
            return one.exc_info[1], one.exc_info[2]
    return error, error.__traceback__


def _remember(test: Any) -> None:
    """Have the examples of a doctest found as source under the names that their frames have."""
    for number, example in enumerate(test.examples):
        lines = example.source.splitlines(keepends=True)
        linecache.cache[f"<doctest {test.name}[{number}]>"] = (len(example.source), None, lines, test.name)


def _add_section(report, text: str) -> None:
    if hasattr(report.longrepr, "addsection"):
        report.longrepr.addsection("explainer", text)
    else:
        report.sections.append(("explainer", text))
