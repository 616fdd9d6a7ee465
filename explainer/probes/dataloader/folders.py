"""The folder in which a dataset looked for files and found none: whether it is there, and what lies in and below it."""

from __future__ import annotations

import ast
import fnmatch
import os
import pathlib
import tempfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

from explainer.bindings import arguments_of
from explainer.facts import Settings, SpanFact
from explainer.probes import probe
from explainer.probes.dataloader.samples import method_of, own_dataset
from explainer.probes.files import calls_named
from explainer.probes.scene import Scene
from explainer.probes.values import MISSING, attribute, read
from explainer.source import Function, Source, called

#: How many entries are looked at.
_ENTRIES = 20_000


@probe
def looked_in(scene: Scene, of: SpanFact | None = None) -> Settings | None:
    """What is known of the folder that `glob` looks through for a dataset: `path`, whether it is `there`.

    `below` is how many files with such names lie in folders below, `suffix` the suffix of most that lie in it ("" for
    none). None where the path cannot be read, or is a temporary one that is gone since.
    """
    from explainer.edits.place import place_of

    dataset = own_dataset(scene)
    found = method_of(dataset, "__init__") if dataset is not None else None
    call = _search(place_of(scene.source, of).node) if of is not None else None
    if found is None or call is None:
        return None
    parts = [_value(scene, dataset, found[1], part) for part in _parts(call)]
    path, pattern = _split(parts)
    if path is None or (not os.path.isdir(path) and _temporary(path)):
        return None
    return Settings(tuple({"path": path, **_seen(path, pattern)}.items()))


def _search(node: ast.AST) -> ast.Call | None:
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call) and called(one) in ("glob", "iglob")]
    return calls[0] if len(calls) == 1 and calls[0].args else None


def _parts(call: ast.Call) -> list[ast.expr]:
    """The expressions of a path with its pattern: of `root.glob("*.png")`, `glob.glob(os.path.join(root, "*.png"))`."""
    of_path = isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") != "glob"
    parts = [call.func.value, call.args[0]] if of_path else [call.args[0]]  # type: ignore[attr-defined]
    return [piece for part in parts for piece in _pieces(part)]


def _pieces(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Call) and called(node) in ("Path", "join", "str") and node.args:
        return [piece for one in node.args for piece in _pieces(one)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [*_pieces(node.left), *_pieces(node.right)]
    return [node]


def _value(scene: Scene, dataset: Any, init: Function, node: ast.expr) -> str | None:
    """The text of a part: written there, an attribute of the dataset's, or what its constructor was given."""
    value: Any = None
    if isinstance(node, ast.Constant):
        value = node.value
    elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self":
        value = attribute(dataset, node.attr)
    elif isinstance(node, ast.Name):
        value = _given(scene, type(dataset).__name__, init, node.id)
    known = type(value) is str or isinstance(value, pathlib.PurePath)
    return str(value) if known else None


def _given(scene: Scene, name: str, init: Function, parameter: str) -> Any:
    """What the only call of a class gives a parameter of its `__init__`, where the call's function still runs."""
    calls = calls_named(scene, name)
    names = [one.arg for one in init.args.args[1:]]
    node = arguments_of(calls[0][1], names).get(parameter) if len(calls) == 1 else None
    return _read(scene, *calls[0], node) if node is not None else None


def _read(scene: Scene, source: Source, call: ast.Call, node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    for frame in scene.live.user if scene.live is not None else []:
        if frame.file == source.file and source.scope_at(frame.line) is source.scope_at(call.lineno):
            value = read(node, frame.frame)
            return None if value is MISSING else value
    return None


def _split(parts: list[str | None]) -> tuple[str | None, str]:
    """A path and the pattern behind it; None where a part is not known, or folders on the way are patterns."""
    if not parts or any(part is None for part in parts):
        return None, ""
    path, pattern = os.path.split(os.path.normpath(os.path.join(*(str(part) for part in parts))))
    return (None if any(sign in path for sign in "*?[") else path or "."), pattern


def _temporary(path: str) -> bool:
    """Whether a folder may have gone since the crash: one for temporary files, not one of the program's own."""
    whole, own = os.path.abspath(path), os.getcwd() + os.sep
    return whole.startswith(os.path.abspath(tempfile.gettempdir()) + os.sep) and not whole.startswith(own)


def _seen(path: str, pattern: str) -> dict[str, Any]:
    there = os.path.isdir(path)
    files = list(_files(path)) if there else []
    below = sum(fnmatch.fnmatchcase(name, pattern) for folder, name in files if folder != path)
    suffixes = Counter(os.path.splitext(name)[1] for folder, name in files if folder == path)
    return {"there": there, "below": below, "suffix": suffixes.most_common(1)[0][0] if suffixes else ""}


def _files(path: str) -> Iterator[tuple[str, str]]:
    """Files in and below a folder, with the folder of each, within limits; links are not followed."""
    count = 0
    for folder, _, names in os.walk(path):
        for name in names:
            yield folder, name
        count += len(names) + 1
        if count > _ENTRIES:
            return
