"""Arguments of a call: exchanged, left out, given too."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from explainer.edits.evidence import Evidence
from explainer.repair.atoms.common import calls, expressions, tensors, text
from explainer.repair.offer import Offer
from explainer.repair.spots import Spot
from explainer.source import called

#: What a call may lack, by its last name.
_REDUCTIONS = ("sum", "mean", "amax", "amin", "norm", "std", "var", "prod", "logsumexp", "argmax", "max", "min", "any")
_LACKING: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(_REDUCTIONS, ("keepdim=True",)),
    **dict.fromkeys(("flatten",), ("start_dim=1", "start_dim=2", "end_dim=1", "end_dim=-2")),
    **dict.fromkeys(("GRU", "LSTM", "RNN", "MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer",
                     "Transformer"), ("batch_first=True",)),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), ("batch_first=True", "bidirectional=True")),
    **dict.fromkeys(("cat", "stack", "concat"), ("dim=1", "dim=-1", "dim=2")),
    **dict.fromkeys(("softmax", "log_softmax", "cumsum", "squeeze"), ("dim=-1", "dim=1")),
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d", "conv1d", "conv2d"),
                    ("padding=1", "stride=2", "padding=2", "groups=1")),
    **dict.fromkeys(("ConvTranspose1d", "ConvTranspose2d"), ("output_padding=1", "stride=2", "padding=1")),
    **dict.fromkeys(("MaxPool2d", "max_pool2d", "MaxPool1d", "AvgPool2d"), ("padding=1", "ceil_mode=True", "stride=1")),
    **dict.fromkeys(("repeat_interleave",), ("dim=0", "dim=1")),
    **dict.fromkeys(("cross_entropy", "CrossEntropyLoss", "nll_loss"), ("ignore_index=-1", "ignore_index=0")),
    **dict.fromkeys(("arange",), ("2",)),
    **dict.fromkeys(("meshgrid",), ('indexing="ij"',)),
    **dict.fromkeys(("load_state_dict",), ("strict=False",)),
}  # fmt: skip
#: The most arguments of which every pair is exchanged; of more only neighbours.
_PAIRS = 4


def swap(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`Linear(dim, patch)` -> `Linear(patch, dim)`: two arguments, sizes, or values of keywords exchanged."""
    for node in expressions(spot):
        for own in _rows(node):
            near = [(i, j) for i in range(len(own)) for j in range(i + 1, len(own)) if j == i + 1 or len(own) <= _PAIRS]
            for i, j in near:
                one, other = text(spot, own[i]), text(spot, own[j])
                if one != other and not isinstance(own[i], ast.Starred) and _alike(own[i], own[j]):
                    weight = 0.3 * (j - i) + 1.3 * (_scrambles(node) and i == 0)
                    weight += 0.8 * (isinstance(own[i], ast.Call) and isinstance(own[j], ast.Call))
                    yield Offer("swap", spot, node, _with(spot, node, {id(own[i]): other, id(own[j]): one}), "", weight)
            if len(own) > 2 and isinstance(node, (ast.Call, ast.Tuple)):
                yield from _turned(spot, node, own)


def _alike(one: ast.expr, other: ast.expr) -> bool:
    """Whether two arguments may be of one kind: a text, or a list beside a number, is none."""
    plain = [isinstance(node, ast.Constant) and isinstance(node.value, (str, bool)) for node in (one, other)]
    rows = [isinstance(node, (ast.List, ast.Tuple, ast.Dict)) for node in (one, other)]
    return not any(plain) and rows[0] == rows[1]


def _scrambles(node: ast.expr) -> bool:
    """Whether the first argument is the batch of a view."""
    return isinstance(node, ast.Call) and called(node) in ("view", "reshape") and len(node.args) > 2


def _turned(spot: Spot, node: ast.expr, own: Sequence[ast.expr]) -> Iterator[Offer]:
    """The row with its last brought to front, or its first to the end."""
    texts = [text(spot, one) for one in own]
    for turned in (texts[-1:] + texts[:-1], texts[1:] + texts[:1]):
        changes = {id(one): new for one, new in zip(own, turned, strict=True)}
        yield Offer("swap", spot, node, _with(spot, node, changes), "turned", 1.0)


def _rows(node: ast.expr) -> Iterator[Sequence[ast.expr]]:
    """What may stand in another order: a call's arguments, its keywords' values, the elements of a tuple or list."""
    if isinstance(node, ast.Call) and called(node) != "range":
        yield [one for one in node.args if not isinstance(one, ast.Starred)]
        yield [word.value for word in node.keywords if not isinstance(word.value, ast.Constant)]
        if len(node.args) == 1 and len(node.keywords) == 1:
            yield [node.args[0], node.keywords[0].value]
    elif isinstance(node, (ast.Tuple, ast.List)) and 1 < len(node.elts) < 7:
        yield node.elts


def _with(spot: Spot, node: ast.AST, changes: Mapping[int, str]) -> str:
    """The source of a node with some of its inner nodes' texts replaced."""
    return replaced(spot, node, [(one, changes[id(one)]) for one in ast.walk(node) if id(one) in changes])


def replaced(spot: Spot, node: ast.AST, changes: Sequence[tuple[ast.AST, str]]) -> str:
    """The source of a node with the texts of inner nodes, which do not overlap, replaced."""
    source = spot.place.source
    lines = [line.encode() for line in source.lines[node.lineno - 1 : node.end_lineno]]  # type: ignore[attr-defined]
    first = node.lineno  # type: ignore[attr-defined]
    lines[-1] = lines[-1][: node.end_col_offset]  # type: ignore[attr-defined]
    for one, new in sorted(changes, key=lambda change: (change[0].lineno, change[0].col_offset), reverse=True):  # type: ignore[attr-defined]
        top, end = one.lineno - first, one.end_lineno - first  # type: ignore[attr-defined]
        head, tail = lines[top][: one.col_offset], lines[end][one.end_col_offset :]  # type: ignore[attr-defined]
        lines[top : end + 1] = [head + new.encode() + tail]
    lines[0] = lines[0][node.col_offset :]  # type: ignore[attr-defined]
    return b"\n".join(lines).decode("utf-8", "replace")


def drop(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`f(x, bias=False)` -> `f(x)`: an argument, a size, an operand or an element left out."""
    for node in expressions(spot):
        if isinstance(node, ast.Call):
            given = [*node.args, *node.keywords]
            for one in given if len(given) > 1 or given == node.keywords else ():
                weight = 1.6 if isinstance(one, ast.keyword) else 1.3
                yield Offer("drop", spot, node, _without(spot, node, one), "", weight)
        elif isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) > 2:
            for one in node.elts:
                yield Offer("drop", spot, node, _without_element(spot, node, one), "", 1.5)


def _without(spot: Spot, node: ast.Call, gone: ast.AST) -> str:
    rest = [text(spot, one) if not isinstance(one, ast.keyword) else _word(spot, one)
            for one in [*node.args, *node.keywords] if one is not gone]  # fmt: skip
    return f"{text(spot, node.func)}({', '.join(rest)})"


def _word(spot: Spot, word: ast.keyword) -> str:
    return f"{word.arg}={text(spot, word.value)}" if word.arg else f"**{text(spot, word.value)}"


def _without_element(spot: Spot, node: ast.Tuple | ast.List, gone: ast.AST) -> str:
    rest = ", ".join(text(spot, one) for one in node.elts if one is not gone)
    bare = isinstance(node, ast.Tuple) and not text(spot, node).startswith("(")
    return rest if bare else f"({rest})" if isinstance(node, ast.Tuple) else f"[{rest}]"


def keyword(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`x.sum(-1)` -> `x.sum(-1, keepdim=True)`: what calls of this kind are often given and this one lacks."""
    for node in calls(spot):
        known = {word.arg for word in node.keywords}
        for at, lacking in enumerate(_LACKING.get(called(node), ())):
            if lacking.partition("=")[0] not in known:
                yield Offer("keyword", spot, node, with_argument(spot, node, lacking), lacking, 0.6 + 0.2 * at)
        yield from _as_beside(spot, node, known)
        yield from _of_scope(spot, node, known)


def _of_scope(spot: Spot, node: ast.Call, known: set[str | None]) -> Iterator[Offer]:
    """A parameter of a layer's constructor that has a name of its own in scope: `Conv2d(a, b, 1)` with `stride`."""
    parameters = spot.layer.parameters if spot.layer is not None and spot.role == "built" else ()
    for one in parameters[len(node.args) :] if node is spot.place.node else ():
        if one in spot.scope and one not in known:
            yield Offer("keyword", spot, node, with_argument(spot, node, f"{one}={one}"), "scope", 0.2)


def element(spot: Spot, evidence: Evidence) -> Iterator[Offer]:
    """`map(split, (q, k))` -> `(q, k, v)`: a tensor that has a name there and is not listed."""
    known = tensors(spot)
    for node in expressions(spot):
        if (
            isinstance(node, (ast.Tuple, ast.List))
            and node.elts
            and all(isinstance(one, ast.Name) for one in node.elts)
        ):
            listed = {one.id for one in node.elts if isinstance(one, ast.Name)}
            whole = text(spot, node)
            ending = whole[-1] if whole[-1:] in ")]" else ""
            for other in [one for one in known if one.isidentifier() and one not in listed][:6]:
                inner = whole[: len(whole) - len(ending)]
                yield Offer("element", spot, node, f"{inner}, {other}{ending}", "scope", 1.0)


def _as_beside(spot: Spot, node: ast.Call, known: set[str | None]) -> Iterator[Offer]:
    """A keyword that the same function is given elsewhere in the file."""
    name, file = called(node), spot.place.source
    others = [one for one in file.nodes() if isinstance(one, ast.Call) and called(one) == name and one is not node]
    words = {_word(spot, word) for one in others[:20] for word in one.keywords if word.arg and word.arg not in known}
    for word in sorted(words)[:6] if name else ():
        yield Offer("keyword", spot, node, with_argument(spot, node, word), "sibling", 0.9)


def with_argument(spot: Spot, node: ast.Call, argument: str) -> str:
    """A call's source with one more argument."""
    whole = text(spot, node)
    inner = whole.rstrip()[:-1].rstrip()
    joint = "" if inner.endswith("(") else " " if inner.endswith(",") else ", "
    return f"{inner}{joint}{argument})"
