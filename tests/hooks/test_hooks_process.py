"""`install()` and `uninstall()`: chaining, idempotence, threads, children, re-entrancy, frames let go of."""

from __future__ import annotations

import gc
import io
import sys
import threading
import weakref

import pytest
from commands import python

import explainer
from explainer.hooks import process

MESSAGE = "mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)"


@pytest.fixture(autouse=True)
def untouched(monkeypatch, tmp_path):
    """Each test starts with the interpreter's hooks (pytest has its own for threads) and ends with those it found."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("EXPLAINER", raising=False)
    before = sys.excepthook, threading.excepthook
    sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__
    yield
    explainer.uninstall()
    sys.excepthook, threading.excepthook = before


def crash(hook, text=MESSAGE):
    """Call a hook as the interpreter does."""
    try:
        raise RuntimeError(text)
    except RuntimeError as error:
        hook(type(error), error, error.__traceback__)


def test_the_previous_hook_runs_first_and_once(monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(sys, "excepthook", lambda *given: calls.append(capsys.readouterr().err))
    explainer.install()
    crash(sys.excepthook)
    assert calls == [""]
    assert "error[" in capsys.readouterr().err


def test_what_the_previous_hook_raises_is_not_ours_to_stop(monkeypatch):
    def hook(*_):
        raise SystemExit(5)

    monkeypatch.setattr(sys, "excepthook", hook)
    explainer.install()
    with pytest.raises(SystemExit):
        crash(sys.excepthook)


def test_install_twice_is_one_install(capsys):
    before = sys.excepthook
    explainer.install()
    explainer.install(lang="ko")
    crash(sys.excepthook)
    assert capsys.readouterr().err.count("[matmul-shapes]") == 1
    assert process.settings.lang == "ko"
    explainer.uninstall()
    assert sys.excepthook is before


def test_uninstall_restores_the_hooks_and_may_come_twice():
    before = sys.excepthook, threading.excepthook, sys.exit
    explainer.install()
    ours = sys.excepthook, threading.excepthook, sys.exit
    assert not any(now is was for now, was in zip(ours, before, strict=True))
    explainer.uninstall()
    explainer.uninstall()
    assert (sys.excepthook, threading.excepthook, sys.exit) == before


def test_an_exit_keeps_its_status_and_what_no_user_s_line_raised_is_not_looked_at(monkeypatch):
    """As argparse does with a wrong option: its own error, its own exit."""
    import argparse

    explained = []
    monkeypatch.setitem(sys.modules, "torch", sys.modules.get("torch") or type(sys)("torch"))
    monkeypatch.setattr(process, "explain_once", lambda *given: explained.append(given))
    explainer.install()
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    with pytest.raises(SystemExit) as end:
        parser.parse_args(["--rate", "fast"])
    assert end.value.code == 2
    for status in ((), (0,), ("why",)):
        with pytest.raises(SystemExit) as end:
            sys.exit(*status)
        assert (end.value.code,) == (status or (None,))
    assert explained == []


def test_a_hook_put_over_ours_stays_when_we_leave(capsys):
    explainer.install()
    ours = sys.excepthook

    def over(*given):
        ours(*given)

    sys.excepthook = over
    explainer.uninstall()
    assert sys.excepthook is over
    crash(sys.excepthook)
    assert "error[" not in capsys.readouterr().err


def test_installed_again_over_a_hook_that_calls_ours_it_explains_once(capsys):
    explainer.install()
    ours = sys.excepthook
    sys.excepthook = lambda *given: ours(*given)
    explainer.install()
    crash(sys.excepthook)
    said = capsys.readouterr().err
    assert said.count("Traceback (most recent call last)") == 1
    assert said.count("\nerror[") == 1


def test_an_environment_that_says_no_is_obeyed(monkeypatch, capsys):
    monkeypatch.setenv("EXPLAINER", "0")
    before = sys.excepthook
    explainer.install()
    assert sys.excepthook is before
    monkeypatch.delenv("EXPLAINER")
    explainer.install()
    monkeypatch.setenv("EXPLAINER", "0")
    crash(sys.excepthook)
    assert "error[" not in capsys.readouterr().err


@pytest.mark.parametrize(("value", "allowed"), [("0", False), ("1", True)])
def test_replay_is_switched_off_by_the_environment(value, allowed, monkeypatch):
    from explainer import api

    seen = []
    monkeypatch.setenv("EXPLAINER_REPLAY", value)
    nothing = api.Explanation()
    monkeypatch.setattr(api, "explain_error", lambda error, tb, options, packs: seen.append(options) or nothing)
    explainer.install()
    crash(sys.excepthook)
    assert [options.replay for options in seen] == [allowed]


def test_a_thread_that_ends_by_an_error_is_explained(capsys):
    explainer.install()
    thread = threading.Thread(target=lambda: crash_in_thread(), name="loader")
    thread.start()
    thread.join()
    said = capsys.readouterr().err
    assert said.index("Exception in thread loader") < said.index("error[")


def crash_in_thread():
    raise RuntimeError(MESSAGE)


def test_threads_are_hooked_also_where_threading_is_imported_after_us(tmp_path):
    (tmp_path / "main.py").write_text(
        "import sys, explainer\nexplainer.install()\nassert 'threading' not in sys.modules\nimport threading\n"
        f"def work(): raise RuntimeError({MESSAGE!r})\n"
        "t = threading.Thread(target=work); t.start(); t.join()\nexplainer.uninstall()\n"
        "import _thread\nprint(threading.excepthook is threading.__excepthook__ is _thread._excepthook)\n"
        "print(type(threading.excepthook).__name__)\n"
    )
    done = python("-S", "main.py", cwd=tmp_path, PYTHONPATH=":".join(sys.path))
    assert done.stderr.count("\nerror[") == 1
    assert done.stdout.split() == ["True", "builtin_function_or_method"]


def test_the_same_mistake_in_several_threads_is_one_report_and_another_one_is_told_whole(capsys):
    explainer.install()
    threads = [threading.Thread(target=crash_in_thread) for _ in range(4)]
    threads.append(threading.Thread(target=lambda: crash_in_thread()))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = capsys.readouterr().err
    assert said.count("\nerror[") == 2
    assert said.count("failed in the same way as Thread-") == 3


def test_an_error_that_one_hook_told_is_not_told_again_by_the_next(capsys):
    """loguru's `catch(reraise=True)`: its sink explains the error, then it ends the program."""
    from types import SimpleNamespace

    from explainer.hooks import logs

    explainer.install()
    try:
        raise RuntimeError(MESSAGE)
    except RuntimeError as error:
        logs.loguru(SimpleNamespace(record={"exception": SimpleNamespace(value=error, traceback=error.__traceback__)}))
        sys.excepthook(type(error), error, error.__traceback__)
    assert capsys.readouterr().err.count("\nerror[") == 1


def test_whoever_asks_for_a_hook_of_somebody_s_own_is_answered_as_without_us():
    """wandb prints the traceback itself, and calls the hook before only where it is not Python's."""
    explainer.install()
    assert isinstance(sys.excepthook, process.SysHook)
    assert sys.excepthook == sys.__excepthook__
    explainer.uninstall()
    sys.excepthook = lambda *given: None
    explainer.install()
    assert sys.excepthook != sys.__excepthook__


def test_a_crash_while_explaining_is_not_explained(monkeypatch, capsys):
    """Another hook of the same thread is run by our own stage: it must not start over."""
    from explainer.hooks import showing

    explainer.install()
    monkeypatch.setattr(showing, "explain", lambda *_: crash(sys.excepthook))
    crash(sys.excepthook, "outer")
    assert capsys.readouterr().err.count("\nerror[") == 0


class Kept:
    """Stands for a tensor in a frame."""


def test_frames_are_let_go_of_after_a_thread_has_crashed():
    """What a crashed frame held, GPU memory for instance, is free again after the diagnosis."""
    held = []

    def work():
        tensor = Kept()
        held.append(weakref.ref(tensor))
        raise RuntimeError(MESSAGE)

    explainer.install()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    del thread
    gc.collect()
    assert held[0]() is None


def test_what_a_function_deletes_after_explaining_is_free(monkeypatch):
    """`except RuntimeError as error: explain(error); del batch` is how programs recover from a full GPU."""
    batch = Kept()
    held = weakref.ref(batch)
    try:
        raise RuntimeError(MESSAGE)
    except RuntimeError as error:
        explainer.explain(error)
    del batch
    assert held() is None


def test_a_copy_of_its_variables_that_the_program_took_is_left_alone():
    number = 1
    mine = locals()
    try:
        raise RuntimeError(MESSAGE)
    except RuntimeError as error:
        explainer.explain(error)
    assert mine["number"] == number


def test_frames_are_let_go_of_after_explaining():
    held = []

    def work():
        tensor = Kept()
        held.append(weakref.ref(tensor))
        raise RuntimeError(MESSAGE)

    explained = []
    try:
        work()
    except RuntimeError as error:
        explained.append(explainer.explain(error))
    assert explained[0]
    gc.collect()
    assert held[0]() is None


def test_an_old_torch_is_named(monkeypatch):
    from explainer.hooks import showing

    monkeypatch.setitem(sys.modules, "torch", type(sys)("torch"))
    sys.modules["torch"].__version__ = "1.13.1+cu117"
    assert "1.13.1" in showing.too_old()
    sys.modules["torch"].__version__ = "2.13.0+cpu"
    assert showing.too_old() == ""


def test_the_last_diagnosis_is_kept_for_its_user_alone(tmp_path):
    explainer.install()
    process.explain_once(RuntimeError(MESSAGE), None, io.StringIO())
    kept = tmp_path / "explainer" / "last.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700


REPLACED = """\
import atexit, sys
import explainer; explainer.install()
atexit.register(print, "the program's", "own end", file=sys.stderr, flush=True)
sys.excepthook = lambda kind, error, traceback: print("told by another hook:", kind.__name__, file=sys.stderr)
raise RuntimeError({message!r})
"""


def test_where_another_hook_took_the_place_of_ours_the_error_is_explained_at_the_end(tmp_path):
    """As rich.traceback.install() and typer do, which call nobody else's hook."""
    (tmp_path / "main.py").write_text(REPLACED.format(message=MESSAGE))
    done = python("main.py", cwd=tmp_path)
    assert done.returncode == 1
    parts = ["told by another hook: RuntimeError", "the program's own end", "error[matmul-shapes]"]
    assert [done.stderr.count(part) for part in parts] == [1, 1, 1]
    assert sorted(parts, key=done.stderr.index) == parts


def test_what_ended_well_after_an_error_that_was_told_is_not_explained_at_the_end(tmp_path):
    (tmp_path / "main.py").write_text(
        f"import sys\nimport explainer; explainer.install()\ntry:\n    raise RuntimeError({MESSAGE!r})\n"
        "except RuntimeError as error:\n    sys.excepthook(type(error), error, error.__traceback__)\n"
        "    sys.last_value = error\nsys.excepthook = sys.__excepthook__\n"
    )
    done = python("main.py", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("error[matmul-shapes]")) == (0, 1)
