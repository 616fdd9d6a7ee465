"""What the tests of the search share: a program with one fault, the line to blame and the repair for it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from explainer.authoring.examples import Runner


def explained(runner: Runner, program: str, beside: Mapping[str, str] | None = None) -> Any:
    """The diagnosis of a program, tried again whole as `explain run` does, with the files `beside` it."""
    files = {name: textwrap.dedent(text).lstrip() for name, text in (beside or {}).items()}
    answer = runner.run(textwrap.dedent(program).lstrip(), files or None, "clean")
    return answer["document"]["reports"][0]["diagnoses"][0]


#: What is expected of a repair that runs beside others as likely: it is offered, and no other line is named.
OPEN = "one of several"


def assert_repaired(runner: Runner, program: str, line: str, repair: str, certainty: str = "checked") -> None:
    """The line that holds `line` is blamed, and the first fix puts `repair` there; it was run.

    It is a `suggestion` where it ran, and something else about it is in doubt (see `oracle`).
    """
    best = explained(runner, program)
    if certainty == OPEN:
        rows = textwrap.dedent(program).lstrip().splitlines()
        assert best["culprit"] is None or line in rows[best["culprit"]["line"] - 1], best["fixes"]
        assert any(repair in (edit["after"] or "") for fix in best["fixes"] for edit in fix["edits"]), best["fixes"]
        return
    assert line in textwrap.dedent(program).lstrip().splitlines()[best["culprit"]["line"] - 1], best["fixes"]
    first = best["fixes"][0]
    assert first["certainty"] == certainty
    assert first["source"]["kind"] in ("generator", "rule", "atom")
    assert any(repair in (edit["after"] or "") for edit in first["edits"])


def assert_never_offered(runner: Runner, program: str, repair: str) -> None:
    """No fix puts `repair` anywhere: it is for another fault with the same signs."""
    fixes = explained(runner, program)["fixes"]
    assert not any(repair in (edit["after"] or "") for fix in fixes for edit in fix["edits"])
