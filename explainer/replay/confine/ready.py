"""Which of some descriptors can be read: `select.select` refuses those from 1024 on, which a large program has."""

from __future__ import annotations

import selectors
from collections.abc import Iterable
from typing import Any


def ready(ones: Iterable[Any], seconds: float | None) -> list[Any]:
    """Those, descriptors or objects with one, that can be read within `seconds` (None: however long it takes)."""
    with selectors.DefaultSelector() as selector:
        for one in ones:
            selector.register(one, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(seconds)]
