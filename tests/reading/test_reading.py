"""Reading recorded tracebacks of many tools: the root's type, message and frames as the live exception had them."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import combinations
import pytest
from dressings import DRESSINGS

import explainer
from explainer.crash import Crash, crash_of
from explainer.reading import read_bytes, read_text

HERE = Path(__file__).parents[2] / "fixtures" / "tracebacks"
TRUTHS = [json.loads(line) for line in (HERE / "truth.jsonl").read_text().splitlines()]
#: One recording of each shape that the dressings are tried on.
DRESSED = (
    "python3.12-plain",
    "python3.8-three",
    "python3.10-several_lines",
    "torch-worker",
    "ipython8-context-nocolor-three",
    "ipython7-context-nocolor-plain",
    "pytest-auto-three",
    "rich-plain",
    "python3.12-group",
)
#: What no one can put together again.
LOST = {
    ("rich-plain", "cut at 80"),
    ("python3.12-group", "cut at 80"),
    ("python3.12-group", "cut at 100"),
    ("python3.12-group", "no indentation"),
    ("rich-plain", "test report"),
}


def sample(name: str) -> str:
    return (HERE / "samples" / f"{name}.txt").read_text(encoding="utf-8")


def root(text: str) -> Crash:
    """The one error of a text."""
    found = read_text(text)
    assert len(found) == 1, [one.raised.type for one in found]
    return crash_of(found[0], known=lambda raised: False)


def folded(text: str) -> str:
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", text).split())


def places(crash: Crash) -> list[tuple[str, int]]:
    return [(Path(one.file).name, one.line) for one in crash.frames]


def cell(file: str) -> str:
    """The name of a file; all names of a notebook's cells are the same."""
    return "cell" if "In [" in file or "In[" in file or "ipython-input" in file else Path(file).name


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth["name"])
def test_recorded_traceback_is_read_exactly(truth):
    """Protects every format: type, whole message and frames of the root are those of the live exception."""
    crash = root(sample(truth["name"]))
    assert crash.name == truth["type"].rsplit(".", 1)[-1]
    assert folded(crash.message) == folded(truth["message"])
    read = [(cell(one.file), one.line) for one in crash.frames]
    real = [(cell(file), line) for file, line, _ in truth["frames"]]
    if "graph_break" in truth["name"]:  # the lines that the message names come behind
        read = read[: read.index(real[-1]) + 1]
    if "minimal" in truth["name"]:
        assert not read
    elif "recursion" in truth["name"] or truth["name"].startswith("friendly"):
        assert read[-1] == real[-1] or len(real) > 900  # frames are folded or left out by the tool
    else:
        shared = min(len(read), len(real))
        assert shared
        assert read[-shared:] == real[-shared:]


@pytest.mark.parametrize("dressing", DRESSINGS)
def test_dressing_changes_nothing(dressing):
    """Protects the taking off of prefixes, quotes, escapes and wraps: the same error is read with and without."""
    for name in DRESSED:
        if (name, dressing) in LOST:
            continue
        plain, dressed = root(sample(name)), root(DRESSINGS[dressing](sample(name)))
        assert dressed.type == plain.type, name
        assert folded(dressed.message) == folded(plain.message), name
        assert places(dressed) == places(plain), name


def test_several_dressings_at_once_change_nothing():
    """Protects what comes together: a wrapped log in a quoted mail, a box of a chat around a rank's lines, ..."""
    assert not combinations.wrong(seed=5, count=2000)


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-le", b""),
        ("utf-16-be", b""),
        ("latin-1", b""),
        ("cp932", b""),
    ],
)
def test_encodings(encoding, mark):
    """Protects files that are not UTF-8."""
    text = sample("python3.8-plain").replace(
        "brewhouse", "学習データ" if encoding == "cp932" else "brauhaus é" * (encoding != "utf-8")
    )
    found = read_bytes(mark + text.encode(encoding))
    assert found[0].raised.type == "ValueError"
    assert len(found[0].raised.frames) == 7
    if encoding == "cp932":
        assert "学習データ" in found[0].raised.frames[-1].file


def test_notebook_outputs():
    """Protects .ipynb files: the error outputs of the cells, not the JSON around them, are read."""
    lines = sample("ipython9-context-linux-plain").split("\n")
    output = {"output_type": "error", "ename": "ValueError", "evalue": "x", "traceback": lines}
    book = {"cells": [{"cell_type": "code", "source": ["brew()"], "outputs": [output]}], "nbformat": 4}
    crash = root(json.dumps(book, indent=1))
    assert crash.type == "ValueError"
    assert crash.frames[-1].file.endswith("tanks.py")


def test_frames_of_the_user():
    """Protects the blame: library frames are not the user's, their own and the notebook's cells are."""
    crash = root(sample("torch-linear"))
    assert [one.user for one in crash.frames if "/torch/" in one.file] == [False] * 5
    assert crash.user_frame.function == "forward"
    assert crash.user_frame.file.endswith("brewery/nets.py")


def test_worker_error_counts():
    """Protects DataLoader workers: the worker's error is the root, its carrier stays whole in the chain."""
    found = read_text(sample("torch-worker"))[0]
    crash = crash_of(found, known=lambda raised: False)
    assert crash.runner == "dataloader-worker"
    assert crash.type == "IndexError"
    assert crash.chain[0].message.startswith("Caught IndexError in DataLoader worker process 0.")
    assert "_worker_loop" in crash.chain[0].message


def test_place_is_the_first_line_of_the_error():
    """Protects `place.line`: 1-based, in the lines of the input."""
    text = "one\ntwo\n" + sample("python3.8-plain")
    assert read_text(text, "log.txt")[0].place.line == 3
    assert read_text(text, "log.txt")[0].place.input == "log.txt"


def test_time_grows_with_the_length_only():
    """Protects against catastrophic patterns: lines made to make a careless pattern backtrack are read."""
    rng = random.Random(1)
    for piece in (
        'File "',
        "a.b.",
        "E   ",
        " " * 50,
        "0: ",
        "-",
        "Traceback (most recent call last",
        "\\n",
        "[0;",
        "│ ",
        "=" * 9,
        "in (",
    ):
        text = "\n".join(piece * rng.choice((10, 300, 3000)) for _ in range(20))
        assert isinstance(read_text(text), list)


def test_lines_of_the_machine_and_warnings_of_torch_stand_beside_an_error():
    killed = "[12.3] Out of memory: Killed process 77 (python) total-vm:9kB"
    warned = "/v/torch/nn/loss.py:5: UserWarning: Using a target size that is different to the input size"
    error = 'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n    f()\nRuntimeError: no'
    beside = lambda text: tuple(one.text("en") for one in read_text(text)[0].remarks)  # noqa: E731
    noted = [beside("\n".join(lines)) for lines in ((killed, warned, error), (error, "", killed))]
    assert noted == [(f"log, line 1: {killed}", f"log, line 2: {warned}"), (f"log, line 6: {killed}",)]
    far = "\n".join([warned, *["epoch 1"] * 100, error])
    assert read_text(far)[0].remarks == ()
    assert read_text(killed) == [] or read_text(killed)[0].remarks == ()
    listed = f"{error}\n\n$ pip list\nPackage  Version\n-------- -------\ntorch    2.3.0\ntorchvision 0.17.2\n"
    assert beside(listed) == ("log, line 9: torch 2.3.0, torchvision 0.17.2",)
    told = explainer.explain(listed, lang="ko").to_dict()["reports"][0]["remarks"]
    assert told == ["로그 9행: torch 2.3.0, torchvision 0.17.2"]


def test_what_torch_said_of_a_lost_worker_explains_its_loader():
    said = (
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."
    )
    begun = "Traceback (most recent call last):\n"
    lost = begun + "RuntimeError: DataLoader worker (pid(s) 7, 8) exited unexpectedly"
    other = begun + "IndexError: Target 10 is out of bounds."
    rule = lambda text: explainer.explain(text).reports[0].diagnoses[0].rule  # noqa: E731
    assert (rule(lost), rule(f"{said}\n{lost}")) == ("worker-exited", "worker-killed")
    assert rule(f"{said}\n{other}") == rule(other)


def test_what_cpp_logs_before_it_ends_a_process_is_an_error():
    log = "step 3\n[rank1]:[E ProcessGroupNCCL.cpp:10] [PG 0 Rank 1] Heartbeat monitor timed out!\nlibfrob: Warning: no"
    fatal = "\n[rank1]:[F424 01:17:25.958 ProcessGroupNCCL.cpp:11] [Rank 1] Watchdog got stuck."
    assert [one.raised.message for one in read_text(log)] == ["Heartbeat monitor timed out!"]
    assert [one.raised.message for one in read_text(log + fatal)] == ["Watchdog got stuck."]
    assert all(one.raised.message != "loaded" for one in read_text("[I loader.cpp:3] loaded"))


@pytest.mark.parametrize(
    "message",
    ["mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)", "expected a `Tensor` | got 'list': [1, 2]`",
     "size 10% of x[3m y", "a  b\\nc", "<built-in method> & more", "Caught KeyError: 'x'", "Error: nothing", "{'a': 1}",
     "[rank0]: RuntimeError: inner", "x: IndexError: inner", "ValueError('inner')", "ends with a blank ", "  begins"],
)  # fmt: skip
def test_one_plain_line_reads_as_it_does_on_the_long_way(message, monkeypatch):
    """Protects the short way for an exception's own line: it may take nothing for plain that is dressed."""
    for text in (f"RuntimeError: {message}", f"torch.OutOfMemoryError: {message}\n", f"> ValueError: {message}"):
        short = read_text(text)
        with monkeypatch.context() as patched:
            patched.setattr("explainer.reading.bare.plain", lambda _: None)
            assert read_text(text) == short
