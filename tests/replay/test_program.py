"""The whole program again: in a copy, in a child that can change nothing, with edits and with a recording."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from explainer.replay.confine.copies import Copies  # noqa: E402
from explainer.replay.program import Program, Session, unavailable  # noqa: E402

NET = """
    import sys
    from torch import nn, optim
    import torch
    import sizes

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(sizes.WIDTH * 2, 3)

        def forward(self, x):
            return self.fc(x.flatten(1))

    net = Net()
    open("log.txt", "a").write("one more run\\n")
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        net(torch.ones(2, 3, 4)).sum().backward()
        optimizer.step()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("program")
    (path / "main.py").write_text(textwrap.dedent(NET))
    (path / "sizes.py").write_text("WIDTH = 5\n")
    (path / "log.txt").write_text("")
    return path


@pytest.fixture(scope="module")
def session(folder: Path) -> Iterator[Session]:
    program = Program("main.py", None, (), str(folder))
    if unavailable(program):
        pytest.skip(str(unavailable(program)))
    with Session(program) as made:
        yield made


def test_unedited_it_fails_as_the_program_did(session: Session) -> None:
    run = session.run({}, 20)
    assert run.error["type"] == "RuntimeError"
    assert "(2x12 and 10x3)" in run.error["message"]
    assert [frame[:1] + frame[2:] for frame in run.error["frames"]] == [["main.py", "<module>"], ["main.py", "forward"]]
    assert not run.ended


def test_edited_it_runs_to_the_end_and_counts_optimizer_steps(session: Session) -> None:
    run = session.run({"sizes.py": "WIDTH = 6\n"}, 20)
    assert run.ended
    assert run.steps == 3
    assert run.answer["input"] == [[2, 3, 4]]
    assert run.answer["ungraded"] == 0


def test_the_programs_own_files_stay_as_they_were(session: Session, folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    session.run({"sizes.py": "WIDTH = 6\n"}, 20)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_run_that_does_not_end_is_killed_at_its_deadline(session: Session) -> None:
    run = session.run({"sizes.py": "while True: pass\n"}, 1)
    assert run.failed
    assert not run.ended


def test_a_long_run_is_over_after_as_many_steps_as_it_was_asked_for(session: Session) -> None:
    """A training of hours would use up the time of all the other edits."""
    trial = session.begin({"sizes.py": "WIDTH = 6\n", "main.py": _endless()}, 30)
    trial.limit(4)
    run = trial.wait()
    assert (run.failed, run.answer["exit"], run.ended) == (None, None, False)
    assert run.steps >= 4


def _endless() -> str:
    return textwrap.dedent(NET).replace("range(3)", "iter(int, 1)")


def test_a_run_that_nobody_waits_for_any_more_is_ended(session: Session) -> None:
    trial = session.begin({"sizes.py": "while True: pass\n"}, 60)
    folder = trial._folder
    until = time.monotonic() + 20
    while not _at_work_in(folder):
        assert time.monotonic() < until
        time.sleep(0.05)
    trial.done()
    while _at_work_in(folder):
        assert time.monotonic() < until
        time.sleep(0.05)


def _at_work_in(folder: str) -> bool:
    """Whether a process has its working directory in a folder (which may be gone)."""
    links = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            links.append(os.readlink(process / "cwd"))
    return any(link.startswith(folder) for link in links)


def test_a_file_outside_of_the_copy_cannot_be_written(session: Session, tmp_path: Path) -> None:
    target = tmp_path / "outside.txt"
    run = session.run({"sizes.py": f"open({str(target)!r}, 'w').write('x')\n"}, 20)
    assert run.error["type"] == "PermissionError"
    assert not target.exists()


def test_attributes_of_files_outside_stay_also_behind_links_and_the_program_goes_on(tmp_path: Path) -> None:
    """Landlock knows neither modes nor times; a link in the copy leads to every large file."""
    program, key = tmp_path / "program", tmp_path / "key"
    program.mkdir()
    key.write_text("secret")
    key.chmod(0o600)
    (program / "data.bin").write_bytes(b"0" * (2 << 20))
    (program / "main.py").write_text(
        f"import os, shutil\nfrom pathlib import Path\nfor path in (Path({str(key)!r}), Path('data.bin')):\n"
        "    path.touch()\n    path.chmod(0o640)\n    os.utime(path, (1, 1))\n"
        "shutil.copy2('data.bin', 'mine.bin')\nopen('mine.bin', 'ab').write(b'1')\n"
    )
    before = _attributes(key, program / "data.bin")
    made = Program("main.py", None, (), str(program))
    if unavailable(made):
        pytest.skip(str(unavailable(made)))
    with Session(made) as session:
        run = session.run({}, 60)
    assert run.ended, run.error
    assert _attributes(key, program / "data.bin") == before


def _attributes(*paths: Path) -> list[tuple[int, ...]]:
    """What each file is and when anything about it was changed: its own times and the kernel's."""
    found = [path.stat() for path in paths]
    return [(one.st_mode, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for one in found]


def test_an_exit_status_is_no_success(session: Session) -> None:
    assert session.run({"sizes.py": "import sys; sys.exit(3)\n"}, 20).answer["exit"] == 3


def test_runs_go_on_together(session: Session) -> None:
    trials = [session.begin({"sizes.py": f"WIDTH = {width}\n"}, 20) for width in (6, 7)]
    assert [trial.wait().ended for trial in trials] == [True, False]


def test_a_module_runs_as_python_dash_m_would(folder: Path) -> None:
    (folder / "pack").mkdir()
    (folder / "pack" / "__init__.py").write_text("")
    (folder / "pack" / "train.py").write_text("import sys\nassert __name__ == '__main__' and sys.argv[1:] == ['7']\n")
    program = Program(None, "pack.train", ("7",), str(folder))
    if unavailable(program):
        pytest.skip(str(unavailable(program)))
    with Session(program) as session:
        assert session.run({}, 60).ended


def test_a_recording_leads_from_the_failure_to_the_literal(session: Session) -> None:
    recording = session.run({}, 20, record=True).answer["recording"]
    crash, flatten = recording["steps"][:2]
    assert (crash["function"], flatten["function"]) == ("linear", "flatten")
    assert flatten["before"] == [[[2, 3, 4], "float32"]]
    [tree] = recording["layers"][crash["layer"]]["numbers"]["in_features"]
    assert tree[:2] == ["op", "*"]
    assert tree[2] == ["lit", ["sizes.py", 1, 1, 8, 9], 5]
    assert tree[-1] == 10


def test_large_files_are_linked_and_texts_never_written_through_a_link(tmp_path: Path) -> None:
    program, scratch = tmp_path / "program", tmp_path / "scratch"
    program.mkdir()
    scratch.mkdir()
    (program / "data.bin").write_bytes(b"0" * (2 << 20))
    (program / "code.py").write_text("x = 1\n")
    copy = Copies(str(program), str(scratch)).make({"data.bin": "small", "code.py": "x = 2\n"})
    assert Path(copy, "code.py").read_text() == "x = 2\n"
    assert Path(copy, "data.bin").read_text() == "small"
    assert (program / "data.bin").stat().st_size == 2 << 20
    assert os.path.islink(os.path.join(Copies(str(program), str(scratch)).make({}), "data.bin"))


def test_a_path_that_leads_out_of_the_program_is_refused(tmp_path: Path) -> None:
    program, scratch = tmp_path / "program", tmp_path / "scratch"
    program.mkdir()
    scratch.mkdir()
    with pytest.raises(ValueError, match="outside"):
        Copies(str(program), str(scratch)).make({"../evil.py": "x"})


def test_a_run_whose_files_are_gone_before_it_begins_ends_no_other(
    session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial that nobody waits for loses its copy of the files, at times before the clean process has looked at it."""
    make = session._copies.make
    monkeypatch.setattr(session._copies, "make", lambda texts: os.path.join(make(texts), "gone"))
    assert not session.run({}, 20).ended
    monkeypatch.undo()
    assert session.run({}, 20).error["type"] == "RuntimeError"
