"""A fix of one failing test is tried on the other selected tests: right for one parameter, it may break the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any

from explainer.locale import word

#: How many tests are run with a fix in force, and after how many seconds a runaway is ended.
MOST, SECONDS = 40, 20.0
_OURS = "explainer-reports"


def confirmed(explanation: Any, item: Any) -> Any:
    """The explanation of a failing test, its checked fixes tried on the tests beside it.

    A fix under which another test fails, or fails in the same way as before, is no longer `checked`, and comes last.
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
    """Where tests fail: as they are (found out once), and with edits in force."""

    def __init__(self, tests: Sequence[Any]):
        self.tests = tests
        self._before: dict[str, str] | None = None

    def before(self) -> dict[str, str]:
        """By its id, where each test fails in the sandbox as it is, empty where it passes; nothing of those not run."""
        if self._before is None:
            self._before = self.under(()) or {}
        return self._before

    def under(self, edits: Sequence[Any]) -> dict[str, str] | None:
        """The same with these edits; None where that could not be tried."""
        from explainer import api

        found = api.run_edited(edits, partial(outcomes, self.tests), SECONDS)
        return None if found is None else dict(found)


def _tried(fix: Any, passing: _Passing, language: str) -> Any:
    """A checked fix with what the other tests said of it; any other fix as it is."""
    if fix.certainty != "checked" or not fix.edits:
        return fix
    tried, places, failing = passing.under(fix.edits), passing.before(), passing.tests[0].nodeid
    after = {name for name, place in (tried or {}).items() if not place}
    before = {name for name, place in places.items() if not place}
    if tried is None or not (after & (before | {failing})):
        return fix
    alike = {name for name, place in places.items() if place and place == places.get(failing) == tried.get(name)}
    broken = sorted((before - after - {failing}) | (alike if failing in after else set()))
    if broken:
        title = f"{fix.title} ({word('breaks_test', language, test=broken[0].rpartition('::')[2])})"
        return replace(fix, title=title, certainty="suggestion", checked=None)
    count = len(after & before - {failing})
    said = word("other_tests", language, count=count)
    return replace(fix, checked=f"{fix.checked}{said}") if count and failing in after else fix


def outcomes(tests: Sequence[Any], run: Callable[..., Any] | None = None) -> list[tuple[str, str]]:
    """In a sandboxed child: run tests from the start, without output; the id of each and where it failed, empty if not.

    The place is the innermost function of the user's own, with the error's type: lines move under an edit.
    """
    from _pytest.runner import runtestprotocol

    session, places = tests[0].session, _Places()
    for name in ("capturemanager", _OURS, "terminalreporter"):  # capture would read the files that the parent writes
        session.config.pluginmanager.unregister(name=name)
    session.config.pluginmanager.register(places)
    session._setupstate.teardown_exact(None)
    found = []
    for test in tests:
        if hasattr(test, "_initrequest"):
            test._initrequest()
        places.last = ""
        reports = (run or runtestprotocol)(test, log=False, nextitem=None)
        passed = all(report.passed for report in reports)
        found.append((test.nodeid, "" if passed else places.last or "?"))
    return found


class _Places:
    """A plugin that notes where a phase of a test failed."""

    last = ""

    def pytest_runtest_makereport(self, call: Any) -> None:
        if call.excinfo is not None:
            from explainer.userframes import is_user_file

            ran = [frame.f_code for frame, _ in walk_tb(call.excinfo.tb)]
            own = next((code for code in reversed(ran) if is_user_file(code.co_filename)), ran[-1])
            self.last = f"{own.co_filename}:{own.co_name}:{call.excinfo.typename}"
