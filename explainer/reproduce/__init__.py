"""From an error to a minimal script that raises the same error, checked before it is handed out."""

from __future__ import annotations

from explainer.frozen import frozen


@frozen
class Repro:
    """A script that raises the same error as the one it was made for; without one, `why` tells why there is none.

    `checked` tells whether it was run, `raised` the error that it ended with ("RuntimeError: mat1 and mat2 ...").
    """

    script: str = ""
    checked: bool = False
    raised: str = ""
    why: str = ""

    def __bool__(self) -> bool:
        return bool(self.script)

    def __str__(self) -> str:
        return self.script or f"no script: {self.why}"
