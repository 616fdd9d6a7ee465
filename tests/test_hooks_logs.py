"""The filter for frameworks that catch errors and only log them."""

from __future__ import annotations

import io
import logging

import pytest

from explainer.hooks.logs import ExplainFilter

MESSAGE = "mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)"


@pytest.fixture
def log():
    """A logger with our filter, and what it wrote."""
    out = io.StringIO()
    logger = logging.Logger("framework")
    for _ in range(2):
        logger.addHandler(logging.StreamHandler(out))
    for handler in logger.handlers:
        handler.addFilter(ExplainFilter())
    return logger, out


def swallow(logger, error, text="step failed"):
    try:
        raise error
    except type(error):
        logger.exception(text)


def test_the_diagnosis_stands_under_the_traceback_in_every_handler(log):
    logger, out = log
    swallow(logger, RuntimeError(MESSAGE))
    said = out.getvalue()
    assert said.index("step failed") < said.index("Traceback") < said.index("error[matmul-shapes]")
    assert said.count("error[matmul-shapes]") == 2


def test_an_error_is_explained_once_however_many_handlers_log_it(log, monkeypatch):
    logger, _ = log
    calls = []
    monkeypatch.setattr("explainer.hooks.logs.section", lambda *given: calls.append(given) or "said")
    swallow(logger, RuntimeError(MESSAGE))
    assert len(calls) == 1


@pytest.mark.parametrize("error", [ValueError("a plain error"), KeyError("a")])
def test_other_errors_are_logged_as_without_us(log, error):
    logger, out = log
    swallow(logger, error)
    assert "error[" not in out.getvalue()
    assert out.getvalue().count("Traceback") == 2


def test_a_record_without_an_error_passes(log):
    logger, out = log
    logger.warning("slow")
    assert out.getvalue() == "slow\nslow\n"


def test_a_failing_stage_keeps_the_record(log, monkeypatch):
    def broken(*_):
        raise SystemExit(3)

    monkeypatch.setattr("explainer.api.explain_error", broken)
    logger, out = log
    swallow(logger, RuntimeError(MESSAGE))
    assert "the diagnosis failed (SystemExit)" in out.getvalue()
    assert "Traceback" in out.getvalue()
