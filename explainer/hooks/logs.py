"""The log's door, for frameworks that catch errors and only log them: a filter adds the diagnosis to the record."""

from __future__ import annotations

import logging

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
