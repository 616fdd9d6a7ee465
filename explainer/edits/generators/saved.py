"""Candidates for what a program saves, and where: all entries of a model, in a folder that is there."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.generators.loading import saved_keys
from explainer.edits.kinds.arguments import add_argument
from explainer.edits.kinds.statements import insert_statement
from explainer.edits.place import Place
from explainer.patterns import Pattern
from explainer.source import Source, called, walked

_ABSENT = Pattern(r"No such file or directory: '([^']+)'")
#: An entry that a message names.
_UNEXPECTED = re.compile(r'"([\w.]+)"')
_FOLDER = Pattern(r"Parent directory (\S+) does not exist")


def with_buffers(evidence: Evidence) -> Iterator[Candidate]:
    """`{k: v for k, v in net.named_parameters()}` -> `net.state_dict()`, where a load misses running statistics."""
    if "running_mean" not in evidence.message or "Unexpected key(s)" in evidence.message:
        return
    for source in evidence.sources_seen():
        for node in source.nodes():
            call = _named_parameters(node)
            if call is not None and isinstance(call.func, ast.Attribute):
                place, new = Place(source, node), f"{source.text(call.func.value)}.state_dict()"  # type: ignore[arg-type]
                yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text[:48])


def _named_parameters(node: ast.AST) -> ast.Call | None:
    """The `named_parameters()` of which a dict is made."""
    given: list[ast.expr] = []
    if isinstance(node, ast.DictComp):
        given = [one.iter for one in node.generators]
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "dict":
        given = node.args
    calls = [one for one in given if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)]
    return next((one for one in calls if ast.unparse(one.func).endswith(".named_parameters")), None)


def saved_key(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.load(path)["model"]` -> `["net"]`, for a key that the program saves a state under."""
    place = evidence.frames[-1].place if evidence.frames else None
    for node in walked(place.node) if place is not None else ():
        asked = node.slice if isinstance(node, ast.Subscript) else None
        if place is None or not isinstance(asked, ast.Constant) or evidence.message != repr(asked.value):
            continue
        for key in dict.fromkeys(key for source in evidence.sources_seen() for key in saved_keys(source)):
            if key != asked.value:
                place_of_key, new = place.at(asked), f'"{key}"'
                yield from evidence.replaced(place_of_key, new, "replace", "rename", new=new, old=place_of_key.text)


def cached_apart(evidence: Evidence) -> Iterator[Candidate]:
    """`self.register_buffer("table", made)` in a method -> `persistent=False`: a new model has no such entry to load.

    The message names it as unexpected: it was registered when the model that was saved had run.
    """
    names = {key.rpartition(".")[2] for key in _UNEXPECTED.findall(evidence.message.partition("Unexpected key(s)")[2])}
    for source in evidence.sources_seen() if names else ():
        for node in source.nodes():
            if not isinstance(node, ast.Call) or called(node) != "register_buffer" or len(node.args) != 2:
                continue
            function = source.function_at(node.lineno)
            late = function is not None and getattr(function, "name", "") != "__init__"
            if late and isinstance(node.args[0], ast.Constant) and node.args[0].value in names and not node.keywords:
                edits = partial(add_argument, Place(source, node), "persistent=False")
                yield from evidence.made(edits, "add-argument", Place(source, node), "flag",
                                         new="persistent=False", layer="register_buffer")  # fmt: skip


def folder_made(evidence: Evidence) -> Iterator[Candidate]:
    """`os.makedirs(...)` before a save into a folder that does not exist."""
    found, place = _FOLDER.search(evidence.message), evidence.frames[-1].place if evidence.frames else None
    calls = [node for node in walked(place.node) if isinstance(node, ast.Call)] if place is not None else []
    for node in calls:
        if found is None or place is None or ast.unparse(node.func).rpartition(".")[2] != "save" or len(node.args) < 2:
            continue
        path = node.args[1]
        literal = isinstance(path, ast.Constant) and isinstance(path.value, str)
        folder = f'"{found[1]}"' if literal else f"os.path.dirname({place.source.text(path)})"
        text = f"os.makedirs({folder}, exist_ok=True)"
        edits = partial(insert_statement, text, before=place.at(node))
        yield from evidence.made(edits, "insert-statement", place.at(node), "folder", new=text)


def method_called(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.save(net.state_dict, path)` -> `net.state_dict()`: the method was saved, not what it returns."""
    if "'method'" not in evidence.message:
        return
    for source in evidence.sources_seen():
        called = {id(one.func) for one in source.nodes() if isinstance(one, ast.Call)}
        for node in source.nodes():
            if isinstance(node, ast.Attribute) and node.attr == "state_dict" and id(node) not in called:
                place = Place(source, node)
                new = f"{place.text}()"
                yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text)


def saved_path(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.load("models/net.pt")` -> `"net.pt"`: a file of that name, or the only one, is saved elsewhere."""
    found = _ABSENT.search(evidence.message)
    absent = found[1] if found is not None else ""
    saved = list(dict.fromkeys(path for source in evidence.sources_seen() for path in _paths(source)))
    alike = [path for path in saved if os.path.basename(path) == os.path.basename(absent)]
    for path in alike or (saved if len(saved) == 1 else []):
        for source in evidence.sources_seen() if absent and path != absent else ():
            for node in source.nodes():
                if isinstance(node, ast.Constant) and node.value == absent:
                    place, new = Place(source, node), f'"{path}"'
                    yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text)


def _paths(source: Source) -> Iterator[str]:
    """The paths, written as text, of a file's calls of `torch.save`."""
    for node in source.nodes():
        if isinstance(node, ast.Call) and source.text(node.func) == "torch.save":
            given = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "f")]
            yield from (one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str))
