"""IPython and notebooks: the magics, the diagnosis under a failed cell, `%debug` and the cell's failure untouched."""

from __future__ import annotations

import io
import os
import re
import sys
import time
from types import SimpleNamespace

import pytest
from commands import ROOT, environment, explain

import explainer

pytest.importorskip("IPython")
from IPython.core.interactiveshell import InteractiveShell

FAILS = 'raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)")'


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """A fresh shell, with its history in memory and our state in a folder of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("EXPLAINER", raising=False)
    before = sys.excepthook
    InteractiveShell.clear_instance()
    one = InteractiveShell.instance()
    one.history_manager.enabled = False
    yield one
    explainer.uninstall()
    explainer.unload_ipython_extension(one)
    InteractiveShell.clear_instance()
    sys.excepthook = before


def last_step(error):
    """The innermost step of an error's traceback."""
    step = error.__traceback__
    while step.tb_next:
        step = step.tb_next
    return step


def test_loading_the_extension_changes_nothing_until_it_is_used(shell, capsys):
    shell.run_line_magic("load_ext", "explainer")
    assert shell.run_cell(FAILS).error_in_exec is not None
    assert "error[" not in capsys.readouterr().out


def test_explain_explains_the_last_error(shell, capsys):
    shell.run_line_magic("load_ext", "explainer")
    shell.run_cell(FAILS)
    capsys.readouterr()
    shell.run_cell("%explain")
    assert "error[matmul-shapes]" in capsys.readouterr().out


def test_explain_without_an_error_says_so(shell, capsys, monkeypatch):
    monkeypatch.delattr(sys, "last_value", raising=False)
    shell.run_line_magic("load_ext", "explainer")
    shell.run_cell("%explain")
    assert "no error to explain yet" in capsys.readouterr().out


def test_explain_on_a_plain_python_error_shows_the_error_alone(shell, capsys):
    shell.run_line_magic("load_ext", "explainer")
    shell.run_cell("{}['a']")
    capsys.readouterr()
    shell.run_cell("%explain")
    said = capsys.readouterr().out
    assert "KeyError" in said
    assert "error[" not in said


def test_on_and_off(shell, capsys):
    shell.run_line_magic("load_ext", "explainer")
    shell.run_cell("%explain on")
    shell.run_cell(FAILS)
    assert capsys.readouterr().out.count("error[matmul-shapes]") == 1
    shell.run_cell("%explain off")
    shell.run_cell(FAILS)
    assert "error[" not in capsys.readouterr().out


def test_anything_else_after_explain_is_told_the_usage(shell, capsys):
    shell.run_line_magic("load_ext", "explainer")
    shell.run_cell("%explain everything")
    assert "%explain on" in capsys.readouterr().out


def test_a_cell_magic_explains_this_cell_only_and_keeps_line_numbers(shell, capsys):
    shell.run_line_magic("load_ext", "explainer")
    result = shell.run_cell(f"%%explain\nx = 1\n{FAILS}")
    said = capsys.readouterr().out
    assert result.error_in_exec is not None
    assert "error[matmul-shapes]" in said
    assert last_step(result.error_in_exec).tb_lineno == 3
    assert shell.user_ns["x"] == 1
    shell.run_cell(FAILS)
    assert "error[" not in capsys.readouterr().out


def test_a_cell_under_the_magic_is_an_ordinary_cell(shell):
    """Its last value is shown and it may await, as in any cell."""
    shell.run_line_magic("load_ext", "explainer")
    assert shell.run_cell("%%explain\n6 * 7").result == 42
    assert shell.run_cell("%%explain\nimport asyncio\nawait asyncio.sleep(0)").success


def test_install_inside_ipython_explains_every_failed_cell(shell, capsys):
    shell.run_cell("import explainer; explainer.install()")
    result = shell.run_cell(FAILS)
    said = capsys.readouterr().out
    assert said.index("Traceback") < said.index("error[matmul-shapes]")
    assert result.error_in_exec is not None
    assert not result.success
    shell.run_cell("explainer.uninstall()")
    shell.run_cell(FAILS)
    assert "error[" not in capsys.readouterr().out


def test_debug_finds_the_error_and_its_frames(shell, capsys):
    """Tools that replace `showtraceback` lose `sys.last_value` and break `%debug`."""
    shell.run_cell("import explainer; explainer.install()")
    shell.run_cell(f"def f(inside):\n    {FAILS}\nf(5)")
    assert str(sys.last_value).startswith("mat1 and mat2")
    assert last_step(sys.last_value).tb_frame.f_locals["inside"] == 5


@pytest.mark.parametrize("cell", ["raise KeyboardInterrupt", "1 / 0", "x = (", "import sys; sys.exit(1)"])
def test_what_is_not_torchs_looks_as_without_us(cell, shell, capsys):
    shell.run_cell(cell)
    bare = capsys.readouterr()
    shell.run_cell("import explainer; explainer.install()")
    shell.run_cell(cell)
    ours = capsys.readouterr()
    assert ours.err == bare.err
    assert ours.out.count("\n") == bare.out.count("\n")


def test_a_failing_stage_is_one_line(shell, capsys, monkeypatch):
    def broken(*_):
        raise SystemExit(3)

    monkeypatch.setattr("explainer.api.explain_error", broken)
    shell.run_cell("import explainer; explainer.install()")
    assert not shell.run_cell(FAILS).success
    assert capsys.readouterr().err == "explainer: the diagnosis failed (SystemExit); the error above is unchanged\n"


def test_a_notebook_gets_html_and_text(shell, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    shell.run_cell("import explainer; explainer.install()")
    shell.kernel = SimpleNamespace()
    shell.run_cell(FAILS)
    assert "matmul-shapes" in shown[0]["text/html"]
    assert "error[matmul-shapes]" in shown[0]["text/plain"]


def test_after_running_out_of_memory_it_says_what_the_notebook_keeps(shell, capsys):
    message = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.90 GiB total capacity)"
    shell.run_cell("import explainer; explainer.install()")
    shell.run_cell(f"raise RuntimeError({message!r})")
    assert "sys.last_value" in capsys.readouterr().out


def test_loading_twice_is_loading_once(shell, capsys):
    shell.run_line_magic("load_ext", "explainer")
    shell.run_line_magic("reload_ext", "explainer")
    shell.run_cell("import explainer; explainer.install(); explainer.install()")
    shell.run_cell(FAILS)
    assert capsys.readouterr().out.count("error[matmul-shapes]") == 1


def test_in_a_terminal(tmp_path):
    """The real `ipython`, reading its cells from standard input."""
    import subprocess

    cells = f"%load_ext explainer\n%explain on\n{FAILS}\n%explain\nprint('still', 'here')\n"
    command = [sys.executable, "-m", "IPython", "--colors=NoColor", "--no-banner", "--simple-prompt"]
    env = environment(IPYTHONDIR=str(tmp_path), XDG_STATE_HOME=str(tmp_path))
    done = subprocess.run(command, input=cells, text=True, capture_output=True, cwd=ROOT, env=env, timeout=90)
    assert done.stdout.count("error[matmul-shapes]") == 2
    assert "still here" in done.stdout


def test_the_display_may_fail_without_harm(shell, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    shell.run_cell("import explainer; explainer.install(lang='ko')")
    assert not shell.run_cell(FAILS).success


NET = """\
import torch
from torch import nn
net = nn.Linear(8, 2)
ids = torch.zeros(4, 6)
net(ids)"""


def test_places_are_named_as_the_notebook_names_its_cells(shell, capsys):
    shell.run_cell("import explainer; explainer.install(lang='en')", store_history=True)
    shell.run_cell(NET, store_history=True)
    said = capsys.readouterr().out
    assert "--> Cell In[2], line 5" in said
    assert f"ipython-input-{2}" not in said.partition("error[")[2]


def test_a_cells_error_is_searched_in_all_cells_before_it(shell, capsys):
    """What built the layer stands in an earlier cell, and one between them failed: the search edits the former."""
    shell.run_cell("import explainer; explainer.install(lang='en')", store_history=True)
    shell.run_cell("%precision 4\nimport torch\nfrom torch import nn\nwide = 6", store_history=True)
    shell.run_cell("net = nn.Sequential(nn.Conv2d(1, wide, 3), nn.ReLU(), nn.Conv2d(8, 2, 3))", store_history=True)
    shell.run_cell("no_such_name", store_history=True)
    capsys.readouterr()
    shell.run_cell("out = net(torch.rand(2, 1, 9, 9))\nout.sum().backward()", store_history=True)
    said = " ".join(capsys.readouterr().out.split())
    assert "checked: the statements that crashed run" in said
    assert re.search(r"Cell In\[[23]\], line [14] checked", said)


def test_the_fix_of_a_cell_becomes_the_next_cell(shell, capsys):
    asked = []
    shell.set_next_input = lambda text, replace: asked.append((text, replace))
    shell.run_cell("import explainer; explainer.install(lang='en')", store_history=True)
    shell.run_cell("%explain fix", store_history=True)
    assert "no fix" in capsys.readouterr().out
    shell.run_cell(NET, store_history=True)
    fix = capsys.readouterr().out
    assert "nn.Linear(6, 2)" in fix
    shell.run_cell("%explain fix", store_history=True)
    assert asked == [(NET.replace("nn.Linear(8, 2)", "nn.Linear(6, 2)"), False)]


def test_an_error_that_run_prints_is_explained_once(shell, capsys, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(NET)
    shell.run_cell("import explainer; explainer.install(lang='en')")
    shell.run_cell(f"%run {script}")
    assert capsys.readouterr().out.count("error[linear-input-size]") == 1
    shell.run_cell("x = 1")
    assert "error[" not in capsys.readouterr().out


def test_a_module_that_autoreload_has_loaded_anew_is_read_as_it_is_now(shell, capsys, tmp_path, monkeypatch):
    """Its functions are given other code in place; one that is edited without being loaded anew is not read."""
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a file written again within a second looks unchanged
    module, later = tmp_path / "its_layers.py", time.time() + 60
    module.write_text("import torch\ndef run(x):\n    return torch.nn.Linear(4, 2)(x)\n")
    shell.run_cell("import explainer; explainer.install(lang='en')\n%load_ext autoreload\n%autoreload 2")
    shell.run_cell("import torch, its_layers\nits_layers.run(torch.ones(3, 5))")
    assert "its_layers.py:3" in capsys.readouterr().out
    module.write_text("import torch\n\ndef run(x):\n    wide = x.repeat(1, 2)\n    return torch.nn.Linear(6, 2)(wide)")
    os.utime(module, (later, later))
    shell.run_cell("its_layers.run(torch.ones(3, 5))")
    told = capsys.readouterr().out
    assert "torch.nn.Linear(6, 2) expects 6 features per row" in told
    assert "its_layers.py:5" in told
    shell.run_cell("%autoreload 0")
    module.write_text("import torch\n# another line\n# and another\n")
    os.utime(module, (later + 60, later + 60))
    shell.run_cell("its_layers.run(torch.ones(3, 5))")
    told = capsys.readouterr().out
    assert "was changed" in told
    assert "# and another" not in told[told.index("error[") :]
    sys.modules.pop("its_layers", None)


def test_freeing_lets_go_of_the_errors_tensors_and_names_what_else_is_kept(shell, capsys):
    import weakref

    shell.run_cell("%load_ext explainer")
    shell.run_cell(
        "import torch\ndef f():\n    big = torch.zeros(1 << 20)\n    kept.append(weakref.ref(big))\n"
        "    raise ValueError\nimport weakref\nkept, mine = [], torch.zeros(1 << 19)\nf()"
    )
    kept = shell.user_ns["kept"][0]
    assert isinstance(kept, weakref.ref)
    assert kept() is not None
    capsys.readouterr()
    shell.run_cell("%explain --free")
    said = capsys.readouterr().out
    assert "held 4.0 MiB" in said
    assert "mine keeps 2.0 MiB" in said
    assert kept() is None


def test_what_an_object_or_a_displayed_result_keeps_is_named_with_what_lets_go_of_it(shell, capsys):
    """A result has several names of IPython's: deleting one of them frees nothing."""
    shell.run_cell("%load_ext explainer\nimport torch, weakref")
    shell.run_cell("class Run: ...\nrun = Run()\nrun.caches = {'a': [torch.zeros(1 << 18)]}", store_history=True)
    shell.run_cell("x = torch.zeros(1 << 19)\nref = weakref.ref(x)\nx", store_history=True)
    shell.run_cell("del x")
    capsys.readouterr()
    shell.run_cell("%explain --free")
    assert capsys.readouterr().out.splitlines()[1:] == [
        "Out[2] keeps 2.0 MiB (%xdel _2)",
        "run keeps 1.0 MiB (del run)",
    ]
    shell.run_cell("%xdel _2")
    assert shell.user_ns["ref"]() is None


def test_a_real_kernel_sends_the_page_and_the_next_cell(tmp_path):
    """What JupyterLab, Notebook, nbclient and VS Code get: the messages of a kernel in a process of its own.

    VS Code names its cells in each request; in silent ones it tells the notebook's file and asks for variables.
    """
    pytest.importorskip("ipykernel")
    manager = pytest.importorskip("jupyter_client.manager")
    env = environment(XDG_STATE_HOME=str(tmp_path), IPYTHONDIR=str(tmp_path), OMP_NUM_THREADS="1")
    kernel, client = manager.start_new_kernel(env=env, cwd=str(tmp_path))
    try:
        run(client, "__vsc_ipynb_file__ = '/home/me/n.ipynb'", silent=True)
        run(client, "import explainer; explainer.install(lang='en')")
        told = run(client, NET)
        assert [kind for kind, _ in told if kind in ("error", "display_data")] == ["error", "display_data"]
        shown = dict(told)["display_data"]["data"]
        assert "linear-input-size" in shown["text/html"]
        assert "Cell In[2], line 5" in shown["text/html"]
        assert "error[linear-input-size]" in shown["text/plain"]
        assert run(client, "_VSCODE_types = {name: type(one) for name, one in globals().items()}", silent=True)
        payload = run(client, "%explain fix")[-1][1]["payload"]
        assert payload[0]["text"] == NET.replace("nn.Linear(8, 2)", "nn.Linear(6, 2)")
        assert payload[0]["replace"] is False
        again = dict(run(client, NET))["display_data"]["data"]["text/html"]
        assert "Cell In[4], line 5" in again
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)


def run(client, cell, silent=False):
    """A cell's messages as (kind, content), the reply last; asked for as VS Code does."""
    content = {"code": cell, "silent": silent, "store_history": not silent, "user_expressions": {}, "allow_stdin": True}
    named = {"cellId": "vscode-notebook-cell:/home/me/n.ipynb#W1sZmlsZQ%3D%3D", "trusted": True, "recordTiming": True}
    request = client.session.msg("execute_request", {**content, "stop_on_error": False}, metadata=named)
    client.shell_channel.send(request)
    told = []
    while not told or told[-1] != ("status", {"execution_state": "idle"}):
        message = answer(client.get_iopub_msg, request)
        told.append((message["msg_type"], message["content"]))
    return [*told, ("reply", answer(client.get_shell_msg, request)["content"])]


def answer(receive, request):
    """The next message that answers a request."""
    while True:
        message = receive(timeout=60)
        if message["parent_header"].get("msg_id") == request["header"]["msg_id"]:
            return message


EXECUTES = """
import sys, nbclient, nbformat
cells = [nbformat.v4.new_code_cell(cell) for cell in sys.argv[1:]]
nbclient.NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=120, kernel_name="python3").execute()
"""


def executed(folder, *cells):
    """What a program under `explain run` says that has nbclient execute a notebook."""
    pytest.importorskip("nbclient")
    (folder / "execute.py").write_text(EXECUTES)
    done = explain("run", "execute.py", *cells, cwd=folder, IPYTHONDIR=str(folder), OMP_NUM_THREADS="1")
    assert done.returncode == 1
    return done.stderr


def test_a_notebook_that_a_program_executes_is_explained_from_its_text(tmp_path):
    said = executed(tmp_path, "import torch", "torch.nn.Linear(8, 2)(torch.rand(4, 6))")
    assert said.count("error[") == 1
    told = said[said.index("error[matmul-shapes]") :]
    assert "Cell In[2], line 1" in told
    assert "raises unless" not in told, "the program's own frames are not where it failed"


def test_a_kernel_that_dies_is_left_to_its_own_error(tmp_path):
    said = executed(tmp_path, "import explainer; explainer.install()", "import os; os.kill(os.getpid(), 9)")
    assert said.rstrip().endswith("DeadKernelError: Kernel died")
    assert said.count("Traceback (most recent call last)") == 1
    assert "explain" not in said[said.index("Traceback") :].replace(str(tmp_path), "")
