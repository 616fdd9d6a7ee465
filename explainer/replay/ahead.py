"""The first run of a program again, which may begin before anything is known of its error."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress

from explainer.frozen import frozen
from explainer.replay import trial
from explainer.replay.confine import sandbox
from explainer.replay.program import Program, Session, Trial, unavailable

#: A program whose recording takes no more seconds of work is quick.
SOON = 0.3
#: Within the limits of a replay: the share of the work that an unedited run may take.
SHARE = 0.6
#: What torch raises, and Python about tensors.
_RAISED = (RuntimeError, TypeError, ValueError, IndexError, AttributeError)


@frozen
class Begun:
    """A program's clean process and copies, and the unedited run under way in them, which is recorded."""

    session: Session
    recording: Trial


def begun(program: Program, seconds: float, texts: Mapping[str, str] | None = None, message: str = "") -> Begun:
    """Begin to run a program again, for `seconds` of work at most; in all runs some files hold other texts.

    `message`: what its error says.
    """
    session = Session(program, texts=texts or {}, message=message)
    return Begun(session, session.begin({}, seconds, record=True, soon=SOON))


def begun_for(error: BaseException, program: Program | None, seconds: float) -> Begun | None:
    """Begin to run a script again that crashed by itself and soon, where its error may be torch's; None elsewhere.

    It ends, and its copies go, as soon as it is forgotten: where the error turns out to be another's, at once. What
    keeps it from beginning (no room for copies, no more processes) is told by whoever needs it.
    """
    if program is None or not program.warm or not isinstance(error, _RAISED) or "torch" not in sys.modules:
        return None
    if sandbox.unavailable(anew=True) or unavailable(program) or not trial.early(program.started):
        return None
    with suppress(Exception):
        return begun(program, SHARE * seconds, message=str(error))
    return None
