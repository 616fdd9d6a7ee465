"""The log's door, for frameworks that catch errors and only log them: a filter adds the diagnosis to the record."""

from __future__ import annotations

import logging
from typing import Any

from explainer.hooks.section import section


class ExplainFilter(logging.Filter):
    """`logging.getLogger("lightning").addFilter(ExplainFilter())`: explains the errors that it is given.

    A record with `exc_info` gets the diagnosis as its `stack_info`, which formatters put under the traceback. Every
    record passes.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the record pass, explained once however many handlers it meets."""
        if record.exc_info and not getattr(record, "explained", False):
            record.explained = True
            text = section(record.exc_info[1], record.exc_info[2])
            if text:
                record.stack_info = f"{record.stack_info}\n{text}" if record.stack_info else text
        return True


def watch() -> None:
    """What `install(logs=True)` does: every record of `logging` with an error gets its diagnosis as `stack_info`."""
    if not isinstance(logging.getLogRecordFactory(), _Factory):
        logging.setLogRecordFactory(_Factory(logging.getLogRecordFactory()))


def unwatch() -> None:
    """What `uninstall()` does: the factory that stood there before, where ours is still in place."""
    factory = logging.getLogRecordFactory()
    if isinstance(factory, _Factory):
        logging.setLogRecordFactory(factory.previous)


class _Factory:
    """Makes records as before, those with an error explained."""

    def __init__(self, previous: Any):
        self.previous = previous
        self.explain = ExplainFilter()

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = self.previous(*args, **kwargs)
        self.explain.filter(record)
        return record


def loguru(message: Any) -> None:
    """A sink for loguru, which has its own records: `logger.add(explainer.hooks.logs.loguru, level="ERROR")`."""
    from explainer.hooks import process

    error = message.record["exception"]
    if error is not None and error.value is not None and process.wanted(error.value):
        process.explain_once(error.value, error.traceback)
