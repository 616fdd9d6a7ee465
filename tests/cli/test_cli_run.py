"""`explain run` is `python SCRIPT` but for the diagnosis: output, traceback, names, paths and exit status."""

from __future__ import annotations

import json
import re
import signal
import sys

import pytest
from commands import explain, python

PROGRAMS = {
    "ends well": "print('fine')",
    "an error": "def f():\n    return 1 / 0\n\nf()\n",
    "a chain": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('two') from e\n",
    "a syntax error": "x = (1,\nprint('never'\n",
    "exit status": "import sys\nsys.exit(7)",
    "exit with a sentence": "import sys\nsys.exit('sorry')",
    "exit inside an error": "import sys\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    sys.exit(3)\n",
    "names": (
        "import sys\nprint(sys.argv, __name__, __file__, __spec__, __package__, __cached__, sys.path[0])\n"
        "print(type(__loader__).__name__, sorted(globals()))\nprint(sys.modules['__main__'].__dict__ is globals())"
    ),
    "a hook of its own": (
        "import sys, traceback\n"
        "def hook(kind, error, tb):\n    traceback.print_exception(kind, error, tb)\n    sys.stderr.write('mine')\n"
        "sys.excepthook = hook\n1 / 0\n"
    ),
    "atexit": "import atexit\natexit.register(print, 'bye')\nraise ValueError('late')",
    "a thread": "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()\nprint('after')\n",
    "pickle and spawn": (
        "import multiprocessing as mp\ndef work(n):\n    return n + 1\n"
        "if __name__ == '__main__':\n    pool = mp.get_context('spawn').Pool(1)\n    print(pool.map(work, [1]))\n"
    ),
    "standard input": "print(input())",
    "own imports": "import helper\nprint(helper.__file__, helper.__name__)",
    "future": "from __future__ import annotations\ndef f(x: Nowhere): pass\nprint(f.__annotations__)",
    "unraisable": "class A:\n    def __del__(self):\n        1 / 0\nA()\nprint('on')",
    "stdout closed": "import sys\nsys.stdout.close()\nraise RuntimeError('x')",
}


def same(folder, *arguments, **more):
    """What both give, addresses left out."""
    return [
        (done.returncode, done.stdout, re.sub("0x[0-9a-f]+", "0x", done.stderr))
        for done in (python(*arguments, cwd=folder, **more), explain("run", *arguments, cwd=folder, **more))
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_it_does_under_python(name, tmp_path):
    (tmp_path / "main.py").write_text(PROGRAMS[name])
    (tmp_path / "helper.py").write_text("")
    bare, ours = same(tmp_path, "main.py", "--lr", "0.1", stdin="typed\n")
    assert ours == bare


def test_a_script_elsewhere_has_its_own_folder_first_on_the_path(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "main.py").write_text("import sys, os, beside\nprint(sys.path[0], sys.argv, os.getcwd(), __file__)\n1/0\n")
    (inner / "beside.py").write_text("")
    bare, ours = same(tmp_path, "inner/main.py")
    assert ours == bare
    assert "ZeroDivisionError" in bare[2]


def test_a_module_runs_as_under_python_m(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    text = "import sys\nfrom . import other\nprint(sys.argv, sys.path[0], __spec__.name)\n1/0\n"
    (package / "train.py").write_text(text)
    (package / "other.py").write_text("")
    bare, ours = same(tmp_path, "-m", "package.train", "-m", "x")
    assert ours == bare
    assert "ZeroDivisionError" in bare[2]


@pytest.mark.parametrize("module", ["nowhere_to_be_found", "package"])
def test_a_module_that_is_not_there_is_pythons_to_report(module, tmp_path):
    (tmp_path / "package").mkdir()
    bare, ours = same(tmp_path, "-m", module)
    assert ours == bare
    assert bare[0] == 1


def test_a_folder_with_a_main_runs(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("import sys\nprint(sys.argv, sys.path[0])\n1/0\n")
    bare, ours = same(tmp_path, "app", "x")
    assert ours == bare


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_kills_by_the_signal_as_without_us(tmp_path):
    text = "import os, signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    text += "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"
    (tmp_path / "main.py").write_text(text)
    bare, ours = same(tmp_path, "main.py")
    assert ours == bare
    assert bare[0] == -signal.SIGINT


CRASH = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 3)

    def forward(self, x):
        return self.fc(x)

print("start")
Net()(torch.randn(4, 12))
"""


def test_torchs_error_gets_a_diagnosis_under_the_same_traceback(tmp_path):
    """Never worse: standard error begins with what Python prints, then comes the diagnosis; the document is written."""
    pytest.importorskip("torch")
    (tmp_path / "main.py").write_text(CRASH)
    bare = python("main.py", cwd=tmp_path)
    ours = explain("run", "--no-check", "--json", "out.json", "main.py", cwd=tmp_path)
    assert (ours.returncode, ours.stdout) == (bare.returncode, bare.stdout)
    assert ours.stderr.startswith(bare.stderr)
    assert "error[" in ours.stderr[len(bare.stderr) :]
    report = json.loads((tmp_path / "out.json").read_text())["reports"][0]
    assert report["error"]["frames"][0]["file"] == "main.py"
    assert report["diagnoses"][0]["family"] == "shape"


def test_a_hook_that_the_program_puts_over_ours_does_not_silence_us(tmp_path):
    over = "import sys; sys.excepthook = sys.__excepthook__"
    (tmp_path / "main.py").write_text(CRASH.replace('print("start")', over))
    ours = explain("run", "--no-check", "main.py", cwd=tmp_path)
    assert ours.stderr.count("Traceback (most recent") == 1
    assert ours.stderr.count("\nerror[") == 1
    assert "explainer/cli" not in ours.stderr


def test_a_program_that_installs_us_itself_is_explained_once(tmp_path):
    (tmp_path / "main.py").write_text(CRASH.replace('print("start")', "import explainer; explainer.install()"))
    ours = explain("run", "--no-check", "--json", "out.json", "main.py", cwd=tmp_path)
    assert ours.stderr.count("\nerror[") == 1
    assert json.loads((tmp_path / "out.json").read_text())["reports"]


def test_the_document_of_a_program_that_ends_well_has_no_reports(tmp_path):
    """No report of an earlier run is left lying."""
    (tmp_path / "main.py").write_text("print('fine')")
    (tmp_path / "out.json").write_text("stale")
    assert explain("run", "--json", "out.json", "main.py", cwd=tmp_path).returncode == 0
    assert json.loads((tmp_path / "out.json").read_text()) == {"schema_version": 1, "reports": []}


def test_switched_off_it_is_python(tmp_path):
    (tmp_path / "main.py").write_text(CRASH)
    bare, ours = same(tmp_path, "main.py", EXPLAINER="0")
    assert ours == bare


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "needs a SCRIPT"),
        (["-m"], "needs a SCRIPT"),
        (["nowhere.py"], "no file nowhere.py"),
        (["empty"], "without a __main__.py"),
        (["-"], "standard input"),
        (["--jsn", "x", "main.py"], "--jsn"),
        (["--json", "no/such/out.json", "main.py"], "cannot be written"),
        (["--lang", "fr", "main.py"], "fr"),
        (["--rules", "nowhere", "main.py"], "nowhere"),
    ],
)
def test_wrong_usage_is_one_line_and_runs_nothing(arguments, said, tmp_path):
    (tmp_path / "main.py").write_text("print('ran')")
    (tmp_path / "empty").mkdir()
    done = explain("run", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
