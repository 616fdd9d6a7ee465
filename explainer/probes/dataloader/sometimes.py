"""A key that a dataset puts into some samples only: the statement that adds it, and what could stand in the others."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from explainer.edits.kinds.filling import companions, fill_key, keyed
from explainer.edits.lines import EditError
from explainer.edits.place import Place
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.dataloader.datasets import dataset_of
from explainer.probes.dataloader.samples import method_of, own_dataset
from explainer.probes.files import nodes_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Function, Source


@probe
def key_added(scene: Scene) -> SpanFact | None:
    """What adds the key that a batch lacks to some samples: a statement, an `... if ... else {}`, or a returned dict.

    `detail`: `dataset` the dataset's class, `function` where it stands, `fills` the key and others that are added with
    it, each with the source of a value of the same kind, `filler` the first of these (None where no sample with the
    key can be had).
    """
    dataset, key = own_dataset(scene) or dataset_of(scene), _key(scene)
    places = _places(scene, dataset, str(key)) if dataset is not None and key is not None else []
    if not places:
        return None
    source, node = places[0]
    fills = _fills(scene, dataset, [key, *companions(Place(source, node), str(key))])
    about = {"dataset": type(dataset).__name__, "function": source.qualified_at(node.lineno), "fills": fills}
    return span_fact(source, node, **about, filler=fills[0][1] if fills else None)


def _key(scene: Scene) -> Any:
    """The key as the message of a KeyError prints it; None where it is no string or number."""
    try:
        found = ast.literal_eval(scene.crash.message.strip())
    except (ValueError, SyntaxError):
        return None
    return found if type(found) in (str, int) else None


def _places(scene: Scene, dataset: Any, key: str) -> list[tuple[Source, ast.stmt | ast.IfExp]]:
    """Where the dataset's methods add a key under a condition; else where the only other function that does, does."""
    own = [(source, node) for source, method in _methods(dataset) for node in _sometimes(source, method, key)]
    if own:
        return own if len({source.function_at(node.lineno) for source, node in own}) == 1 else []
    others = [
        [(source, node) for node in _sometimes(source, one, key)] for source, one in nodes_of(scene, ast.FunctionDef)
    ]
    found = [one for one in others if one]
    return found[0] if len(found) == 1 else []


def _methods(dataset: Any) -> Iterator[tuple[Source, Function]]:
    for name in dict.fromkeys(name for base in type(dataset).__mro__ for name in vars(base)):
        found = method_of(dataset, name)
        if found is not None:
            yield found


def _sometimes(source: Source, function: ast.AST, key: str) -> Iterator[ast.stmt | ast.IfExp]:
    """What adds a key in a function, where there is a way past it."""
    for node in keyed(function, key):
        try:
            fill_key(Place(source, node), ((key, "0"),))
        except EditError:
            continue
        yield node


def _fills(scene: Scene, dataset: Any, keys: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    """Fillers like what samples of the failing batch have, or else like what samples made in a sandbox have."""
    from explainer.replay.sampled import fillers_in, fillers_like_samples

    for frame in reversed(scene.live.frames if scene.live is not None else []):
        if "utils/data/_utils" in frame.file.replace("\\", "/"):
            held = [frame.locals.get(name) for name in ("batch", "data")]
            found = fillers_in([sample for one in held if type(one) is list for sample in one], keys)
            if found:
                return found
    return fillers_like_samples(scene, dataset, keys)
