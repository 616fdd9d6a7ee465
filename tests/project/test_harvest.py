"""The harvester: every everyday mistake of ours still fails, and a torch without its test inputs is tolerated."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="harvests an installed torch")


@pytest.fixture
def harvest(monkeypatch):
    import torch

    monkeypatch.syspath_prepend(str(SCRIPTS))
    torch.distributions.Distribution.set_default_validate_args(True)  # which torch.compile switches off for good
    yield importlib.import_module("harvest")
    for name in ("harvest", "snippets", "corrupt", "spoil", "apart"):
        sys.modules.pop(name, None)


#: Every call in a fork: of a worker that holds what hundreds of tests have left, that takes many times longer.
MISTAKES = """
import harvest
calls = [calls for name, calls in harvest.sources() if name.startswith("snippets")]
said = [told for source in calls for told in harvest.outcomes(source)]
print([code for code, error in said if error is None and "cuda" not in code])
"""


def _in_a_small_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=SCRIPTS, capture_output=True, text=True, check=False)


def test_mistakes_still_raise():
    done = _in_a_small_process("-c", MISTAKES)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stdout + done.stderr


def test_a_share_of_what_torch_says_is_answered(record_property):
    """The share of the catalogue's answers over calls that are always the same; a fall of it fails here."""
    done = _in_a_small_process("harvest.py", "--every", "20", "--fail-under", "96")
    assert done.returncode == 0, done.stdout + done.stderr
    record_property("harvest of every twentieth call", done.stdout.splitlines()[-1])


def test_a_call_that_ends_the_process_or_hangs_is_left_out_and_the_rest_goes_on(harvest):
    def calls():
        yield "raises", lambda: int("a")
        yield "crashes", lambda: os.kill(os.getpid(), signal.SIGSEGV)
        yield "hangs", lambda: time.sleep(60)
        yield "is accepted", lambda: print("nobody sees this")

    told = [(name, error and error.type) for name, error in harvest.outcomes(calls, seconds=1)]
    assert told == [("raises", "ValueError"), ("is accepted", None)]


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
    from corrupt import errors

    def fails(value):
        if value == 1.5:
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError(f"got {value}")

    assert [error.message for error in errors(iter([(fails, ([],), {})]))] == ["got None", "got a", "got -1"]
