"""`pytest --explain`: a section in the reports of failing tests, and nothing at all without the flag."""

from __future__ import annotations

import sys

import pytest
from commands import python

TESTS = """\
import pytest

def test_torch():
    raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)")

def test_python():
    assert {"a": 1} == {}

def test_fine():
    pass

@pytest.fixture
def broken():
    raise RuntimeError("Trying to backward through the graph a second time")

def test_setup(broken):
    pass

@pytest.mark.xfail
def test_expected():
    raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (1x2 and 3x4)")
"""


@pytest.fixture
def tests(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)

    def run(*arguments):
        return python("-m", "pytest", "-p", "no:cacheprovider", "--no-header", *arguments, cwd=tmp_path)

    return run


def test_failing_tests_get_a_section(tests):
    done = tests("--explain")
    assert done.returncode == 1
    assert done.stdout.count("--- explainer ---") == 2
    assert "error[matmul-shapes]" in done.stdout
    assert "2 failed, 1 passed, 1 xfailed, 1 error" in done.stdout
    assert done.stdout.index("test_it.py:4: RuntimeError") < done.stdout.index("error[matmul-shapes]")


INTERRUPTED = """
import os, signal

def test_torch():
    raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)")

def test_stopped():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    os.kill(os.getpid(), signal.SIGINT)

def test_never():
    pass
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a signal stands for Ctrl-C")
def test_an_interrupted_session_still_explains_what_had_failed_and_ends_as_pytest_does(tests, tmp_path):
    (tmp_path / "test_it.py").write_text(INTERRUPTED)
    done = tests("--explain", "--explain-fix", "fixes.patch")
    assert done.returncode == 2
    assert done.stdout.count("error[matmul-shapes]") == 1
    assert "!!! KeyboardInterrupt !!!" in done.stdout
    assert "1 failed" in done.stdout.splitlines()[-1]
    assert "INTERNALERROR" not in done.stdout + done.stderr


def test_without_the_flag_the_output_is_as_without_us(tests):
    def lines(done):
        return [line for line in done.stdout.splitlines() if " error in " not in line]

    assert lines(tests()) == lines(tests("-p", "no:explainer"))


def test_without_the_flag_nothing_of_ours_is_imported(tests, tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import sys\ndef pytest_unconfigure():\n    print([m for m in sys.modules if m.startswith('explainer')])\n"
    )
    said = tests("-s").stdout
    assert "['explainer', 'explainer.hooks', 'explainer.hooks.pytest_plugin']" in said


def test_a_failing_stage_is_one_line(tests, tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import explainer.api\ndef broken(*_): raise SystemExit(0)\nexplainer.api.explain_error = broken\n"
    )
    done = tests("--explain", "-k", "torch")
    assert done.returncode == 1
    assert "explainer: the diagnosis failed (SystemExit)" in done.stdout


MODEL = """\
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.fc = nn.Linear({size}, 10)

    def forward(self, x):
        return self.fc(x.reshape(x.shape[0], self.width))
"""
HEADS = """\
import pytest, torch
from model import Head

@pytest.mark.parametrize("width", [{widths}])
def test_head(width):
    assert Head(width)(torch.randn(4, width)).shape == (4, 10)

def test_beside():
    pass
"""


def heads(folder, size, widths):
    (folder / "model.py").write_text(MODEL.format(size=size))
    (folder / "test_it.py").write_text(HEADS.format(widths=widths))


def test_a_fix_that_breaks_another_selected_test_is_not_checked(tests, tmp_path):
    """A constant that is right for one parameter stands where a name should."""
    heads(tmp_path, 32, "32, 48")
    said = tests("--explain", "--explain-fix", "fixes.patch").stdout
    assert "error[linear-input-size]" in said
    assert "checked:" not in said.partition("explainer ---")[2]
    assert "test_head[32] fails with it" in " ".join(said.split())
    assert (tmp_path / "fixes.patch").read_text() == ""


def test_a_fix_that_helps_one_of_several_tests_that_fail_alike_is_not_checked(tests, tmp_path):
    """For each parameter another constant would do, and for none of the others."""
    heads(tmp_path, 30, "32, 48")
    said = " ".join(tests("--explain").stdout.split())
    assert said.count("error[linear-input-size]") == 2
    assert "checked:" not in said.partition("explainer ---")[2]
    assert "test_head[48] fails with it" in said
    assert "test_head[32] fails with it" in said


@pytest.mark.parametrize("more", [[], ["-n", "1"]], ids=["alone", "workers"])
def test_a_fix_that_leaves_the_others_alone_is_checked_and_collected(more, tests, tmp_path):
    """Also in the workers of xdist, whose reports travel."""
    if more:
        pytest.importorskip("xdist")
    heads(tmp_path, 30, "32")
    said = tests("--explain-fix", "fixes.patch", *more).stdout
    assert "and other selected tests that passed still do (1)" in " ".join(said.split())
    patch = (tmp_path / "fixes.patch").read_text()
    assert "+        self.fc = nn.Linear(32, 10)" in patch
    assert "2 passed" not in said


OTHERS = """\
import unittest

class Shapes(unittest.TestCase):
    def test_it(self):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (1x2 and 3x4)")

def documented():
    '''
    >>> one = 1
    >>> raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (5x6 and 7x8)")
    '''
"""


def test_the_setting_switches_it_on_for_unittest_and_doctest_too(tests, tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nexplain = true\naddopts = --doctest-modules\n")
    (tmp_path / "test_others.py").write_text(OTHERS)
    said = tests().stdout
    assert said.count("--- explainer ---") == 4
    assert "--> test_others.py:5, in Shapes.test_it" in said
    assert "--> <doctest test_others.documented[1]>:1" in said
    assert "1 | raise RuntimeError(" in said


def test_a_patch_that_cannot_be_written_is_one_line(tests):
    done = tests("--explain-fix", "no/such/folder/fixes.patch", "-k", "fine")
    assert "--explain-fix: " in done.stderr + done.stdout
    assert "INTERNALERROR" not in done.stderr + done.stdout
