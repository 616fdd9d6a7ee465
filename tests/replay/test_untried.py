"""Why no fix was tried: decided from what stood in the way, said in every form and language."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explainer import untried
from explainer.crash import Crash, Place
from explainer.decisions import Trace
from explainer.diagnosis import Diagnosis, Edit, Fix, Report
from explainer.locale import LANGUAGES, word
from explainer.probes import Options, Scene
from explainer.probes.scene import Live
from explainer.render import html, markdown, plain, terminal
from explainer.replay import program, run, trial
from explainer.replay.confine import sandbox
from explainer.replay.program import Program

EDIT = Edit("net.py", 1, 1, "a", "b")
OFFERED = Diagnosis("r", "shape", "h", "c", fixes=(Fix("t", edits=(EDIT,)),))
CHECKED = replace(OFFERED, fixes=(Fix("t", "checked", "it runs", (EDIT,)),))


def scene(live=True, **options):
    found = Scene(Crash("RuntimeError", "m", place=Place() if live else Place("a.log", 1)), Options(**options))
    found.live = Live(None) if live else None
    return found


def test_what_stood_in_the_way_is_told_apart(monkeypatch):
    assert untried.reason(OFFERED, scene(live=False)) == "text"
    assert untried.reason(OFFERED, Scene(Crash("RuntimeError", "m"), Options())) == "elsewhere"
    assert untried.reason(replace(OFFERED, fixes=()), scene(live=False)) is None
    assert untried.reason(OFFERED, scene(replay=False)) == "off"
    assert untried.reason(CHECKED, scene(replay=False)) is None
    monkeypatch.setattr(run, "why_not", lambda _: sandbox.GROUP)
    assert untried.reason(OFFERED, scene()) == "group"
    monkeypatch.setattr(run, "why_not", lambda _: None)
    late = Program("train.py", started=1e6, warm=True)
    monkeypatch.setattr(program, "unavailable", lambda _: None)
    assert untried.reason(OFFERED, scene(program=late)) == "long"
    monkeypatch.setattr(trial, "resident_bytes", lambda: trial.LARGE + 1)
    assert untried.reason(OFFERED, scene(program=late)) == "large"
    assert untried.reason(replace(OFFERED, fixes=(), family="environment"), scene(program=late)) is None


def test_what_was_tried_is_not_called_untried_and_why_lists_what_was_left_out():
    trace = Trace()
    tried = scene(trace=trace)
    tried.leave_out("recording")
    assert untried.reason(OFFERED, tried) in ("recording", "off")
    tried.tried = True
    assert untried.reason(OFFERED, tried) is None
    assert untried.reason(replace(OFFERED, fixes=()), tried) == "refuted"
    tried.leave_out("unfinished")
    assert untried.reason(OFFERED, tried) == "unfinished"
    assert trace.to_dict()["remarks"] == ["untried_recording", "untried_unfinished"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_form_says_it(language):
    reports = (Report("E", "m", diagnoses=(replace(OFFERED, untried="group"),), language=language),)
    said = word("untried_group", language)
    for text in (terminal.to_str(reports), markdown.render(reports), html.render(reports), plain.render(reports)):
        assert said[:-1].lower() in text.lower()
    assert reports[0].to_dict()["diagnoses"][0]["untried"] == "group"
    bare = (Report("E", "m", diagnoses=(replace(OFFERED, fixes=(), untried="group"),), language=language),)
    assert said in terminal.to_str(bare)
