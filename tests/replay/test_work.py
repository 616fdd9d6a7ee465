"""Limits count the work of a child: that others keep it waiting for a processor takes nothing from it."""

from __future__ import annotations

import time

import pytest

from explainer.probes import Options, Scene
from explainer.replay import run, work
from explainer.replay.confine import sandbox

pytestmark = pytest.mark.skipif(sandbox.unavailable() is not None, reason="no sandbox here")


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which every process waits for a processor nine tenths of the time."""
    monkeypatch.setattr(work, "kept_waiting", lambda *_: 0.9 * time.monotonic())


def test_a_child_that_others_keep_waiting_has_its_time_all_the_same(busy: None) -> None:
    outcome = sandbox.run(lambda: time.sleep(0.5) or 7, deadline=0.2)
    assert (outcome.value, outcome.late) == (7, False)
    assert outcome.seconds < 0.2


def test_a_child_that_sleeps_uses_up_its_time() -> None:
    outcome = sandbox.run(lambda: time.sleep(60), deadline=0.2)
    assert (outcome.value, outcome.late, outcome.failed) == (None, True, "no answer within 0.2 s")


def test_the_wall_clock_ends_runaways_and_says_so(busy: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "longest", lambda limit: 0.1)
    outcome = sandbox.run(lambda: time.sleep(60), deadline=20.0)
    assert (outcome.value, outcome.late, outcome.failed) == (None, True, work.STARVED)


def test_after_a_runaway_nothing_more_is_tried_and_the_scene_knows_why(monkeypatch: pytest.MonkeyPatch) -> None:
    from explainer.crash import Crash

    scene = Scene(Crash("RuntimeError", "x", ()), Options(deadline=5.0))
    monkeypatch.setattr(work, "longest", lambda limit: 0.0)
    with scene.replaying():
        assert scene.seconds_left == 0.0
    assert scene.starved
    assert run.sandboxed(scene, lambda: 1) is None


def test_what_children_did_at_the_same_time_and_this_process_meanwhile_is_counted() -> None:
    spent = work.Spent()
    with spent.counting(), spent.counting():
        sum(range(10**6))
        spent.add(0.25)
    assert 0.25 < spent.seconds < 5.0
