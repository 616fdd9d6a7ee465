"""The text that is shown and reasoned about is the text that ran: a file that was changed meanwhile is not read."""

from __future__ import annotations

import importlib.util
import sys

import pytest

import explainer
from explainer.live import changed_under

BEFORE = """\
import torch


def write(x):
    y = torch.sigmoid(x)
    y += 1
    return y


def run(x):
    write(x).sum().backward()
"""


@pytest.fixture
def loaded(tmp_path):
    """A module loaded from a file that is newer than this process, and its file."""
    file = tmp_path / "its_model.py"
    file.write_text(BEFORE)
    spec = importlib.util.spec_from_file_location("its_model", file)
    module = sys.modules["its_model"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module, file
    del sys.modules["its_model"]


def crash(module) -> BaseException:
    import torch

    with pytest.raises(RuntimeError) as caught:
        module.run(torch.randn(3, requires_grad=True))
    return caught.value


def told(error: BaseException):
    return explainer.explain(error, lang="en").reports[0]


def test_a_file_as_it_was_loaded_is_read_however_new_it_is(loaded):
    module, _ = loaded
    report = told(crash(module))
    assert any(frame.code == "write(x).sum().backward()" for frame in report.frames)
    assert report.diagnoses[0].culprit is not None
    assert not any("was changed" in remark for remark in report.remarks)


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace("import torch\n", "import torch\n\n# a line more\n"),
        BEFORE.replace("    y += 1\n", "    y = y + 1\n"),
        BEFORE.replace("y += 1", "y  +=  1"),
        "def half(",
    ],
    ids=["moved", "mended", "columns", "broken"],
)
def test_of_a_file_that_was_changed_meanwhile_nothing_is_claimed(loaded, after):
    module, file = loaded
    error = crash(module)
    file.write_text(after)
    report = told(error)
    own = [frame for frame in report.frames if frame.file.endswith("its_model.py")]
    assert own
    assert {frame.code for frame in own} == {""}
    assert report.diagnoses[0].culprit is None
    assert not report.diagnoses[0].fixes[0].edits
    assert any("its_model.py was changed after" in remark for remark in report.remarks)


def test_a_module_off_the_stack_that_was_changed_is_found_too(loaded, tmp_path):
    error = crash(loaded[0])
    other = tmp_path / "settings_of_it.py"
    other.write_text("def width():\n    return 3\n")
    spec = importlib.util.spec_from_file_location("settings_of_it", other)
    sys.modules["settings_of_it"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["settings_of_it"])
    try:
        assert changed_under(error) == set()
        other.write_text("def width():\n    return 4\n")
        assert changed_under(error) == {str(other)}
    finally:
        del sys.modules["settings_of_it"]
