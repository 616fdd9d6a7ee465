"""A repro before it is written out: named synthetic values, and the statements that fail with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from explainer.frozen import frozen
from explainer.reproduce.recipe import Recipe, tensors_of
from explainer.reproduce.source import LADDER, WITHOUT_MEMORY, Detail, source_of

#: More than this many bytes of operands are not made, not even to check a script.
LARGEST = 1 << 30


@frozen
class Sketch:
    """`values` by the name that the statements use; `body` the statements, the failing one last.

    `ladder` are the details to try, plainest first.
    """

    values: Mapping[str, Recipe]
    body: tuple[str, ...]
    ladder: tuple[Detail, ...] = LADDER
    notes: tuple[str, ...] = field(default=())

    @property
    def bytes(self) -> int:
        """About how much memory its tensors take."""
        return sum(one.bytes for one in tensors_of(self.values))

    def scripts(self) -> list[str]:
        """The statements with their values, plainest first, each once."""
        ladder = self.ladder if self.bytes <= LARGEST else WITHOUT_MEMORY
        return list(dict.fromkeys(self.script(detail) for detail in ladder))

    def script(self, detail: Detail) -> str:
        """Imports, values and statements with this much detail."""
        lines = [f"{name} = {source_of(value, detail)}" for name, value in self.values.items()]
        body = list(self.body)
        if detail.autocast:
            body = ['with torch.autocast("cpu", dtype=torch.bfloat16):', *(f"    {line}" for line in body)]
        return with_imports("\n".join([*lines, *body]))


def with_imports(body: str) -> str:
    """A script's body below the imports that it needs."""
    imports = ["import torch"]
    if "F." in body:
        imports.append("import torch.nn.functional as F")
    if "nn." in body.replace("torch.nn.", ""):
        imports.append("from torch import nn")
    if "torch.utils.data" in body:
        imports.append("import torch.utils.data")
    return "\n".join(imports) + "\n\n" + body + "\n"
