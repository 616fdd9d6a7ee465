"""A traceback names files: large ones are never parsed, none is opened that has no end or belongs to the kernel."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import explainer
from explainer import sized, source

CODE = "        return self.fc1(x)"
LAYER = "class Net(nn.Module):\n    def forward(self, x):\n        x = x.flatten(1)\n" + CODE + "\n"


def traceback(*places: tuple[str, int], rows: int = 4, code: str = CODE.strip()) -> str:
    """A traceback as Python prints it, with one frame for each (file, line)."""
    frames = "".join(f'  File "{file}", line {line}, in forward\n    {code}\n' for file, line in places)
    said = f"RuntimeError: mat1 and mat2 shapes cannot be multiplied ({rows}x576 and 400x120)\n"
    return f"Traceback (most recent call last):\n{frames}{said}"


class Watch:
    """The files that this process opened, and the characters of all texts that it parsed."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.parsed: list[int] = []
        self.on = True

    def __call__(self, event: str, arguments: tuple) -> None:
        if self.on and event == "open" and isinstance(arguments[0], str):
            self.opened.append(os.path.basename(arguments[0]))


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Watch]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(source, "_held", {})
    one, parse = Watch(), ast.parse

    def counted(text, *given, **named):
        one.parsed.append(len(text))
        return parse(text, *given, **named)

    monkeypatch.setattr(ast, "parse", counted)
    sys.addaudithook(one)
    yield one
    one.on = False


def shown(text: str) -> dict[int, str]:
    """The lines of source that the report on a text carries, by number."""
    (report,) = explainer.explain(text).reports
    return {line: code for (_, line), code in report.source.items()}


def test_a_large_file_is_not_parsed_and_its_lines_are_shown_all_the_same(watch, tmp_path):
    lines = (sized.PARSED // 8) * "x = 1234\n"
    (tmp_path / "net.py").write_text(lines + LAYER, encoding="utf-8")
    crash = lines.count("\n") + LAYER.count("\n")
    found = shown(traceback(("net.py", crash)))
    assert found == dict(zip(range(crash - 3, crash + 1), LAYER.splitlines(), strict=True))
    assert max(watch.parsed, default=0) < sized.PARSED // 10


def test_one_answer_parses_so_much_and_no_more_however_many_files_are_named(watch, tmp_path):
    text = "x = 1234\n" * (sized.PARSED // 10) + LAYER
    for number in range(12):
        (tmp_path / f"m{number}.py").write_text(text, encoding="utf-8")
    last = text.count("\n")
    explainer.explain("\n".join(traceback((f"m{n}.py", last), rows=n + 2) for n in range(12)))
    assert 0 < sum(watch.parsed) <= sized.TOGETHER + sized.PARSED // 10
    assert sum(held[2] for held in source._held.values()) <= sized.TOGETHER


def test_lines_of_a_large_file_are_found_from_its_bookmarks(tmp_path):
    text = "".join(f"line {number}\n" for number in range(1, 5002)) + "x" * 3 * sized.LONGEST + "\nlast\r\n\nend"
    (tmp_path / "a.py").write_text(text, encoding="utf-8", newline="")
    marks = sized.Bookmarks(str(tmp_path / "a.py"))
    numbers = (1, 2, 999, 1000, 1001, 1002, 5000, 5001)
    assert [marks.line(number) for number in numbers] == [f"line {number}" for number in numbers]
    assert marks.line(5002) == "x" * sized.LONGEST
    assert [marks.line(number) for number in (5003, 5004, 5005)] == ["last", "", "end"]
    assert [marks.line(number) for number in (0, -1, 5006, 6001, 10**30)] == [None] * 5
    assert sized.Bookmarks(str(tmp_path / "none.py")).line(1) is None


@pytest.mark.skipif(sys.platform == "win32", reason="pipes, devices and the kernel's files are elsewhere there")
def test_what_is_no_file_with_an_end_is_never_opened(watch, tmp_path):
    os.mkfifo("fifo.py")
    os.symlink("/dev/zero", "zero.py")
    os.symlink("loop2.py", "loop.py")
    os.symlink("loop.py", "loop2.py")
    os.mkdir("folder.py")
    os.symlink("/proc/self/maps", "maps.py")
    named = ["fifo.py", "zero.py", "loop.py", "folder.py", "maps.py", "/dev/zero", "a\0b.py", "a" * 9999 + ".py"]
    for file in named:
        assert [code.strip() for code in shown(traceback((file, 3))).values()] in ([CODE.strip()], [])
    assert not {"fifo.py", "zero.py", "loop.py", "loop2.py", "folder.py", "maps.py", "zero", "maps"} & {*watch.opened}
    os.chdir("/proc/self")
    explainer.explain(traceback(("maps", 3), ("mem", 3), ("pagemap", 3)))
    assert not {"maps", "mem", "pagemap"} & {*watch.opened}


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are elsewhere there")
def test_a_live_frame_of_a_pipe_does_not_read_from_it(watch, tmp_path):
    """`python <(generate)` and `python /dev/stdin` name a pipe as their file: its bytes are the program's."""
    os.mkfifo("program.py")
    code = compile("1 / 0", str(tmp_path / "program.py"), "exec")
    try:
        exec(code, {})
    except ZeroDivisionError as error:
        explainer.explain(error, replay=False)
    assert "program.py" not in watch.opened


@pytest.mark.parametrize(
    "text",
    ["x=" + "(" * 200_000 + ")" * 100_000, "x=" + "-" * 300_000 + "1", "x=1" + "+1" * 150_000, "x=a" + ".a" * 150_000,
     "if x: pass\n" + "elif x: pass\n" * 25_000, "\0" * 300_000, "\x0c\n\x1b[31m\n"],
    ids=["brackets", "signs", "sums", "attributes", "branches", "zeros", "controls"],
)  # fmt: skip
def test_source_that_nests_without_end_is_only_text(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(text + "\n", encoding="utf-8")
    (report,) = explainer.explain(traceback(("net.py", 1), code=text[:50])).reports
    assert report.diagnoses
    assert not [one for one in report.remarks if "failed" in one]
