"""`[tool.explainer]` in pyproject.toml: found from below, checked in one line, weaker than what is asked for."""

from __future__ import annotations

import sys

import pytest
from commands import explain, python

from explainer.configured import Configured, configured

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
TEXT = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)\n"


def project(folder, lines):
    (folder / "pyproject.toml").write_text("[tool.explainer]\n" + lines)


def test_the_nearest_table_counts(tmp_path):
    project(tmp_path, 'lang = "ko"\nrules = ["mine"]\nreplay = false\n')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert configured(below) == Configured("ko", False, False, (str(tmp_path / "mine"),), ())
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'inner'\n")
    assert configured(below).lang == "ko"
    (below / "pyproject.toml").write_text("[tool.explainer]\n")
    assert configured(below) == Configured()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('colour = "red"', "no key 'colour' (there are: lang"),
        ('lang = "fr"', "lang must be one of en"),
        ("full = 1", "full must be true or false"),
        ("rules = [1]", "rules must be a list of strings"),
        ("lang = ", "cannot be read"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_file(lines, said, tmp_path):
    project(tmp_path, lines)
    problem = configured(tmp_path).problem
    assert problem.startswith(str(tmp_path / "pyproject.toml"))
    assert said in problem
    assert "\n" not in problem


def test_commands_and_hooks_obey_it_and_what_is_asked_for_is_stronger(tmp_path):
    project(tmp_path, 'lang = "ko"\n')
    assert "행렬" in explain(stdin=TEXT, cwd=tmp_path).stdout
    assert "matrix" in explain("--lang", "en", stdin=TEXT, cwd=tmp_path).stdout
    (tmp_path / "main.py").write_text(f"import explainer; explainer.install()\nraise RuntimeError({TEXT[14:-1]!r})\n")
    assert "행렬" in python("main.py", cwd=tmp_path).stderr


def test_a_broken_table_stops_a_command_and_never_a_diagnosis(tmp_path):
    project(tmp_path, "colour = 1\n")
    done = explain(stdin=TEXT, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    (tmp_path / "main.py").write_text(f"import explainer; explainer.install()\nraise RuntimeError({TEXT[14:-1]!r})\n")
    said = " ".join(python("main.py", cwd=tmp_path).stderr.split())
    assert "error[matmul-shapes]" in said
    assert "has no key 'colour'" in said
