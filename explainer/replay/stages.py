"""The trials of a crash in its own process: which frame's statements are run again, how many at once, for how long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from explainer.diagnosis import Edit
from explainer.frozen import frozen
from explainer.replay import sandbox
from explainer.replay.given import module_namespaces
from explainer.replay.trial import at_once

#: How many of the user's frames are tried, outermost first, until one's statements fail again as they did.
_FRAMES = 3
#: Of how many, the innermost ones, the crashed statement is run again alone in a large process.
_ALONE = 2
#: Of the time that is left, how much the unedited run may take; an edited one may take so many times as long and more,
#: in seconds of work, before a frame further in is tried: there an edit that lets a long program go on shows sooner.
_SHARE, _TIMES, _MORE = 0.4, 3, 0.3


@frozen
class Stage:
    """The frame whose statements are run again, and what to call that. `patience`: seconds for a run with an edit.

    `alone`: of the frame's statements only the one that crashed, with the names as they were left. `over`: not again.
    """

    frame: Any
    text: str
    namespaces: tuple[dict[str, Any], ...] = ()
    alone: bool = False
    patience: float | None = None
    over: bool = False


class Trials:
    """The trials of one crash. Its frames are tried outermost first: what passes there says most.

    A process that holds a large model has no room to build it again, nor time: there the statements that crashed are
    run again alone at first, innermost first. `work` runs a stage with edits, in the child.
    """

    def __init__(self, scene: Any, work: Callable[[Stage, list[Edit]], bool | str | None]):
        self.scene, self.work = scene, work
        self.at_once = at_once()
        self._why = ""  # what the last stage that was over was over for
        names = [names for live in scene.live.user for names in (live.frame.f_globals, live.locals)]
        namespaces = (*names, *module_namespaces())
        frames = _in_memory(scene.live)
        innermost = frames[: -_ALONE - 1 : -1] if self.at_once == 1 else []
        alone = [_stage(frame, namespaces, alone=True) for frame in innermost]
        self.stages = [*alone, *(_stage(frame, namespaces) for frame in frames[:_FRAMES])]

    def of(self, offered: list[list[Edit]]) -> list[tuple[bool | str | None, str]]:
        """Whether the crash's statement runs with each set of edits (None where unknown), and what was run."""
        found: dict[int, tuple[bool | str | None, str]] = {}
        with self.scene.replaying():
            for at in range(len(self.stages)):
                waiting = {number: edits for number, edits in enumerate(offered) if number not in found}
                if waiting and not self.stages[at].over:
                    found.update(self._at_stage(at, waiting))
        if self._why and all(stage.over for stage in self.stages):
            self.scene.leave_out(self._why)
        return [found.get(number, (None, "")) for number in range(len(offered))]

    def _at_stage(self, at: int, offered: dict[int, list[Edit]]) -> Iterator[tuple[int, tuple[bool | str | None, str]]]:
        """The answers of a stage; it is over where it does not fail as it did, or takes too long."""
        stage, last = self.stages[at], at + 1 == len(self.stages)
        control: list[int | None] = [] if stage.patience is not None else [None]
        edits = [*control, *offered]
        begun = self._begun(stage, [[] if number is None else offered[number] for number in edits])
        with closing(sandbox.abreast(begun, self.at_once, sandbox.Child.end)) as children:
            for number, child in zip(edits, children, strict=False):
                outcome = child.outcome(None if last else stage.patience, self.scene.waiting)
                self.scene.spent.add(outcome.seconds / self.at_once)
                if number is None and outcome.value is False:
                    stage = self.stages[at] = replace(stage, patience=_TIMES * outcome.seconds + _MORE)
                elif number is None or (outcome.late and not last):
                    self._why = "late" if outcome.late else "control"
                    self.stages[at] = replace(stage, over=True)
                    return
                elif outcome.value is not None or last or not stage.alone:
                    yield number, (outcome.value, stage.text)

    def _begun(self, stage: Stage, offered: list[list[Edit]]) -> Iterator[sandbox.Child]:
        """The runs with each of the edits, each begun when it is asked for."""
        for edits in offered:
            left = self.scene.seconds_left
            if left < 0.05:
                break
            work, memory = partial(self.work, stage, edits), self.scene.options.memory
            try:
                yield sandbox.begin(work, deadline=left * (1.0 if edits else _SHARE), memory=memory)
            except OSError:
                self.scene.leave_out("processes")
                return


def _stage(frame: Any, namespaces: tuple[dict[str, Any], ...], alone: bool = False) -> Stage:
    failing = frame.failing()
    text = " ".join(failing.span.code.split()) if failing is not None else ""
    return Stage(frame, text if 0 < len(text) <= 60 else frame.frame.f_code.co_name, namespaces, alone)


def _in_memory(live: Any) -> list[Any]:
    """The user's frames that led to the crash without running a file anew: from disk it would come unedited."""
    last = max((i for i, frame in enumerate(live.frames) if frame.frame.f_code.co_name == "<module>"), default=0)
    return [frame for frame in live.frames[last:] if frame.user]
