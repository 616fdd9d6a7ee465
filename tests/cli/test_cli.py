"""The command line: what is read, what is printed, exit statuses, one clear line for whatever is wrong."""

from __future__ import annotations

import gzip
import json
import lzma
import sys

import pytest
from commands import explain, run

from explainer.cli import COMMANDS, command_of

MESSAGE = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)\n"
LOG = f"""step 12 loss 0.3
Traceback (most recent call last):
  File "/home/me/net.py", line 18, in forward
    x = torch.relu(self.fc1(x))
{MESSAGE}"""
OTHER = """Traceback (most recent call last):
  File "/home/me/a.py", line 2, in <module>
    {}["a"]
KeyError: 'a'
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.log").write_text(LOG)
    (tmp_path / "other.log").write_text(OTHER)
    (tmp_path / "quiet.log").write_text("all is well\n" * 50)
    return tmp_path


def document(done) -> list[dict]:
    return json.loads(done.stdout)["reports"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ("files", [])),
        (["a.log"], ("files", ["a.log"])),
        (["run", "x.py"], ("run", ["x.py"])),
        (["--lang", "ko", "rule", "x"], ("rule", ["--lang", "ko", "x"])),
        (["./run"], ("files", ["./run"])),
        (["--format", "json", "run"], ("run", ["--format", "json"])),
        (["a.log", "run"], ("files", ["a.log", "run"])),
        (["-", "run"], ("files", ["-", "run"])),
        (["--format", "rule"], ("files", ["--format", "rule"])),
    ],
)
def test_the_first_word_that_is_no_option_may_be_a_command(given, expected):
    assert command_of(given) == expected


def test_a_paste_is_explained(folder):
    done = explain(stdin=LOG, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("error[matmul-shapes]")


def test_a_bare_message_is_enough(folder):
    assert explain(stdin=MESSAGE, cwd=folder).returncode == 0


def test_a_file_is_explained_and_named(folder):
    [report] = document(explain("--format", "json", "train.log", cwd=folder))
    assert report["source"] == {"input": "train.log", "line": 2}
    assert report["diagnoses"][0]["family"] == "shape"


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_packed_logs_are_unpacked(suffix, pack, tmp_path):
    (tmp_path / f"train.log{suffix}").write_bytes(pack(LOG.encode()))
    assert explain(f"train.log{suffix}", cwd=tmp_path).returncode == 0


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python has a module of its own")
def test_a_log_packed_with_zstd_is_unpacked_or_says_what_is_missing(tmp_path):
    """Protects `.zst`: read where a module for it can be imported, else one line says what to install."""
    (tmp_path / "zstandard.py").write_text("import gzip\nopen = gzip.open\n")
    (tmp_path / "train.log.zst").write_bytes(gzip.compress(LOG.encode()))
    assert explain("train.log.zst", cwd=tmp_path).returncode == 0
    (tmp_path / "zstandard.py").write_text("raise ImportError\n")
    done = explain("train.log.zst", cwd=tmp_path)
    assert "packed with zstd" in done.stderr or "cannot be unpacked" in done.stderr


def test_a_notebook_with_large_pictures_is_read_whole(tmp_path):
    """Protects notebooks that are larger than what is read whole of a log."""
    error = {"output_type": "error", "ename": "RuntimeError", "evalue": "", "traceback": LOG.splitlines()[1:]}
    picture = {"output_type": "display_data", "data": {"image/png": "iVBOR" * 1_000_000}, "metadata": {}}
    cell = {"cell_type": "code", "source": [], "metadata": {}, "outputs": [picture, error], "execution_count": 1}
    (tmp_path / "work.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))
    assert "matmul-shapes" in explain("work.ipynb", cwd=tmp_path).stdout


def test_a_notebooks_outputs_are_read(tmp_path):
    lines = LOG.splitlines()[1:]
    output = {"output_type": "error", "ename": "RuntimeError", "evalue": MESSAGE[14:-1], "traceback": lines}
    cell = {"cell_type": "code", "source": ["f()"], "metadata": {}, "outputs": [output], "execution_count": 1}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "work.ipynb").write_text(json.dumps(notebook))
    assert "matmul-shapes" in explain("work.ipynb", cwd=tmp_path).stdout


def test_several_inputs_have_the_highest_status(folder):
    done = explain("--format", "json", "train.log", "other.log", "quiet.log", cwd=folder)
    assert done.returncode == 1
    assert [report["source"]["input"] for report in document(done)] == ["train.log", "other.log"]
    assert "no PyTorch error found in quiet.log" in done.stderr


def test_one_missing_file_does_not_keep_the_others_from_being_explained(folder):
    done = explain("nowhere.log", "train.log", cwd=folder)
    assert done.returncode == 2
    assert "error[matmul-shapes]" in done.stdout
    assert "no file nowhere.log" in done.stderr


def test_a_folder_is_searched_for_logs(folder):
    (folder / "deep").mkdir()
    (folder / "deep" / "rank0.log").write_text(LOG)
    done = explain("--format", "json", ".", cwd=folder)
    names = [report["source"]["input"] for report in document(done)]
    assert names == ["./other.log", "./train.log", "./deep/rank0.log"]


def test_a_pattern_in_quotes_is_expanded(folder):
    assert explain("tr*.log", cwd=folder).returncode == 0


def test_a_dash_is_standard_input(folder):
    done = explain("--format", "json", "other.log", "-", stdin=LOG, cwd=folder)
    assert [report["source"]["input"] for report in document(done)] == ["other.log", None]


@pytest.mark.parametrize(
    ("arguments", "stdin", "status", "said"),
    [
        ([], "", 1, "nothing was pasted"),
        ([], "  \n\n", 1, "nothing was pasted"),
        (["quiet.log"], "", 1, "no PyTorch error found"),
        (["nowhere.log"], "", 2, "no file nowhere.log"),
        (["rnu", "x.py"], "", 2, "did you mean `explain run`"),
        (["nonsense"], "", 2, "no file and no command"),
        (["empty"], "", 2, "holds no logs"),
        (["*.nothing"], "", 2, "no file matches"),
        (["image.png"], "", 2, "is no text"),
        (["broken.gz"], "", 2, "cannot be unpacked"),
        (["--format", "yaml"], "", 2, "yaml"),
        (["--frmat", "json"], "", 2, "--frmat"),
        (["--lang", "fr"], "", 2, "fr"),
        (["--rules", "nowhere"], LOG, 2, "nowhere"),
        (["--rules", "train.log"], LOG, 2, "takes a folder"),
    ],
)
def test_whatever_is_wrong_is_one_line(arguments, stdin, status, said, folder):
    (folder / "empty").mkdir()
    (folder / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 8)
    (folder / "broken.gz").write_bytes(gzip.compress(LOG.encode())[:-20])
    done = explain(*arguments, stdin=stdin, cwd=folder)
    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (status, "")
    assert any(said in line for line in lines)
    assert len(lines) == (2 if "x.py" in arguments else 1)
    assert all(line.startswith("explain: ") for line in lines)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions")
def test_a_file_that_may_not_be_read_is_named(folder, monkeypatch, capsys):
    from explainer import cli

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("explainer.cli.inputs._opened", denied)
    monkeypatch.chdir(folder)
    assert cli.main(["train.log"]) == 2
    assert capsys.readouterr().err == "explain: train.log cannot be read: Permission denied\n"


def test_json_is_printed_also_where_nothing_is_known(folder):
    assert document(explain("--format", "json", "quiet.log", cwd=folder)) == []
    assert document(explain("--format", "json", stdin="", cwd=folder)) == []
    [report] = document(explain("--format", "json", "other.log", cwd=folder))
    assert report["diagnoses"] == []


def test_a_broken_rule_is_named_with_file_line_and_key(folder):
    pack = folder / "pack" / "symptoms"
    pack.mkdir(parents=True)
    (pack / "my-symptom.yaml").write_text("id: my-symptom\nfamily: shape\ncolour: red\n")
    done = explain("--rules", "pack", stdin=LOG, cwd=folder)
    assert done.returncode == 2
    assert "my-symptom.yaml" in done.stderr
    assert "colour" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["text", "json", "markdown", "html", "github", "sarif", "gcc", "plain"])
def test_every_format_prints_and_json_is_json(name, folder):
    done = explain("--format", name, "train.log", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "matmul" in done.stdout
    assert name not in ("json", "sarif") or json.loads(done.stdout)


def test_output_goes_to_a_file_without_colour(folder):
    done = explain("--output", "out.txt", "--color", "always", "train.log", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    text = (folder / "out.txt").read_text()
    assert "matmul" in text
    assert "\x1b" not in text
    refused = explain("--output", "no/such/out.txt", "train.log", cwd=folder)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "--output: no/such/out.txt cannot be written" in refused.stderr


def test_json_is_utf_8_whatever_the_terminal_speaks(folder):
    done = explain("--format", "json", "--lang", "zh", "train.log", cwd=folder, PYTHONIOENCODING="ascii")
    assert any("一" <= letter <= "鿿" for letter in document(done)[0]["diagnoses"][0]["headline"])


def test_a_narrow_terminal_gets_escapes_not_a_crash(folder):
    done = explain("--lang", "ko", "train.log", cwd=folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "\\u" in done.stdout


def test_reading_a_log_needs_no_torch_and_imports_none(folder):
    code = (
        "import sys\nsys.modules['torch'] = None\nfrom explainer.cli import main\n"
        "status = main(['--format', 'json', 'train.log'])\nassert 'numpy' not in sys.modules\nsys.exit(status)"
    )
    done = run(sys.executable, "-c", code, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_demo_without_torch_says_what_to_install(folder):
    code = (
        "import sys, importlib.util\nfind = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest)\n"
        "from explainer.cli import main\nsys.exit(main(['demo']))"
    )
    done = run(sys.executable, "-c", code, cwd=folder)
    assert done.returncode != 0
    assert "torch" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_reader_that_leaves_early_is_no_error(folder):
    command = f"{sys.executable} -m explainer train.log train.log train.log | head -c 1"
    done = run("bash", "-c", f"set -o pipefail; {command}", cwd=folder)
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_at_a_terminal_it_says_how_to_end_the_paste(folder, monkeypatch, capsys):
    import os
    import pty

    master, slave = pty.openpty()
    os.write(master, MESSAGE.encode() + b"\x04")
    with os.fdopen(slave, "r") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        from explainer.cli import inputs

        with inputs.opened("-") as pasted:
            assert pasted.read().decode() == MESSAGE
    os.close(master)
    assert "Ctrl-D" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_names_what_there_is(command, folder):
    done = explain(*command.split(), "-h", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"explain {command}".strip() in done.stdout
    assert command or all(name in done.stdout for name in COMMANDS)


def test_a_fault_of_ours_is_one_line(folder, monkeypatch, capsys):
    from explainer import cli

    def broken(*_):
        raise ZeroDivisionError("ours")

    monkeypatch.chdir(folder)
    monkeypatch.setattr("explainer.api.explain_found", broken)
    assert cli.main(["train.log"]) == 2
    assert capsys.readouterr().err == "explain: ZeroDivisionError: ours (EXPLAINER_DEBUG=1 shows where)\n"


def test_a_log_with_zeros_in_it_is_text(folder):
    """A full disk or a crash leaves runs of NUL bytes in a log; its traceback counts all the same."""
    (folder / "holes.log").write_bytes(b"\0" * 4096 + LOG.replace("Tra", "T\0ra").encode() + b"\0" * 4096)
    assert document(explain("--format", "json", "holes.log", cwd=folder))[0]["error"]["type"] == "RuntimeError"
