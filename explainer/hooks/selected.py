"""A fix of one failing test is tried on the other selected tests: right for one parameter, it may break the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from explainer.locale import word

#: How many tests are run with a fix in force, and after how many seconds a runaway is ended.
MOST, SECONDS = 40, 20.0
_OURS = "explainer-reports"


def confirmed(explanation: Any, item: Any) -> Any:
    """The explanation of a failing test, its checked fixes tried on the tests beside it.

    A fix under which another test fails is no longer `checked`, and comes last.
    """
    reports = tuple(_of_a_test(_confirmed(report, beside(item))) for report in explanation.reports)
    return replace(explanation, reports=reports)


def _of_a_test(report: Any) -> Any:
    """Where nothing short of the whole program can tell, that is the test here."""
    told = [replace(one, untried="test") if one.untried == "whole" else one for one in report.diagnoses]
    return replace(report, diagnoses=tuple(told))


def beside(item: Any) -> list[Any]:
    """The failing test and others that were selected: those of its function first, then of its file, then the rest."""
    items = [one for one in item.session.items if one is not item]
    name = getattr(item, "originalname", None)
    items.sort(key=lambda one: (one.path != item.path, getattr(one, "originalname", None) != name))
    return [item, *items[: MOST - 1]]


def patch_of(explanation: Any) -> str:
    """The diff of the first checked fix; empty where there is none."""
    from explainer.render import patch

    found = [fix for report in explanation.reports for one in report.diagnoses for fix in one.fixes]
    checked = next((fix for fix in found if fix.certainty == "checked" and fix.edits), None)
    try:
        return patch.patch(Path(), [edit.to_dict() for edit in checked.edits]) if checked else ""
    except patch.PatchError:
        return ""


def _confirmed(report: Any, tests: Sequence[Any]) -> Any:
    if not report.diagnoses or len(tests) < 2:
        return report
    first, *others = report.diagnoses
    passing = _Passing(tests)
    fixes = [_tried(fix, passing, report.language) for fix in first.fixes]
    fixes.sort(key=lambda fix: fix.certainty != "checked")
    proved = first.certainty == "proved" and any(fix.certainty == "checked" for fix in first.fixes)
    shaken = proved and not (fixes and fixes[0].certainty == "checked")
    certainty = "likely" if shaken else first.certainty
    return replace(report, diagnoses=(replace(first, fixes=tuple(fixes), certainty=certainty), *others))


class _Passing:
    """Which tests pass: as they are (found out once), and with edits in force."""

    def __init__(self, tests: Sequence[Any]):
        self.tests = tests
        self._before: set[str] | None = None

    def before(self) -> set[str]:
        """Ids of the tests that pass in the sandbox as they are."""
        if self._before is None:
            self._before = self.under(()) or set()
        return self._before

    def under(self, edits: Sequence[Any]) -> set[str] | None:
        """Ids of those that pass with these edits; None where that could not be tried."""
        from explainer import api

        found = api.run_edited(edits, partial(outcomes, self.tests), SECONDS)
        return None if found is None else {name for name, passed in found if passed}


def _tried(fix: Any, passing: _Passing, language: str) -> Any:
    """A checked fix with what the other tests said of it; any other fix as it is."""
    if fix.certainty != "checked" or not fix.edits:
        return fix
    after, before = passing.under(fix.edits), passing.before()
    failing = passing.tests[0].nodeid
    if after is None or not (after & (before | {failing})):
        return fix
    broken = sorted(before - after - {failing})
    if broken:
        title = f"{fix.title} ({word('breaks_test', language, test=broken[0].rpartition('::')[2])})"
        return replace(fix, title=title, certainty="suggestion", checked=None)
    count = len(after & before - {failing})
    said = word("other_tests", language, count=count)
    return replace(fix, checked=f"{fix.checked}{said}") if count and failing in after else fix


def outcomes(tests: Sequence[Any], run: Callable[..., Any] | None = None) -> list[tuple[str, bool]]:
    """In a sandboxed child: run tests from the start, without output; (id, passed) of each."""
    from _pytest.runner import runtestprotocol

    session = tests[0].session
    for name in ("capturemanager", _OURS, "terminalreporter"):  # capture would read the files that the parent writes
        session.config.pluginmanager.unregister(name=name)
    session._setupstate.teardown_exact(None)
    found = []
    for test in tests:
        if hasattr(test, "_initrequest"):
            test._initrequest()
        reports = (run or runtestprotocol)(test, log=False, nextitem=None)
        found.append((test.nodeid, all(report.passed for report in reports)))
    return found
