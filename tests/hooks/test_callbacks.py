"""A block or a trainer's callback that hands out the report of an error once, and lets the error go on."""

from __future__ import annotations

import pytest
from commands import python

import explainer
from explainer.hooks import process

torch = pytest.importorskip("torch")


def fail():
    torch.nn.Linear(4, 2)(torch.ones(3, 5))


@pytest.fixture(autouse=True)
def without_trials(monkeypatch):
    monkeypatch.setenv("EXPLAINER_REPLAY", "0")


def test_an_error_is_reported_once_through_how_many_blocks_it_goes():
    told = []
    with pytest.raises(RuntimeError, match="mat1"), explainer.callback(told.append), explainer.callback(told.append):
        fail()
    (explanation,) = told
    assert explanation.reports[0].diagnoses[0].rule == "linear-input-size"


def test_what_is_no_error_of_torch_or_is_caught_inside_is_not_reported():
    told = []
    with explainer.callback(told.append):
        with pytest.raises(RuntimeError):
            fail()
    for error in (KeyError("mine"), KeyboardInterrupt(), SystemExit(3)):
        with pytest.raises(type(error)), explainer.callback(told.append):
            raise error
    assert told == []


def test_a_receiver_that_fails_costs_a_line_and_not_the_error(capsys):
    with pytest.raises(RuntimeError, match="mat1"), explainer.callback(lambda _: 1 / 0) as block:
        fail()
    assert block.explanation.reports
    assert capsys.readouterr().err == (
        "explainer: what was to get the report failed (ZeroDivisionError); the error above is unchanged\n"
    )


def test_a_trial_in_a_child_reports_nothing(monkeypatch):
    """The program's own block runs again there."""
    from explainer.replay.confine import process as child

    monkeypatch.setattr(child, "confined", True)
    told = []
    with pytest.raises(RuntimeError), explainer.callback(told.append):
        fail()
    assert told == []


def in_a_library(told):
    with explainer.callback(told.append):
        fail()


def test_who_called_the_block_is_known_before_the_error_gets_there():
    told = []
    with pytest.raises(RuntimeError):
        in_a_library(told)
    functions = [frame.function for frame in told[0].reports[0].frames]
    own = functions.index("test_who_called_the_block_is_known_before_the_error_gets_there")
    assert functions[own + 1 : own + 3] == ["in_a_library", "fail"]


class Handler:
    def __init__(self, callbacks):
        self.callbacks = callbacks

    def call_event(self, event, *given):
        for one in self.callbacks:
            getattr(one, event)(*given, model=None)


class Trainer:
    """Made and run as Hugging Face's is: its callbacks are told of the making, and of no error."""

    def __init__(self, callbacks):
        self.callback_handler = Handler(callbacks)
        self.callback_handler.call_event("on_init_end", None, None, None)

    def train(self, resume=None):
        if resume is None:
            fail()
        return resume


def test_a_trainer_that_tells_callbacks_of_no_error_is_run_in_a_block():
    told = []
    assert Trainer([explainer.callback(told.append)]).train(resume=3) == 3
    with pytest.raises(RuntimeError):
        Trainer([explainer.callback(told.append)]).train()
    assert len(told) == 1


PROGRAM = """
import explainer
{install}
import torch

def receive(told):
    print("told", told.reports[0].diagnoses[0].fixes[0].certainty)

def train():
    net = torch.nn.Linear(4, 2)
    net(torch.ones(3, 5)).sum().backward()

with explainer.callback(receive):
    train()
"""


@pytest.mark.parametrize("install", ["explainer.install()", ""])
def test_the_hook_shows_what_was_reported_and_works_nothing_out_again(install, tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM.format(install=install))
    done = python("train.py", cwd=tmp_path, EXPLAINER_REPLAY="1")
    assert done.stdout in ("told checked\n", "told suggestion\n")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last)")
    assert done.stderr.count("error[") == (1 if install else 0)


def test_what_was_reported_is_of_that_error_alone():
    with pytest.raises(RuntimeError) as first, explainer.callback():
        fail()
    with pytest.raises(RuntimeError) as second:
        fail()
    assert process.kept(first.value) is not None
    assert process.kept(second.value) is None
