"""Own files named like a module of Python's or torch: named live, where nothing imports well, and from a paste."""

from __future__ import annotations

import pytest
from commands import python

from explainer.api import explain_text
from explainer.probes import Options


@pytest.mark.parametrize(
    ("name", "taken"),
    [("torch", "AttributeError: module 'torch' has no attribute 'nn'"), ("random", "cannot import name 'Random' from"),
     ("types", "module 'types' has no attribute 'GenericAlias'")],
)  # fmt: skip
def test_the_file_is_named_live_and_from_the_printed_traceback(name, taken, tmp_path, monkeypatch):
    (tmp_path / f"{name}.py").write_text("mine = 1\n")
    uses = {"torch": "import torch\ntorch.nn\n", "random": "import tempfile\n", "types": "import ctypes\n"}[name]
    (tmp_path / "train.py").write_text("import explainer; explainer.install()\n" + uses)
    done = python("train.py", cwd=tmp_path)
    assert taken in done.stderr
    traceback, _, said = done.stderr.partition("error[")
    assert said.startswith("module-shadowed]: ")
    assert f"`{name}.py` is imported in the place of the module `{name}`" in " ".join(said.split())
    assert "failed (" not in done.stderr
    monkeypatch.chdir(tmp_path)
    (report,) = explain_text(traceback, options=Options()).reports
    assert report.diagnoses[0].rule == "module-shadowed"
    assert report.diagnoses[0].headline.startswith(f"`{name}.py`")


def test_a_typing_mistake_is_not_taken_for_a_shadow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("import random\nrandom.foo\n")
    text = f'Traceback (most recent call last):\n  File "{tmp_path}/a.py", line 2, in <module>\n    random.foo\n'
    found = explain_text(f"{text}AttributeError: module 'random' has no attribute 'foo'\n", options=Options())
    assert not found


def first_rule(text):
    (report,) = explain_text(text, options=Options()).reports
    return report.diagnoses[0].rule if report.diagnoses else None


def test_a_submodule_of_that_name_shadows_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "utils").mkdir()
    (tmp_path / "utils" / "time.py").write_text("mine = 1\n")
    (tmp_path / "utils" / "helpers.py").write_text("import time\ntime.clock()\n")
    (tmp_path / "train.py").write_text("from utils import helpers\n")
    text = (
        "Traceback (most recent call last):\n"
        f'  File "{tmp_path}/train.py", line 1, in <module>\n    from utils import helpers\n'
        f'  File "{tmp_path}/utils/helpers.py", line 2, in <module>\n    time.clock()\n'
        "AttributeError: module 'time' has no attribute 'clock'\n"
    )
    assert "module-shadowed" not in str(explain_text(text, options=Options()))
    (tmp_path / "time.py").write_text("mine = 1\n")
    assert first_rule(text) == "module-shadowed"


def test_a_package_installed_from_its_checkout_shadows_nothing():
    for folder, shadowed in (("/home/me/transformers/src", False), ("/home/me/proj", True)):
        text = (
            'Traceback (most recent call last):\n  File "/home/me/proj/train.py", line 1, in <module>\n'
            "    from transformers import Foo\n"
            f"ImportError: cannot import name 'Foo' from 'transformers' ({folder}/transformers/__init__.py)\n"
        )
        assert ("module-shadowed" in str(explain_text(text, options=Options()))) == shadowed
