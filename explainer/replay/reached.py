"""How a replay ends: the call that crashed was reached again."""

from __future__ import annotations

from typing import Any


class Reached(BaseException):
    """The call of backward that crashed was reached again; `roots` are the tensors it was given."""

    def __init__(self, roots: list[Any]):
        super().__init__()
        self.roots = roots
