"""The process's door: `install()` chains sys.excepthook, sys.exit and threading.excepthook; it imports nothing more."""

import _thread
import atexit
import os
import sys
import time

#: Seconds for which a crash in one thread waits while another thread's is being explained.
PATIENCE = 10.0
_once = False
#: Which error was explained last: its `id`, which may be that of another one since, its type, its last line.
_told: tuple[object, ...] | None = None
#: What was found of the error that was explained last on its way up, by a block or a callback, and its number.
_kept: tuple[int, object] = 0, None
#: Whether this process was started by one that has us installed too.
_inherited = False


class Settings:
    """What `install()` was asked for. A plain class: `dataclasses` would double the cost of importing us.

    `begun` is when, in monotonic seconds. What `explain run` adds: `check` (whether to try the program again),
    `program` (called for what was started), `reports` (called with each explanation), `why` (show every decision).
    """

    def __init__(self, lang=None, replay=True, rules=(), full=False, color="auto"):
        self.lang, self.replay, self.rules, self.full, self.color = lang, replay, tuple(rules), full, color
        self.check = self.program = self.reports = None
        self.why = False
        self.begun = time.monotonic()


class State(_thread._local):
    """What one thread is doing: `inside` one of our hooks."""

    inside = False


settings: Settings | None = None
_state = State()
_turn = _thread.allocate_lock()


class SysHook:
    """Stands in sys.excepthook: calls what stood there before, then explains.

    It equals what stood there: wandb asks so whether there is a hook of somebody's own, which it would call.
    """

    def __init__(self, previous):
        self.previous = previous

    def __eq__(self, other):
        return self is other or self.previous == other

    def __hash__(self):
        return hash(self.previous)

    def __call__(self, kind, error, traceback):
        _after(lambda: self.previous(kind, error, traceback), error, traceback)


class ThreadHook:
    """Stands in threading.excepthook: calls what stood there before, then explains."""

    def __init__(self, previous):
        self.previous = previous

    def __call__(self, args):
        _after(lambda: self.previous(args), args.exc_value, args.exc_traceback)


class ExitHook:
    """Stands in sys.exit: an error that a library (hydra) printed before it ends the program is explained first."""

    def __init__(self, previous):
        self.previous = previous

    def __call__(self, *status):
        error = sys.exc_info()[1]
        try:
            if error is not None and not _well(status) and "torch" in sys.modules:
                swallowed(error, sys._getframe(1))
        finally:
            self.previous(*status)


def _well(status) -> bool:
    """Whether an exit status says that all went well."""
    first = status[0] if status else None
    return first is None or (type(first) in (int, bool) and not first)


def is_ours(frame) -> bool:
    """Whether a frame is of this module: one of the hooks that stand in the place of Python's own functions."""
    return frame.f_code.co_filename == __file__


def swallowed(error, frame) -> None:
    """Explain an error that is lost as `frame` ends the program; one that the user's own code handles is left alone."""
    from explainer.userframes import is_user_file

    step = error.__traceback__
    while step is not None and not is_user_file(step.tb_frame.f_code.co_filename):  # argparse's own errors meet none
        step = step.tb_next
    lost = step is not None and not is_user_file(frame.f_code.co_filename)
    if lost and settings is not None and not _state.inside and not was_told(error) and wanted(error):
        _state.inside = True  # a trial in a fork may end in the same way
        try:
            explain_once(error, error.__traceback__, frame=frame)
        finally:
            _state.inside = False


def install(*, lang=None, replay=True, rules=(), full=False, logs=False):
    """Explain every PyTorch error that nothing catches, under its traceback. Calling it again only changes the options.

    `lang` is "en", "ko" or "zh"; `replay=False` runs nothing again; `rules` are folders of further rules; `full` lifts
    the limit of 25 lines; `logs` explains errors that are caught and logged by `logging` too (asyncio's, Lightning's).
    EXPLAINER=0 switches everything off, EXPLAINER_REPLAY=0 the replay.
    """
    if logs and os.environ.get("EXPLAINER") != "0":
        from explainer.hooks import logs as records

        records.watch()
    if os.environ.get("EXPLAINER") != "0":
        ran = settings is not None and settings.program is not None  # the options of `explain run` stand
        start(settings if ran else Settings(lang, replay, rules, full))


def start(wanted: Settings) -> None:
    """Put the hooks in place with these settings; `explain run` gives more of them than `install()`."""
    global settings, _inherited, _told
    settings, _told = wanted, None
    _inherited = _inherited or _being_prepared()
    if "explainer.hooks.alike" in sys.modules:
        sys.modules["explainer.hooks.alike"].forget()
    if not isinstance(sys.excepthook, SysHook):
        sys.excepthook = SysHook(sys.excepthook)
    if not isinstance(sys.exit, ExitHook):
        sys.exit = ExitHook(sys.exit)
    owner, name = _thread_door()
    if not isinstance(getattr(owner, name), ThreadHook):
        setattr(owner, name, ThreadHook(getattr(owner, name)))
    _watch_children()
    atexit.register(_at_exit)
    shell = _shell()
    if shell is not None:
        from explainer.hooks import ipython

        ipython.watch(shell)


def uninstall():
    """Take the hooks away. Where another library put its own over ours, ours stays in its chain and does nothing."""
    global settings
    settings = None
    atexit.unregister(_at_exit)
    if "explainer.hooks.logs" in sys.modules:
        sys.modules["explainer.hooks.logs"].unwatch()
    if isinstance(sys.excepthook, SysHook):
        sys.excepthook = sys.excepthook.previous
    if isinstance(sys.exit, ExitHook):
        sys.exit = sys.exit.previous
    threading = sys.modules.get("threading")
    for owner, name in ((threading, "excepthook"), (threading, "__excepthook__"), (_thread, "_excepthook")):
        if isinstance(getattr(owner, name, None), ThreadHook):
            setattr(owner, name, getattr(owner, name).previous)
    shell = _shell()
    if shell is not None:
        from explainer.hooks import ipython

        ipython.unwatch(shell)


def wanted(error) -> bool:
    """Whether an error is one to look at: not an exit, an interrupt or a reader that went away, nor one of a trial."""
    usual = isinstance(error, Exception) and not isinstance(error, BrokenPipeError)
    tried = getattr(sys.modules.get("explainer.replay.confine.process"), "confined", False)
    return usual and not tried and os.environ.get("EXPLAINER") != "0"


def _after(previous, error, traceback) -> None:
    """Run the previous hook, then explain; of several hooks of ours in one chain only the outermost explains."""
    if _state.inside:
        previous()
        return
    _state.inside = True
    try:
        previous()
        if settings is not None and wanted(error) and not was_told(error):
            explain_once(error, traceback)
    finally:
        _state.inside = False


def _at_exit() -> None:
    """Explain the error that ended the program where another library's hook (rich's, typer's) had replaced ours."""
    error = getattr(sys, "last_value", None)
    replaced = not isinstance(sys.excepthook, SysHook) and _shell() is None
    if replaced and settings is not None and error is not None and wanted(error) and not was_told(error):
        explain_once(error, error.__traceback__)


def ahead(error):
    """The explanation of an error that is on its way up; None where it has been explained, or is none to look at."""
    global _kept
    if _state.inside or not wanted(error) or kept(error) is not None:
        return None
    _state.inside = True
    try:
        from explainer.hooks import showing

        found = showing.explain(error, _whole(error.__traceback__), settings or Settings())
        _kept = _kept[0] + 1, found
        error.__dict__["explained_"] = _kept[0]  # its `id` may be another one's later
        return found
    except Exception as failure:
        say_failed("the diagnosis", failure)
        return None
    finally:
        _state.inside = False


def _whole(traceback):
    """A traceback with those who called its first frame: an error that is on its way up has not met them yet."""
    frame = traceback.tb_frame.f_back if traceback is not None else None
    while frame is not None:
        traceback = type(traceback)(traceback, frame, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    return traceback


def kept(error):
    """What `ahead` found of this very error; None where it was not asked."""
    return _kept[1] if getattr(error, "explained_", None) == _kept[0] else None


def was_told(error) -> bool:
    """Whether this very error was the one that was explained last, by another of our hooks."""
    return _told == _mark(error)


def _mark(error) -> tuple[object, ...]:
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return id(error), type(error).__qualname__, step and (step.tb_frame.f_code.co_filename, step.tb_lineno)


def inherited() -> bool:
    """Whether the process that started this one explains errors too."""
    return _inherited


def explain_once(error, traceback, stream=None, frame=None) -> None:
    """Explain an error on standard error (or `stream`), one thread at a time. Whatever fails in here is one line.

    `frame` is the one that ends the process, where the error would be lost.
    """
    global _told
    _told = _mark(error)
    if not _turn.acquire(timeout=PATIENCE):
        return
    try:
        from explainer.hooks import shadowed

        with shadowed.aside(error):
            from explainer.hooks import showing

            showing.show(error, traceback, settings or Settings(), stream, frame)
    except BaseException as failure:
        say_failed("loading", failure, stream)
    finally:
        _turn.release()


def say_failed(stage, failure, stream=None) -> None:
    """One line that says which stage of ours failed, and by what. Never raises, never asks the failure for its text."""
    try:
        why = "interrupted" if isinstance(failure, KeyboardInterrupt) else f"failed ({type(failure).__name__})"
        print(f"explainer: {stage} {why}; the error above is unchanged", file=stream or sys.stderr, flush=True)
    except BaseException:
        pass


def _thread_door():
    """Where the hook for threads stands. Importing `threading` would cost 5 ms: it takes its hook from `_thread`."""
    if "threading" in sys.modules:
        return sys.modules["threading"], "excepthook"
    return _thread, "_excepthook"


def _shell():
    """The running IPython shell, if there is one."""
    ipython = sys.modules.get("IPython")
    get = getattr(ipython, "get_ipython", None)
    return get() if get is not None else None


def _being_prepared() -> bool:
    """Whether `multiprocessing` imports the program in a new child: what installs us there did so in the parent too."""
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and hasattr(processes.current_process(), "_inheriting")


def _watch_children() -> None:
    global _once
    if "multiprocessing.process" in sys.modules:
        _in_child()
    if not _once and hasattr(os, "register_at_fork"):
        _once = True
        os.register_at_fork(after_in_child=_forked)


def _forked() -> None:
    global _inherited
    _inherited = settings is not None
    _in_child()


def _in_child() -> None:
    """In a forked child: multiprocessing's own printing of errors is watched, but for the children that we fork."""
    global _turn
    ours = _turn.locked()
    _turn = _thread.allocate_lock()
    if settings is not None and not ours and "multiprocessing.process" in sys.modules:
        from explainer.hooks import pooled, workers

        workers.watch()
        pooled.watch()
