"""The demo's promises: every model breaks, from a folder of its own, and nothing of it stays behind."""

import contextlib
import io
import os
import re
import sys
from pathlib import Path

import pytest

from explainer.authoring.examples import can_check
from explainer.cli import demo, main

#: What each model's error says, so that a model that starts to break in another way is noticed.
SAYS = {
    "shape": "mat1 and mat2 shapes cannot be multiplied",
    "dtype": "must have the same dtype",
    "device": "expected device meta",
    "inplace": "modified by an inplace operation",
    "autograd": "does not have a grad_fn",
    "index": "index out of range in self",
    "view": "view size is not compatible",
    "nan": "returned nan values",
    "dataloader": "stack expects each tensor to be equal size",
    "checkpoint": "Unexpected key(s) in state_dict",
    "memory": "can't allocate memory",
}

#: The line that each model's first fix puts in, as a newcomer reads it.
FIXES = {
    "shape": "nn.Linear(16 * 8 * 8, 10)",
    "dtype": "torch.tensor(table, dtype=torch.float32)",
    "device": 'register_buffer("positions", torch.rand(words, width))',
    "inplace": "y = y + x",
    "autograd": "total = loss / 4",
    "index": "Sentences(len(words) + 1)",
    "view": "seen.transpose(1, 2).reshape(batch, words, width)",
    "nan": ".sum(dim=1).clamp(min=1e-12))",
    "dataloader": "collate_fn=collate_padded",
    "checkpoint": "key.removeprefix('module.')",
    "memory": "predictions.squeeze(-1) - prices",
}


def test_every_model_is_listed(capsys):
    files = {path.stem for path in demo.FOLDER.glob("*.py")} - {"__init__"}
    assert files == set(demo.NAMES) == set(SAYS)
    assert main(["demo", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(demo.NAMES)


def test_every_headline_of_a_model_fits_a_screen():
    assert all(len(f"== {name}: {demo.about(name)}") <= 80 for name in demo.NAMES)


@pytest.mark.parametrize("name", demo.NAMES)
def test_a_model_breaks_as_it_is_meant_to(name, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(demo.FOLDER)
    error, traceback = demo.broken(name)
    assert SAYS[name] in str(error)
    assert Path(traceback.tb_frame.f_code.co_filename).name == f"{name}.py"


def test_one_model_is_explained_and_no_file_stays(capsys, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = os.getcwd()
    assert main(["demo", "--lang", "en", "--no-replay", "shape"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("== shape: ")
    assert "--> shape.py:" in out
    assert os.getcwd() == before
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_name_is_one_line_with_the_known_ones(capsys):
    assert main(["demo", "shapes"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "'shapes'" in err
    assert "checkpoint" in err


def test_without_torch_one_line_says_how_to_install_it(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["demo"]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "pip install torch" in err


@pytest.fixture(scope="module")
def shown():
    """What the demo says of each model, shown one after the other."""
    pytest.importorskip("torch")
    if not can_check():
        pytest.skip("no sandbox here")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["demo", "--lang", "en", "--full"]) == 0
    _, *parts = re.split(r"^== (\w+): ", out.getvalue(), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("name", demo.NAMES)
def test_the_first_fix_of_a_model_is_the_one_meant_and_was_run(name, shown):
    fix = shown[name].split("\nfix ")[1]
    assert "checked: " in fix
    assert any(FIXES[name] in line for line in fix.splitlines() if line.strip().startswith("+ "))
