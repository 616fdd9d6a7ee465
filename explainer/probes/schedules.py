"""Schedulers of the learning rate: the metric that one watches where it steps, the number of steps it is built for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sized
from typing import Any

from explainer.bindings import only_value
from explainer.edits.place import Place, as_primary
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.dataloader.loops import loader_in_loop
from explainer.probes.files import calls_named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, is_tensor, read
from explainer.source import Source, called

#: What names of metrics hold, the likeliest first: where the lowest is best, and where the highest is.
_LOW = ("loss", "err", "rmse", "mae", "mse", "perplexity", "ppl", "metric", "score")
_HIGH = ("acc", "f1", "auc", "iou", "dice", "map", "score", "metric", "psnr", "corr")
#: What names hold of values measured on data that is kept apart.
_APART = ("val", "dev", "test", "eval", "held")
#: Names that begin so are of the best value so far, or of a sum over batches.
_NOT = ("best", "min_", "max_")
_MOST = 3


@probe
def plateau_step(scene: Scene) -> SpanFact | None:
    """`scheduler.step()` of a ReduceLROnPlateau without its metric: a span with `detail`.

    `owner` is the scheduler's source, `mode` min or max, `ways` the calls with a metric in scope, likeliest first.
    """
    failing, frame = scene.failing, scene.user_frame
    call = call_node(failing.node) if failing is not None else None
    if failing is None or frame is None or not isinstance(call, ast.Call) or called(call) != "step" or call.args:
        return None
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    scheduler = read(owner, frame.frame) if owner is not None else None
    mode = fields_of(scheduler).get("mode")
    if owner is None or mode not in ("min", "max"):
        return None
    source, words = failing.source, _LOW if mode == "min" else _HIGH
    text = source.text(owner)
    scope = {name: value for name, value in frame.locals.items() if name != "self"}
    ranked = sorted(_metrics(scope, words), key=lambda one: one[0])
    own = sorted(_metrics(_plain(frame.locals.get("self")), words, "self."), key=lambda one: one[0])
    found = list(dict.fromkeys(name for _, name in [*ranked, *own]))[:_MOST]
    return span_fact(source, call, text, owner=text, mode=mode, ways=tuple(f"{text}.step({one})" for one in found))


@probe
def floored_batches(scene: Scene) -> SpanFact | None:
    """The only `samples // size` that a schedule's number of steps is made of, where the loader has a batch more.

    `detail`: `up`, the same rounded up; `batches` and `samples` of the loader in use, 0 where it is not in sight. None
    where that loader leaves its last, smaller batch out, or has none.
    """
    planned = [(source, word.value) for source, call in calls_named(scene, "OneCycleLR")
               for word in call.keywords if word.arg in ("steps_per_epoch", "total_steps")]  # fmt: skip
    own = fields_of(loader_in_loop(scene))
    size, data = own.get("batch_size") or 0, own.get("dataset")
    samples = len(data) if type(size) is int and size and isinstance(data, Sized) else 0
    every = [(source, one) for source, node in planned for one in _quotients(source, node)]
    found = [(source, one) for source, one in every if samples or _of_length(one.left)]
    if len(found) != 1:
        return None
    source, node = found[0]
    if samples and (own.get("drop_last") or samples % size == 0):
        return None
    up = f"-(-{as_primary(Place(source, node.left))} // {source.text(node.right)})"
    return span_fact(source, node, up=up, samples=samples, batches=-(-samples // size) if samples else 0)


def _quotients(source: Source, node: ast.expr, steps: int = 3) -> Iterator[ast.BinOp]:
    """The divisions that are rounded down in an expression and in what its names were bound to."""
    scope = source.function_at(node.lineno) or source.tree
    for one in ast.walk(node):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.FloorDiv):
            yield one
        elif isinstance(one, ast.Name) and steps and (value := only_value(scope, one.id)) is not None:
            yield from _quotients(source, value, steps - 1)


def _of_length(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Call) and called(part) == "len" for part in ast.walk(node))


def _plain(owner: Any) -> Mapping[str, Any]:
    return {name: value for name, value in fields_of(owner).items() if not name.startswith("_")}


def _metrics(scope: Mapping[str, Any], words: tuple[str, ...], head: str = "") -> Iterator[tuple[tuple[int, ...], str]]:
    """Expressions for numbers in a scope that are named as a metric, with a rank, the lower the better."""
    for place, (name, value) in enumerate(reversed(list(scope.items()))):
        for text, number, called_so in _numbers(f"{head}{name}", name, value):
            rank = _rank(called_so.lower(), words)
            if rank is not None:
                yield (*rank, place), f"{text}.item()" if is_tensor(number) else text


def _numbers(text: str, name: str, value: Any, deep: int = 2) -> Iterator[tuple[str, Any, str]]:
    """The numbers that a value is or holds: the source for each, and the names on the way to it."""
    if type(value) in (int, float) or (is_tensor(value) and value.numel() == 1):
        yield text, value, name
    elif type(value) is list and value and deep:
        yield from _numbers(f"{text}[-1]", name, value[-1], deep - 1)
    elif isinstance(value, dict) and deep:
        for key, one in list(value.items())[:40]:
            if isinstance(key, str):
                yield from _numbers(f'{text}["{key}"]', f"{name} {key}", one, deep - 1)


def _rank(name: str, words: tuple[str, ...]) -> tuple[int, int] | None:
    held = [at for at, word in enumerate(words) if word in name]
    if not held or name.startswith(_NOT):
        return None
    return int(not any(word in name for word in _APART)), held[0]
