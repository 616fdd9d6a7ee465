"""Where a shell runs us: completion in bash, fish and zsh, and the example action of `docs/` as a runner has it."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time

import pytest
import yaml
from commands import ROOT, environment, explain, run

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


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes_commands_options_and_rules(shell, tmp_path):
    (tmp_path / "explain.fish").write_text(explain("completion", "fish", cwd=tmp_path).stdout)
    asks = ("explain ru", "explain run --no-c", "explain rule linear-input-s")
    script = "source explain.fish\n" + "\n".join(f"complete -C '{line}'" for line in asks)
    done = run("fish", "--no-config", "-c", script, cwd=tmp_path, PATH=shell, HOME=str(tmp_path))
    words = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert words == ["rule", "rules", "run", "--no-check", "linear-input-size"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("explain run --no-c", "explain run --no-check"),
        ("explain rule linear-input-s", "explain rule linear-input-size"),
    ],
)
def test_zsh_completes_what_is_typed(shell, tmp_path, typed, shown):
    """In a terminal, where alone zsh completes."""
    import pty

    (tmp_path / "explain.zsh").write_text(explain("completion", "zsh", cwd=tmp_path).stdout)
    terminal, theirs = pty.openpty()
    home = {"HOME": str(tmp_path), "TERM": "dumb", "PATH": shell, "PS1": "ask> "}
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    zsh = subprocess.Popen(
        ["zsh", "-f", "-i"], cwd=tmp_path, env=environment(**home), start_new_session=True, **streams
    )
    try:
        until(terminal, "ask> ")
        os.write(terminal, b"source explain.zsh; print 're''ady'\n")
        until(terminal, "ready\r")
        until(terminal, "ask> ")
        os.write(terminal, f"{typed}\t".encode())
        assert shown in until(terminal, shown)
    finally:
        zsh.kill()
        zsh.wait()
        os.close(terminal), os.close(theirs)


def until(terminal, text, seconds=60):
    """What a terminal shows up to a text, or within the seconds."""
    shown, end = "", time.monotonic() + seconds
    while text not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 4096).decode("utf-8", "replace")
    return shown


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
