"""Candidates for masks of padding that lack the tokens which the model puts before or behind a sequence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place

_JOINS = ("cat", "concat", "concatenate")


def extended(evidence: Evidence) -> Iterator[Candidate]:
    """`encoder(x, src_key_padding_mask=mask)` -> `F.pad(mask, (1, 0), value=False)` where `x` got a token in front."""
    said = evidence.said
    for frame in reversed(evidence.frames):
        for given, length in _masks(frame):
            for front, back in _added(evidence, length) if length in said else ():
                if length + front + back in said:
                    new = f"torch.nn.functional.pad({given.text}, ({front}, {back}), value=False)"
                    edits = partial(changed, given.source, [(given.span, new)])
                    words: dict[str, Any] = {"what": given.text[:48], "more": front + back}
                    yield from evidence.made(edits, "wrap-call", given, "longer-mask", **words)


def _masks(frame: Call) -> list[tuple[Place, int]]:
    """The masks of padding that a call is given, each with its length."""
    node = frame.place.node
    words = node.keywords if isinstance(node, ast.Call) else []
    named = [word.value for word in words if word.arg and word.arg.endswith("key_padding_mask")]
    held = [(one, frame.scope.get(ast.unparse(one))) for one in named]
    return [(frame.place.at(one), value[0][1]) for one, value in held if isinstance(value, list) and len(value[0]) == 2]


def _added(evidence: Evidence, length: int) -> Iterator[tuple[int, int]]:
    """How many tokens joins put before and behind a sequence of this length."""
    for step in evidence.steps:
        sizes = [shape[1] for shape, _ in step.before if len(shape) == 3] if step.function in _JOINS else []
        if len(step.shape) == 3 and len(sizes) > 1 and sum(sizes) == step.shape[1] and length in sizes:
            at = sizes.index(length)
            yield sum(sizes[:at]), sum(sizes[at + 1 :])
