"""The wheel: built and installed into a fresh environment it has its rules, compiled, and nothing of the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from commands import ROOT

pytestmark = pytest.mark.slow
MESSAGE = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built without the network: hatchling is one of the tests' own requirements."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("torch_explainer-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A fresh environment with the wheel; the libraries that it needs are borrowed from this one."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False)
    scripts = "Scripts" if os.name == "nt" else "bin"
    python = folder / scripts / ("python.exe" if os.name == "nt" else "python")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True, env={**os.environ, "PIP_CONSTRAINT": ""})
    where = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], **TEXT).stdout
    Path(where.strip(), "borrowed.pth").write_text(sysconfig.get_path("purelib"))

    def run(*arguments, stdin=""):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {"LANG": "C.UTF-8", "XDG_STATE_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
        command = [folder / scripts / "explain", *arguments]
        return subprocess.run(command, input=stdin, cwd=folder, env=environment, **TEXT)

    run.python = python
    return run


TEXT = {"capture_output": True, "text": True, "encoding": "utf-8", "timeout": 120}


def test_it_holds_every_rule_and_the_compiled_catalogue(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    rules = {path.relative_to(ROOT / "rules").as_posix() for path in (ROOT / "rules").rglob("*.yaml")}
    assert rules
    assert {f"explainer/_rules/{name}" for name in rules} <= names
    assert "explainer/_rules/catalogue.jsonl" in names


def test_it_holds_nothing_but_the_package(wheel):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"explainer"}


def test_it_needs_no_torch(wheel):
    """torch is the user's: it is an extra."""
    archive = zipfile.ZipFile(wheel)
    text = archive.read(next(name for name in archive.namelist() if name.endswith("METADATA"))).decode()
    needed = [line for line in text.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert needed
    assert not any("torch" in line for line in needed)


def test_installed_it_lists_every_rule_that_it_holds(installed, wheel):
    done = installed("rules")
    assert (done.returncode, done.stderr) == (0, "")
    held = {Path(name).stem for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".yaml")}
    assert held <= set(done.stdout.split())


def test_installed_it_explains_with_its_own_files(installed):
    done = installed("--format", "json", stdin=MESSAGE)
    assert json.loads(done.stdout)["reports"][0]["diagnoses"][0]["family"] == "shape"
    code = "import explainer.catalogue.sources as s; print(s.builtin())"
    where = subprocess.run([installed.python, "-c", code], cwd="/", **TEXT).stdout.strip()
    assert Path(where) == Path(where).resolve()
    assert str(installed.python.parent.parent) in where
    assert not done.stderr
