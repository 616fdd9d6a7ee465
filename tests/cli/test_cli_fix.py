"""`explain fix`: the patch of the last diagnosis, applied only after asking and only to the file it was made for."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from types import SimpleNamespace

import pytest
from commands import environment, explain

from explainer.cli.fix import chosen
from explainer.diagnosis import Diagnosis, Edit, Fix, Report
from explainer.hooks import last

NET = "import torch\n\nlayer = torch.nn.Linear(10, 3)  # größe\nlayer(torch.ones(4, 12))\n"
BEFORE, AFTER = NET.splitlines()[2], NET.splitlines()[2].replace("10", "12")


class Explained:
    """An explanation with one fix of these edits."""

    def __init__(self, *edits, certainty="checked"):
        fix = Fix("build the layer for 12", certainty, "layer(x) runs" if certainty == "checked" else None, edits)
        self.report = Report("RuntimeError", "m", diagnoses=(Diagnosis("r", "shape", "h", "c", fixes=(fix,)),))

    def to_dict(self):
        return {"schema_version": 1, "reports": [self.report.to_dict()]}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Keep a diagnosis as if a program in the test's folder had crashed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ".state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(NET)

    def keep(*edits, **more):
        last.keep(Explained(*edits, **more))

    return keep


EDIT = Edit("net.py", 3, 3, BEFORE, AFTER)


def test_the_patch_is_one_that_git_applies(kept, tmp_path):
    kept(EDIT)
    done = explain("fix", cwd=tmp_path)
    assert done.returncode == 0
    assert "checked: layer(x) runs" in done.stderr
    if shutil.which("git"):
        subprocess.run(["git", "apply", "-"], input=done.stdout.encode(), cwd=tmp_path, check=True)
        assert (tmp_path / "net.py").read_text() == NET.replace("10", "12")


def test_showing_changes_nothing(kept, tmp_path):
    kept(EDIT)
    explain("fix", "--diff", cwd=tmp_path)
    assert (tmp_path / "net.py").read_text() == NET


def test_apply_asks_and_without_a_terminal_refuses(kept, tmp_path):
    kept(EDIT)
    done = explain("fix", "--apply", stdin="y\n", cwd=tmp_path)
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert (tmp_path / "net.py").read_text() == NET


@pytest.mark.parametrize(("answer", "status", "changed"), [("y", 0, True), ("n", 1, False), ("", 1, False)])
def test_apply_does_what_is_answered(answer, status, changed, kept, tmp_path, monkeypatch):
    from explainer.cli import fix

    kept(EDIT)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True, readline=lambda: answer))
    assert fix.main(["--apply"]) == status
    assert ((tmp_path / "net.py").read_text() != NET) == changed


def test_applied_the_file_keeps_its_mode_and_line_ends(kept, tmp_path):
    (tmp_path / "net.py").write_bytes(NET.replace("\n", "\r\n").encode())
    (tmp_path / "net.py").chmod(0o755)
    kept(EDIT)
    assert explain("fix", "--apply", "--yes", cwd=tmp_path).returncode == 0
    assert (tmp_path / "net.py").read_bytes() == NET.replace("10", "12").replace("\n", "\r\n").encode()
    assert stat.S_IMODE((tmp_path / "net.py").stat().st_mode) == 0o755


def test_a_line_that_moved_is_found_again(kept, tmp_path):
    kept(EDIT)
    (tmp_path / "net.py").write_text(f"# new first line\n{NET}")
    assert explain("fix", "--apply", "--yes", cwd=tmp_path).returncode == 0
    assert (tmp_path / "net.py").read_text() == f"# new first line\n{NET.replace('10', '12')}"


@pytest.mark.parametrize(
    ("now", "edits"),
    [
        (NET.replace("10", "11"), [EDIT]),
        (f"# new\n{NET}{BEFORE}\n", [EDIT]),
        (f"# new\n{NET}", [EDIT, Edit("net.py", 1, 0, None, "# above")]),
    ],
    ids=["other", "twice", "insertion"],
)
def test_a_file_that_changed_since_is_left_alone(now, edits, kept, tmp_path):
    kept(*edits)
    (tmp_path / "net.py").write_text(now)
    done = explain("fix", "--apply", "--yes", cwd=tmp_path)
    assert done.returncode == 1
    assert "has changed since the diagnosis" in done.stderr
    assert (tmp_path / "net.py").read_text() == now


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_the_patch_of_a_file_with_carriage_returns_applies_too(kept, tmp_path):
    (tmp_path / "net.py").write_bytes(NET.replace("\n", "\r\n").encode())
    kept(EDIT)
    command = [sys.executable, "-m", "explainer", "fix"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, env=environment(XDG_STATE_HOME=str(tmp_path / ".state")), check=True
    )
    subprocess.run(["git", "apply", "-"], input=done.stdout, cwd=tmp_path, check=True)
    assert (tmp_path / "net.py").read_bytes() == NET.replace("10", "12").replace("\n", "\r\n").encode()


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([Edit("net.py", 2, 2, "", None)], NET.replace("\n\n", "\n")),
        ([Edit("net.py", 1, 0, None, "# first")], f"# first\n{NET}"),
        ([Edit("net.py", 5, 4, None, "# last")], f"{NET}# last\n"),
        ([Edit("net.py", 4, 4, NET.splitlines()[3], "a\nb"), Edit("net.py", 1, 1, "import torch", "")], None),
    ],
)
def test_deletions_insertions_and_several_edits(edits, expected, kept, tmp_path):
    kept(*edits)
    assert explain("fix", "--apply", "--yes", cwd=tmp_path).returncode == 0
    assert (tmp_path / "net.py").read_text() == (expected or f"\n\n{BEFORE}\na\nb\n")


def test_what_was_not_tried_is_said_to_be_so(kept, tmp_path):
    kept(EDIT, certainty="suggestion")
    assert "suggestion, not tried" in explain("fix", cwd=tmp_path).stderr


def test_a_checked_fix_goes_before_others():
    one, two = (Explained(EDIT, certainty=level).to_dict() for level in ("suggestion", "checked"))
    both = {"reports": one["reports"] + two["reports"]}
    assert chosen(both)["certainty"] == "checked"


@pytest.mark.parametrize("content", [None, "", "{}", '{"folder": 1, "document": {}}', "\x00"])
def test_without_a_diagnosis_it_says_so(content, tmp_path):
    if content is not None:
        (tmp_path / ".state" / "explainer").mkdir(parents=True)
        (tmp_path / ".state" / "explainer" / "last.json").write_text(content)
    done = explain("fix", cwd=tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


def test_a_diagnosis_without_an_edit_says_so(kept, tmp_path):
    kept()
    done = explain("fix", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no fix that edits a file" in done.stderr
