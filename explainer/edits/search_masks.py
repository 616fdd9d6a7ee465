"""Candidates for masks that lack tokens which the model puts around a sequence, or heads, or that are of padding."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.lines import changed
from explainer.edits.place import Place, as_primary, bound_above
from explainer.patterns import Pattern

_JOINS = ("cat", "concat", "concatenate")
_PER_HEAD = Pattern(r"3D attn_mask is torch\.Size\(\[(\d+), (\d+), (\d+)\]\), but should be \((\d+), \2, \3\)")

_OF_PAIRS = Pattern(r"2D attn_mask is torch\.Size\(\[(\d+), (\d+)\]\), but should be \((\d+), (\d+)\)")
#: The arguments that take a mask [batch, length] of what is padding.
_PADDING = ("src_key_padding_mask", "key_padding_mask", "tgt_key_padding_mask")


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


def per_head(evidence: Evidence) -> Iterator[Candidate]:
    """`attn_mask=mask` -> `attn_mask=mask.repeat_interleave(heads, dim=0)`: a mask of each sample, not of each head."""
    said = _PER_HEAD.search(evidence.message)
    own, wanted = ([int(said[1]), int(said[2]), int(said[3])], int(said[4])) if said else ([], 0)
    if not own or wanted % own[0]:
        return
    for frame in reversed(evidence.frames):
        node = frame.place.node
        given = [*node.args, *(word.value for word in node.keywords)] if isinstance(node, ast.Call) else []
        for one in (frame.place.at(one) for one in given):
            if frame.shape(one.text) == own:
                new = f"{as_primary(one)}.repeat_interleave({_heads(frame, wanted // own[0])}, dim=0)"
                yield from evidence.replaced(one, new, "insert-method", "per-head", new=new)


def as_padding(evidence: Evidence) -> Iterator[Candidate]:
    """`encoder(x, pad)` -> `encoder(x, src_key_padding_mask=pad)`: a mask [batch, length] where one of pairs goes."""
    said = _OF_PAIRS.search(evidence.message)
    shape = [int(said[1]), int(said[2])] if said is not None and said[2] == said[3] == said[4] else None
    for frame in reversed(evidence.frames) if shape is not None else ():
        node = frame.place.node
        given = [*node.args[1:], *(word.value for word in node.keywords)] if isinstance(node, ast.Call) else []
        for one in (frame.place.at(one) for one in given if isinstance(one, (ast.Name, ast.Attribute))):
            if frame.shape(one.text) == shape and frame.scope[one.text][1] == "bool":
                yield from _as_padding(evidence, frame.place, one)


def _as_padding(evidence: Evidence, call: Place, mask: Place) -> Iterator[Candidate]:
    """A call with one of its masks as that of padding, under each name that torch's layers have for it."""
    node: Any = call.node
    bound = bound_above(call.source.scope_at(call.span.line), mask.text, call.span.line)
    test = bound.value if bound is not None else None
    kept = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq)
    others = [call.source.text(one) for one in node.args if one is not mask.node]
    words = [f"{word.arg}={call.source.text(word.value)}" for word in node.keywords if word.value is not mask.node]
    for name in _PADDING if None not in [word.arg for word in node.keywords] else ():
        new = f"{name}={'~' if kept else ''}{mask.text}"
        text = f"{call.source.text(node.func)}({', '.join([*others, *words, new])})"
        yield from evidence.replaced(call, text, "set-argument", "as-padding", new=new, what=mask.text)


def _heads(frame: Call, count: int) -> str:
    """What a function calls the number of heads, else the number."""
    held = [name for name, value in frame.scope.items() if value == count and "head" in name and "len(" not in name]
    return min(held, key=len, default=str(count))
