"""Layers that are there or not by a setting: they shift the numbers under which a Sequential keeps all that follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from explainer.facts import Settings, SpanFact
from explainer.probes import probe
from explainer.probes.checkpoint.loading import load_frame, shapes_of
from explainer.probes.files import sources
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called

#: Layers without parameters: they have no entry in a state dict, and a number in a Sequential all the same.
_BARE = (
    "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "Identity", "Flatten", "Unflatten", "ReLU",
    "LeakyReLU", "GELU", "SiLU", "Mish", "ELU", "Tanh", "Sigmoid", "Softmax", "Hardswish", "Softplus", "MaxPool1d",
    "MaxPool2d", "AvgPool1d", "AvgPool2d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "Upsample", "ZeroPad2d",
)  # fmt: skip
_Layers = list[tuple[int, tuple[tuple[str, tuple[int, ...]], ...]]]


@probe
def shifted_numbers(scene: Scene) -> Settings | None:
    """The Sequential whose layers a checkpoint has in the same order and shapes, but under other numbers.

    `path` is its own, `shown` the changes in words ("mlp.3 -> mlp.4"), `more` whether the checkpoint counts further.
    """
    frame = load_frame(scene)
    if frame is None:
        return None
    own, given = shapes_of(frame)
    for path in dict.fromkeys(path for key in own for path in _containers(key)):
        mine, theirs = _numbered(own, path), _numbered(given, path)
        moved = [(a, b) for (a, _), (b, _) in zip(mine, theirs, strict=False) if a != b]
        if moved and [one for _, one in mine] == [one for _, one in theirs]:
            head = f"{path}." if path else ""
            shown = ", ".join(f"{head}{b} -> {head}{a}" for a, b in moved[:4])
            return Settings((("path", path), ("shown", shown), ("more", moved[0][1] > moved[0][0])))
    return None


def _containers(key: str) -> Iterator[str]:
    """The paths in front of the numbers of a key: "" and "1.net" of "1.net.0.weight"."""
    parts = key.split(".")
    yield from (".".join(parts[:at]) for at, part in enumerate(parts) if part.isdigit())


def _numbered(state: Mapping[str, tuple[int, ...]], path: str) -> _Layers:
    """The entries below a path by number, each with the names and shapes of what it holds."""
    found: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
    head = f"{path}." if path else ""
    for key, shape in state.items():
        number, _, rest = key.removeprefix(head).partition(".") if key.startswith(head) else ("", "", "")
        if number.isdigit():
            found.setdefault(int(number), []).append((rest, shape))
    return [(number, tuple(sorted(found[number]))) for number in sorted(found)]


@probe
def optional_layers(scene: Scene) -> tuple[SpanFact, ...] | None:
    """The statements and choices of the program that add a layer without parameters under a condition only.

    `detail.block` tells an `if` from an expression; `layer` is what it adds, `test` its condition, `always` the source
    of the expression without the choice ("" for a block).
    """
    found = [fact for source in sources(scene) for node in source.nodes() for fact in _optional(source, node)]
    return tuple(found) or None


@probe
def first_optional(scene: Scene) -> SpanFact | None:
    """The first of `optional_layers`."""
    found = optional_layers(scene)
    return found[0] if found else None


def _optional(source: Source, node: ast.AST) -> Iterator[SpanFact]:
    added: Any = None
    if isinstance(node, ast.If) and not node.orelse and len(node.body) == 1:
        added = _added(node.body[0])
    elif isinstance(node, ast.IfExp) and isinstance(node.orelse, (ast.List, ast.Tuple)) and not node.orelse.elts:
        added = node.body.elts[0] if isinstance(node.body, (ast.List, ast.Tuple)) and node.body.elts else None
    if isinstance(node, (ast.If, ast.IfExp)) and isinstance(added, ast.Call) and called(added) in _BARE:
        block = isinstance(node, ast.If)
        always = "" if block else source.text(node.body)  # type: ignore[arg-type]
        about = {"layer": called(added), "test": source.text(node.test), "always": always}
        yield span_fact(source, node, block=block, **about)  # type: ignore[arg-type]


def _added(statement: ast.stmt) -> ast.expr | None:
    """What a statement adds to a list or a Sequential: the argument of `append`, the element of `+= [...]`."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.List) and statement.value.elts:
        return statement.value.elts[0]
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and called(call) in ("append", "add_module") and call.args:
        return call.args[-1]
    return None
