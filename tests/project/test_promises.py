"""Never worse: whatever fails in the project, the original traceback and exit status are as without it."""

from __future__ import annotations

import itertools
import sys

import pytest
from commands import python

ERROR = 'raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)")\n'
INSTALL = "import explainer; explainer.install()\n"
#: Every stage on the way to a diagnosis, as module and name.
STAGES = [
    ("explainer.hooks.showing", "show"),
    ("explainer.hooks.showing", "explain"),
    ("explainer.api", "explain_error"),
    ("explainer.api", "language"),
    ("explainer.live", "crash_from"),
    ("explainer.live", "frozen"),
    ("explainer.catalogue", "load"),
    ("explainer.catalogue.load.Catalogue", "match"),
    ("explainer.diagnose", "diagnose"),
    ("explainer.diagnose", "of_symptom"),
    ("explainer.diagnose", "held_rules"),
    ("explainer.remedies", "of_rule"),
    ("explainer.remedies", "of_search"),
    ("explainer.reporting", "report_on"),
    ("explainer.probes", "find"),
    ("explainer.render.terminal", "to_str"),
    ("explainer.render.theme", "wants_color"),
    ("explainer.hooks.last", "keep"),
]
BREAK = """\
import importlib, explainer
explainer.install()
def broken(*_, **__):
    raise {failure}
*modules, name = {target!r}.split(".")
try:
    owner = importlib.import_module(".".join(modules))
except ImportError:
    owner = getattr(importlib.import_module(".".join(modules[:-1])), modules[-1])
getattr(owner, name)
setattr(owner, name, broken)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all programs, so that what Python alone prints needs to be found out only once."""
    return tmp_path_factory.mktemp("programs")


_bare: dict[tuple, object] = {}


def crash(folder, prelude, error=ERROR, also="", **more):
    """The same program without and with us, as many lines before the error in both; `also` stands in both."""
    without = f"import sys{also}\n" * prelude.count("\n") + error
    key = (folder, without, *more.items())
    if key not in _bare:
        _bare[key] = _run(folder, without, **more)
    return _bare[key], _run(folder, prelude + error, **more)


def _run(folder, text, **more):
    (folder / "main.py").write_text(text)
    return python("main.py", cwd=folder, **more)


#: Each stage with one of these in turn: they are all caught at the same places.
FAILURES = ["ZeroDivisionError('ours')", "SystemExit(9)", "KeyboardInterrupt()"]


@pytest.mark.parametrize(("stage", "failure"), list(zip(STAGES, itertools.cycle(FAILURES))), ids=str)
def test_a_stage_that_fails_costs_a_line(stage, failure, folder):
    bare, ours = crash(folder, BREAK.format(failure=failure, target=".".join(stage)))
    assert (ours.returncode, ours.stdout) == (bare.returncode, bare.stdout) == (1, "")
    assert ours.stderr.startswith(bare.stderr)
    added = ours.stderr[len(bare.stderr) :]
    assert "Traceback" not in added
    assert "ours" not in added
    assert len([line for line in added.splitlines() if "explainer:" in line]) <= 2


@pytest.mark.parametrize("stage", ["explainer.diagnose.diagnose", "explainer.live.crash_from"])
def test_the_line_says_which_stage_failed_and_by_what(stage, folder):
    _, ours = crash(folder, BREAK.format(failure="ZeroDivisionError", target=stage))
    assert "explainer: the diagnosis failed (ZeroDivisionError)" in ours.stderr


def test_where_only_the_display_fails_the_headline_is_still_said(folder):
    _, ours = crash(folder, BREAK.format(failure="ZeroDivisionError", target="explainer.render.terminal.to_str"))
    assert "explainer: the display failed" in ours.stderr
    assert "error[" in ours.stderr


def test_where_keeping_the_diagnosis_fails_it_is_still_shown(folder):
    _, ours = crash(folder, BREAK.format(failure="OSError", target="explainer.hooks.last.keep"))
    assert "error[" in ours.stderr


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("raise KeyboardInterrupt", -2),
        ("raise SystemExit(4)", 4),
        ("raise SystemExit('bye')", 1),
        ("raise BrokenPipeError(32, 'Broken pipe')", 1),
        ("raise ValueError('no error of torch')", 1),
        ("class Odd(BaseException): pass\nraise Odd", 1),
        ("{}['a']", 1),
        ("raise GeneratorExit", 1),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_what_is_not_torchs_passes_as_without_us(error, status, folder):
    bare, ours = crash(folder, INSTALL, error)
    assert (ours.returncode, ours.stdout, ours.stderr) == (bare.returncode, bare.stdout, bare.stderr)
    assert ours.returncode == status


SPY = """\
class Spy:
    def __repr__(self):
        print("ASKED")
        raise SystemExit(0)
    __str__ = __format__ = __len__ = __bool__ = __eq__ = __iter__ = __getattr__ = __hash__ = __repr__
    shape = property(__repr__)
"""


def test_no_method_of_the_users_objects_runs(folder):
    """A `__repr__` that raises SystemExit ends other tools' programs without any traceback, and with status 0."""
    error = f"{SPY}def f(spy, many):\n    other = spy\n    {ERROR}f(Spy(), [Spy()])\n"
    bare, ours = crash(folder, INSTALL, error)
    assert ours.returncode == 1
    assert ours.stdout == ""
    assert ours.stderr.startswith(bare.stderr)
    assert "error[" in ours.stderr


def test_an_exception_whose_text_raises_is_left_alone(folder):
    error = "class Bad(RuntimeError):\n    def __str__(self): raise SystemExit(0)\nraise Bad('x')\n"
    bare, ours = crash(folder, INSTALL, error)
    assert (ours.returncode, ours.stderr) == (bare.returncode, bare.stderr)


@pytest.mark.parametrize("stream", ["None", "open('/dev/full', 'w')", "__import__('io').StringIO()"])
def test_a_standard_error_that_cannot_be_written_changes_nothing(stream, folder):
    also = f"; sys.stderr = {stream}"
    bare, ours = crash(folder, f"{INSTALL.strip()}; import sys{also}\n", also=also)
    assert (ours.returncode, ours.stdout) == (bare.returncode, bare.stdout)
    assert "explainer" not in ours.stderr


def test_a_narrow_encoding_is_written_in_escapes(folder):
    bare, ours = crash(folder, INSTALL, ERROR, PYTHONIOENCODING="ascii:strict", EXPLAINER_LANG="ko")
    assert ours.stderr.startswith(bare.stderr)
    assert "[matmul-shapes]: \\u" in ours.stderr


def test_installing_imports_nothing_heavy(tmp_path):
    """It costs nothing until something breaks; `threading` alone would take longer than all of ours."""
    (tmp_path / "main.py").write_text(
        "import sys, os, __future__; before = set(sys.modules); import explainer; explainer.install()\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    new = python("-S", "main.py", cwd=tmp_path).stdout.split()
    assert set(new) - {"atexit"} == {"explainer", "explainer.hooks", "explainer.hooks.process"}  # atexit is built in


def test_a_diagnosis_imports_only_what_it_is_made_of(tmp_path):
    """Each module is a millisecond or more after a crash: no sandbox without replay, no search, rich's cells alone."""
    pytest.importorskip("torch")
    (tmp_path / "main.py").write_text(
        "import sys, explainer\nexplainer.install(replay=False)\n"
        "after = sys.excepthook\n"
        "sys.excepthook = lambda *error: (after(*error), print(*sorted(sys.modules)))\n"
        "import torch\nlayer = torch.nn.Linear(4, 2)\nlayer(torch.ones(3, 5))\n"
    )
    ran = python("main.py", cwd=tmp_path)
    modules = set(ran.stdout.split())
    assert "error[linear-input-size]" in ran.stderr
    assert not modules & {
        "rich.text",
        "rich.console",
        "yaml",
        "explainer.replay.confine.sandbox",
        "explainer.replay.window",
    }
    assert not modules & {
        "explainer.edits.generators.driver",
        "explainer.edits.generators.relocate",
        "explainer.catalogue.schema",
    }
    assert not modules & {
        "explainer.probes.autograd.graph",
        "explainer.probes.checkpoint.loading",
        "explainer.probes.numerics.memory",
    }


def test_a_package_of_the_users_that_shadows_ours_costs_one_line(tmp_path):
    (tmp_path / "jinja2.py").write_text("raise ImportError('mine')")
    (tmp_path / "regex.py").write_text("raise ImportError('mine')")
    bare, ours = crash(tmp_path, INSTALL)
    assert ours.returncode == 1
    assert ours.stderr.startswith(bare.stderr)
    assert "Traceback" not in ours.stderr[len(bare.stderr) :]


def test_the_users_random_state_and_files_are_as_before(tmp_path):
    pytest.importorskip("torch")
    program = (
        "import atexit, os, random\nimport torch\nimport explainer; explainer.install()\n"
        "def state(): return random.getstate(), torch.get_rng_state().tolist(), torch.is_grad_enabled()\n"
        "before = state()\natexit.register(lambda: print(state() == before, sorted(os.listdir())))\n"
        "layer = torch.nn.Linear(10, 3)\nbefore = state()\nlayer(torch.randn(4, 12) if 0 else torch.ones(4, 12))\n"
    )
    (tmp_path / "main.py").write_text(program)
    done = python("main.py", cwd=tmp_path)
    assert "error[" in done.stderr
    assert done.stdout == "True ['.state', 'main.py']\n"
