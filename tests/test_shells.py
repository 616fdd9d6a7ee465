"""Where a shell runs us: completion in bash, and the example action of `docs/` as a runner would run it."""

from __future__ import annotations

import json
import shutil
import sys

import pytest
import yaml
from commands import ROOT, explain, run

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture
def shell(tmp_path):
    """A folder for a PATH, in which `explain` is this checkout's."""
    program = tmp_path / "bin" / "explain"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m explainer "$@"\n')
    program.chmod(0o755)
    return f"{program.parent}:/usr/bin:/bin"


def test_bash_completes_commands_options_and_rules(shell, tmp_path):
    script = explain("completion", "bash", cwd=tmp_path).stdout
    asks = ("explain ru", "explain run --no-c", "explain rule linear-input-s")
    for line in asks:
        words = " ".join(line.split())
        script += f'COMP_WORDS=({words}); COMP_CWORD={len(line.split()) - 1}; _explain; echo "${{COMPREPLY[@]}}"\n'
    done = run("bash", "-c", script, cwd=tmp_path, PATH=shell)
    assert done.stdout.splitlines() == ["run rules rule", "--no-check", "linear-input-size"]
    fish = explain("completion", "fish", cwd=tmp_path).stdout
    assert "-l no-check" in fish
    assert "-a doctor -d 'what works" in fish


def test_zsh_has_its_own_completion_ready_before_bash_s(tmp_path):
    script = explain("completion", "zsh", cwd=tmp_path).stdout
    assert script.index("compinit && compinit") < script.index("bashcompinit") < script.index("complete -o")


def test_the_example_action_ends_as_its_command_and_explains(shell, tmp_path):
    (step,) = yaml.safe_load((ROOT / "docs" / "action.yml").read_text())["runs"]["steps"]
    message = "mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)"
    (tmp_path / "train.py").write_text(f"raise RuntimeError('{message}')\n")
    summary = tmp_path / "summary.md"
    more = {"PATH": shell, "GITHUB_STEP_SUMMARY": str(summary), "EXPLAINED": f"{sys.executable} train.py"}
    done = run("bash", "-c", step["run"], cwd=tmp_path, **more)
    assert done.returncode == 1
    assert "::error file=train.py,line=1" in done.stdout
    assert summary.read_text().startswith("### error[matmul-shapes]")
    assert json.loads((tmp_path / "explain.sarif").read_text())["version"] == "2.1.0"
