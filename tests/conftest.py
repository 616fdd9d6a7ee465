"""Shows what tests measured (`record_property`) under the results, also when they pass; where trials can run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

# Tests start hundreds of interpreters: each would compile our modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Threads of torch's that wait for each other spin, on cores that other workers and children want.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


@pytest.fixture(scope="session")
def runner():
    """One process that runs the tests' programs, each in a fork: to start it takes longer than most of them."""
    from explainer.authoring.examples import Runner

    with Runner() as one:
        yield one


@pytest.fixture
def in_process(tmp_path: Path) -> Path:
    from explainer.replay.confine import sandbox

    if sandbox.unavailable():
        pytest.skip(str(sandbox.unavailable()))
    return tmp_path


@pytest.fixture(scope="module")
def clean_process() -> Iterator[None]:
    """One clean process for a file's tests, without what tests before them have imported, such as the compiler."""
    from explainer.replay import program

    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setattr(program, "_imported", lambda: {"torch", "numpy"})
        stack.enter_context(program.one_clean_process())
        patch.undo()
        yield


@pytest.fixture
def as_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean_process: None) -> Path:
    from explainer.replay.program import Program, unavailable

    if unavailable(Program("main.py", None, (), str(tmp_path))):
        pytest.skip("no sandbox that leaves a folder writable")
    monkeypatch.chdir(tmp_path)
    return tmp_path
