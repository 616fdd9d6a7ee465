"""A fork of the crashed process in the place of a clean one: torch is loaded, what the program did is undone."""

from __future__ import annotations

import os
import signal
import socket
import sys

from explainer.userframes import user_modules


class Forked:
    """A forked process with what is asked of a `subprocess.Popen`."""

    def __init__(self, pid: int):
        self.pid = pid

    def kill(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait until it has ended."""
        os.waitpid(self.pid, 0)


def forked() -> tuple[Forked, socket.socket]:
    """A process that serves requests as `replay.zygote` does, and the line to it.

    The program's modules are forgotten and torch's modes are as at the start; what else the program changed (patches,
    registrations, memory that is held) stays. A control run shows whether that matters.
    """
    from explainer.replay import again, confine, sandbox, zygote  # noqa: F401 - here once, not in every child

    own = list(user_modules())  # the child would pay for every module that it looks at with a copied page
    mine, theirs = socket.socketpair()
    pid = sandbox.fork()
    if pid == 0:
        try:
            mine.close()
            _begin_anew(own)
            zygote.serve(theirs, [])
        finally:
            os._exit(0)
    theirs.close()
    return Forked(pid), mine


def _begin_anew(own: list[str]) -> None:
    os.environ.update(EXPLAINER="0", EXPLAINER_REPLAY="0")
    sys.excepthook = sys.__excepthook__
    sys.settrace(None)
    sys.setprofile(None)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    for name in own:
        del sys.modules[name]
    if "torch" in sys.modules:
        _reset_modes()


def _reset_modes() -> None:
    """The modes that a program sets for a while, or for good, as torch begins with them."""
    import torch

    torch.set_num_threads(1)
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    torch.autograd.set_detect_anomaly(False)
    if torch.are_deterministic_algorithms_enabled():  # setting it imports torch._inductor, which takes a second
        torch.use_deterministic_algorithms(False)
    if hasattr(torch, "get_default_device") and torch.get_default_device().type != "cpu":
        torch.set_default_device(None)
