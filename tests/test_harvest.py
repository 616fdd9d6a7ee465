"""The harvester: every everyday mistake of ours still fails, and a torch without its test inputs is tolerated."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="harvests an installed torch")


@pytest.fixture
def harvest(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module("harvest")
    for name in ("harvest", "snippets", "corrupt", "spoil"):
        sys.modules.pop(name, None)


def test_everyday_mistakes_still_raise(harvest):
    accepted = [code for code, call in harvest.snippets() if harvest.raised(call) is None and "cuda" not in code]
    assert accepted == []


def test_a_torch_without_its_test_inputs_is_tolerated(harvest, capsys):
    assert harvest._database("common_nothing", "op_db") == []
    assert "is not to be had" in capsys.readouterr().err


def test_inputs_that_cannot_be_made_end_the_list_and_nothing_else(harvest):
    def inputs():
        yield 1
        raise RuntimeError("no such device")

    assert list(harvest._inputs(inputs)) == [1]


def test_numbers_do_not_make_a_template(harvest):
    from explainer.crash import Raised

    assert harvest._template(Raised("E", "size 5\n and 6")) == "E: size N and N"


def test_one_argument_is_spoiled_at_a_time(harvest):
    from spoil import spoiled

    made = [make() for make in spoiled((1, 2), {"dim": 0})]
    assert all(len(args) != 2 or 1 in args[:1] or 2 in args[1:] for args, _ in made)
    for wrong in ((("a", 2), {"dim": 0}), ((1, 2), {"dim": -100}), ((1,), {"dim": 0})):
        assert wrong in made


def test_what_kills_the_child_keeps_the_errors_before_it(harvest):
    import os
    import signal

    from corrupt import errors

    def fails(value):
        if value == 1.5:
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError(f"got {value}")

    assert [error.message for error in errors(iter([(fails, ([],), {})]))] == ["got None", "got a", "got -1"]
