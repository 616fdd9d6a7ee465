"""Where a watched training spends its processor time: `python benchmarks/ticks.py SCRIPT` prints JSON at its end.

A timer of processor time interrupts the program; a tick is ours where the innermost frame that is not torch's belongs
to `explainer` and is not handing the program's own call on. That share does not depend on what else the machine does,
as the clock does. The start-up is left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

EVERY = 0.001
#: Statements by which our wrappers hand a call of the program on: what happens inside of them is the program's.
HANDED_ON = ("original(", "(original", "func(*args", "function(*given")


class Ticks:
    """Ticks counted by whose they are, and ours by their places."""

    def __init__(self) -> None:
        import explainer

        self.own = os.path.dirname(explainer.__file__) + os.sep
        self.ours = self.all = 0
        self.places: Counter[str] = Counter()
        self._lines: dict[tuple[str, int], bool] = {}

    def tick(self, _: int, frame: FrameType | None) -> None:
        """Count one."""
        self.all += 1
        while frame is not None and (_entered(frame) or f"{os.sep}torch{os.sep}" in frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None or not frame.f_code.co_filename.startswith(self.own) or self._hands_on(frame):
            return
        self.ours += 1
        name = frame.f_code.co_filename.removeprefix(self.own)
        self.places[f"{name}:{frame.f_code.co_name}"] += 1

    def _hands_on(self, frame: FrameType) -> bool:
        place = (frame.f_code.co_filename, frame.f_lineno)
        if place not in self._lines:
            text = Path(place[0]).read_text().splitlines()[place[1] - 1]
            self._lines[place] = any(each in text for each in HANDED_ON)
        return self._lines[place]


def _entered(frame: FrameType) -> bool:
    """Whether a function has only been entered: a tick of what its caller did before waits until then."""
    return frame.f_lineno == frame.f_code.co_firstlineno


def main() -> None:
    """Run a script watched, with ticks from its first line on to its end."""
    from explainer.training.watcher import Watcher

    script = sys.argv[1]
    ticks = Ticks()
    watcher = Watcher().start()
    signal.signal(signal.SIGPROF, ticks.tick)
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    os.chdir(os.path.dirname(os.path.abspath(script)))
    text: Any = compile(Path(script).read_text(), script, "exec")
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        exec(text, {"__name__": "__main__", "__file__": script})
    signal.setitimer(signal.ITIMER_PROF, 0)
    steps = watcher.stop().steps
    places = [[name, count / ticks.all] for name, count in ticks.places.most_common(40)]
    print(json.dumps({"ours": ticks.ours, "all": ticks.all, "steps": steps, "places": places}))


if __name__ == "__main__":
    main()
