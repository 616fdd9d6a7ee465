"""Batches taken apart the wrong way: a dict unpacked into its keys, a tuple of another length than the names for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.attributes import alike
from explainer.probes.dataloader.samples import method_of, returns_of
from explainer.probes.places import enclosing, span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import MISSING, fields_of, name_value, read
from explainer.source import Source, called, source_of

#: Calls around a loader whose items are, or hold, its batches.
_AROUND = ("enumerate", "tqdm", "iter", "next", "track", "islice", "cycle")


@probe
def unpacked_keys(scene: Scene) -> SpanFact | None:
    """The names into which a batch that is a dict was unpacked, so that they hold its keys: a span with `detail`.

    `names` are those, `keys` the key that each is to be read by, `loop` whether a `for` unpacks, `taken` what is
    unpacked.
    """
    for number, frame in reversed(list(enumerate(scene.live.user if scene.live is not None else []))):
        source = source_of(frame.file, frame.frame.f_globals)
        for statement, targets, value in _unpackings(source, frame):
            names = [one.id for one in targets.elts if isinstance(one, ast.Name)]
            held = [name_value(name, frame.frame) for name in names]
            if len(names) < len(targets.elts) or not held or not _keys_of(held, value, frame):
                continue
            return _fact(source, statement, targets, names, matched(names, held), value)
        if number == 0:
            break
    return None


def _fact(
    source: Source, statement: ast.stmt, targets: ast.Tuple, names: list[str], keys: Sequence[str], value: ast.expr
) -> SpanFact:
    loop = isinstance(statement, ast.For)
    return span_fact(
        source, targets, ", ".join(names), names=tuple(names), keys=tuple(keys), loop=loop, taken=source.text(value)
    )


def _unpackings(source: Source, frame: LiveFrame) -> Iterator[tuple[ast.stmt, ast.Tuple, ast.expr]]:
    """The statements around or before a frame's line that unpack something into names, the nearest first."""
    function = source.scope_at(frame.line)
    loops: list[Any] = enclosing(source, frame.line, (ast.For,))
    assigned = [one for one in ast.walk(function) if isinstance(one, ast.Assign)] if function is not None else []
    before = sorted((one for one in assigned if one.lineno <= frame.line), key=lambda one: -one.lineno)
    for one in (*before, *loops):
        target = one.target if isinstance(one, ast.For) else one.targets[0]
        value = one.iter if isinstance(one, ast.For) else one.value
        if isinstance(one, ast.For) and isinstance(value, ast.Call) and called(value) == "enumerate":
            target = target.elts[-1] if isinstance(target, ast.Tuple) else target
        if isinstance(target, ast.Tuple):
            yield one, target, value


def _keys_of(held: Sequence[Any], value: ast.expr, frame: LiveFrame) -> bool:
    """Whether the values of names are the keys of a batch: strings that a dict has, or that a loader gave."""
    if not all(type(one) is str for one in held):
        return False
    whole = read(value, frame.frame)
    return (type(whole) is dict and list(whole)[: len(held)] == list(held)) or loader_in(value, frame) is not None


def loader_in(node: ast.expr, frame: LiveFrame) -> Any:
    """The DataLoader whose batches an expression goes through: itself, or what `enumerate`, `tqdm`, `next` are given.

    The call itself for one that is made where it stands.
    """
    for _ in range(4):
        value = read(node, frame.frame)
        names = [base.__name__ for base in type(value).__mro__] if value is not MISSING else []
        if "DataLoader" in names or "_BaseDataLoaderIter" in names:
            return value
        if isinstance(node, ast.Call) and called(node) == "DataLoader":
            return node
        if not (isinstance(node, ast.Call) and node.args and called(node) in _AROUND):
            return None
        node = node.args[0]
    return None


def matched(names: Sequence[str], keys: Sequence[str]) -> list[str]:
    """The key for each name: the most alike of all keys where each name has one of its own, else in order."""
    best = [max(keys, key=lambda key: alike(name, key)) for name in names]
    sure = len(set(best)) == len(names) and all(alike(a, b) > 0.5 for a, b in zip(names, best, strict=True))
    return best if sure or len(keys) < len(names) else list(keys[: len(names)])


@probe
def miscounted_batch(scene: Scene) -> SpanFact | None:
    """The names into which a loader's batch was unpacked that has more parts, or is a dict; the dataset's source tells.

    `names`, `keys`, `loop` and `taken` as `unpacked_keys` has them (`keys` empty where samples are tuples), `parts` how
    many a sample has, `dataset` the class, `new` the names for all of them.
    """
    frame = scene.user_frame
    source = source_of(frame.file, frame.frame.f_globals) if frame is not None else None
    if frame is None or source is None:
        return None
    for statement, targets, value in _unpackings(source, frame):
        loader = loader_in(value, frame) if statement.lineno == frame.line else None
        parts = _sample_parts(fields_of(loader).get("dataset") or fields_of(loader).get("_dataset"))
        names = [one.id for one in targets.elts if isinstance(one, ast.Name)]
        if parts is None or len(names) < len(targets.elts):
            continue
        dataset, keys, count = parts
        if count <= len(names):
            return None
        fact = _fact(source, statement, targets, names, matched(names, keys) if keys else (), value)
        new = ", ".join([*names, *["_"] * (count - len(names))])
        about = {**fact.detail, "dataset": dataset, "parts": count, "new": new}
        return span_fact(source, targets, ", ".join(names), **about)
    return None


def _sample_parts(dataset: Any) -> tuple[str, list[str], int] | None:
    """The class of a dataset, the keys of its samples (none for tuples) and how many parts they have."""
    for _ in range(4):
        own = fields_of(dataset) if dataset is not None else {}
        if type(dataset).__name__ == "TensorDataset":
            return "TensorDataset", [], len(own.get("tensors", ()))
        found = method_of(dataset, "__getitem__") if dataset is not None else None
        if found is not None:
            returns = [one.value for one in returns_of(found[1]) if one.value is not None]
            return _parts_of(type(dataset).__name__, returns)
        dataset = own.get("dataset")
    return None


def _parts_of(name: str, returns: list[ast.expr]) -> tuple[str, list[str], int] | None:
    if len(returns) != 1:
        return None
    if isinstance(returns[0], ast.Dict):
        keys = [key.value for key in returns[0].keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
        return (name, keys, len(keys)) if len(keys) == len(returns[0].keys) else None
    return (name, [], len(returns[0].elts)) if isinstance(returns[0], ast.Tuple) else None
