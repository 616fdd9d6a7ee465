"""The filter for frameworks that catch errors and only log them."""

from __future__ import annotations

import asyncio
import gc
import io
import logging
from types import SimpleNamespace

import pytest

import explainer
from explainer.hooks import logs
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


def test_install_with_logs_explains_what_any_logger_is_given(capsys):
    out = io.StringIO()
    logger = logging.getLogger("some.framework")
    handler = logging.StreamHandler(out)
    logger.addHandler(handler)
    before = logging.getLogRecordFactory()
    try:
        explainer.install(logs=True)
        explainer.install(logs=True)
        swallow(logger, RuntimeError(MESSAGE))
        assert out.getvalue().count("error[matmul-shapes]") == 1
    finally:
        explainer.uninstall()
        logger.removeHandler(handler)
    assert logging.getLogRecordFactory() is before


def test_a_task_that_nobody_awaits_is_explained(caplog):
    async def main():
        task = asyncio.create_task(fails())
        await asyncio.sleep(0)
        del task

    async def fails():
        raise RuntimeError(MESSAGE)

    try:
        explainer.install(logs=True)
        asyncio.run(main())
        gc.collect()
    finally:
        explainer.uninstall()
    assert caplog.text.count("error[matmul-shapes]") == 1


def test_the_sink_for_loguru_explains_a_record_that_has_an_error(capsys):
    error = RuntimeError(MESSAGE)
    logs.loguru(SimpleNamespace(record={"exception": None}))
    assert capsys.readouterr().err == ""
    logs.loguru(SimpleNamespace(record={"exception": SimpleNamespace(value=error, traceback=None)}))
    assert "error[matmul-shapes]" in capsys.readouterr().err
