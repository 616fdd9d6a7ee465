"""A clone of the crashed process in the place of a clean one: torch is loaded, what the program did is undone."""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import Any

from explainer.userframes import user_modules

#: What the program holds by being loaded; let go of, its finalizers would run.
_kept: list[Any] = []


class Forked:
    """A cloned process with what is asked of a `subprocess.Popen`."""

    def __init__(self, pid: int):
        self.pid = pid

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait until it has ended."""
        from explainer.replay.confine.clone import ended

        ended(self.pid)


def forked(folder: str) -> tuple[Forked, socket.socket]:
    """A process that serves requests as `replay.zygote` does, and the line to it; it can write to `folder` alone.

    The program's modules are forgotten and torch's modes are as at the start; what else the program changed (patches,
    registrations, memory that is held) stays. A control run shows whether that matters. It ends with this thread.
    OSError where there can be no more processes or descriptors.
    """
    from explainer.replay import again, zygote  # noqa: F401 - here once
    from explainer.replay.confine import clone, early, pools, sandbox  # noqa: F401 - here once

    own = list(user_modules())  # the child would pay for every module that it looks at with a copied page
    mine, theirs = socket.socketpair()

    def work() -> None:
        _begin_anew(own)
        zygote.serve(theirs, [])

    try:
        with early.prepared(theirs.fileno(), writable=[folder], processes=True, move=False) as first:
            return Forked(clone.begin(first.steps, work)), mine
    except BaseException:
        mine.close()
        raise
    finally:
        theirs.close()


def _begin_anew(own: list[str]) -> None:
    _kept.extend([sys.excepthook, sys.stdin, sys.stdout, sys.stderr])
    os.environ.update(EXPLAINER="0", EXPLAINER_REPLAY="0")
    sys.excepthook = sys.__excepthook__
    for number in (signal.SIGINT, signal.SIGTERM):
        _kept.append(signal.signal(number, signal.SIG_DFL))
    _kept.extend(sys.modules.pop(name) for name in own)
    if "torch" in sys.modules:
        _reset_modes()


def _reset_modes() -> None:
    """The modes that a program sets for a while, or for good, as torch begins with them."""
    import torch

    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    torch.autograd.set_detect_anomaly(False)
    if torch.are_deterministic_algorithms_enabled():  # setting it imports torch._inductor, which takes a second
        torch.use_deterministic_algorithms(False)
    if hasattr(torch, "get_default_device") and torch.get_default_device().type != "cpu":
        torch.set_default_device(None)
