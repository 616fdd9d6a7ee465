"""`explainer.watch()`: the training of this process watched from here on, told at its end or when it is asked for."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from explainer.arrival import when_imported
from explainer.diagnosis import Report

#: Seconds for trials at the end of a script.
BUDGET = 30.0
_active: list[Watching] = []


class Watching:
    """A training that is watched. Use it in a `with`, or call `stop()`; a script is told about at its end.

    `report` is called with the report; without it, it goes to standard error.
    """

    def __init__(self, report: Callable[[Report], Any] | None = None, budget: float = BUDGET, lang: str | None = None):
        self.reported: Report | None = None
        self._to, self._budget, self._lang = report, budget, lang
        self._began = time.monotonic()
        self._watcher: Any = None
        self._off = os.environ.get("EXPLAINER") == "0"
        if not self._off:
            when_imported("torch", self._begin)
            atexit.register(self._at_exit)
            _active.append(self)

    def _begin(self) -> None:
        try:
            from explainer.training.watcher import Watcher

            self._watcher = Watcher().start()
        except Exception as error:
            print(f"explainer: watch: {type(error).__name__}: {error}", file=sys.stderr)

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self, trial: bool = False) -> Report | None:
        """End watching and tell what was found; with `trial` edits are tried on the script, in the sandbox."""
        if self._watcher is None or self.reported is not None:
            return self.reported
        atexit.unregister(self._at_exit)
        if self in _active:
            _active.remove(self)
        try:
            self.reported = self._concluded(trial)
        except Exception as error:
            self._watcher.stop()
            print(f"explainer: watch: {type(error).__name__}: {error}", file=sys.stderr)
            return None
        if self.reported is not None:
            self._tell(self.reported)
        return self.reported

    def _concluded(self, trial: bool) -> Report | None:
        from explainer.locale import language
        from explainer.replay.program import script
        from explainer.training import session

        if session.rank():
            session.left(self._watcher)
            return None
        program = script(self._began) if trial else None
        seconds = time.monotonic() - self._began
        return session.concluded(
            self._watcher, program, self._budget, seconds, language(self._lang), lambda _: None, program is not None
        )

    def _at_exit(self) -> None:
        """The script has ended: a notebook or a prompt, which has none, is not tried again."""
        replay = os.environ.get("EXPLAINER_REPLAY") != "0"
        self.stop(trial=replay)

    def _tell(self, report: Report) -> None:
        _to_writers(report)
        if self._to is not None:
            self._to(report)
            return
        from dataclasses import replace

        from explainer.render import terminal

        for one in report.diagnoses:
            print(file=sys.stderr)
            terminal.print_to(sys.stderr, [replace(report, diagnoses=(one,))])
        if not report.diagnoses:
            for remark in report.remarks:
                print(f"explainer: {remark}", file=sys.stderr)


def _to_writers(report: Report) -> None:
    """Hand the findings to the TensorBoard writers and the Weights & Biases run that the program uses."""
    from explainer.render import markdown

    if not report.diagnoses:
        return
    try:
        board = sys.modules.get("torch.utils.tensorboard")
        if board is not None:
            import gc

            for one in gc.get_objects():
                if issubclass(type(one), board.SummaryWriter):  # isinstance would ask proxies
                    one.add_text("explainer", markdown.render([report]))
                    one.flush()
        run = getattr(sys.modules.get("wandb"), "run", None)
        if run is not None:
            run.summary["explainer"] = [one.headline for one in report.diagnoses]
    except Exception as error:
        print(f"explainer: watch: {type(error).__name__}: {error}", file=sys.stderr)


def watch(report: Callable[[Report], Any] | None = None, budget: float = BUDGET, lang: str | None = None) -> Watching:
    """Watch the training of this process from here on: no arguments are needed.

    Call it once at the top of a script (it tells at the script's end), or use it in a `with` (it tells at the block's
    end). `report` is called with the `Report`; findings also go to a TensorBoard writer or a Weights & Biases run that
    is in use. `budget` is how many seconds edits are tried after a script. Once it watches, a second call gives the
    same object.
    """
    return _active[0] if _active else Watching(report, budget, lang)
