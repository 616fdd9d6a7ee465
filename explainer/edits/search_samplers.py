"""Candidates for what samplers hand to a dataset: batches in place of indices, tensors where a number is looked up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, as_primary
from explainer.patterns import Pattern

#: Calls that take the indices of samples, and where those stand among the arguments.
_INDICES = {"SubsetRandomSampler": (0, "indices"), "Subset": (1, "indices")}
_KEY = Pattern(r"^tensor\((-?[\d.]+)[,)]")
#: Options of a loader that say how batches are made, which a sampler of batches does itself.
_BATCHING = ("batch_size", "shuffle", "drop_last")


def as_batches(evidence: Evidence) -> Iterator[Candidate]:
    """`DataLoader(data, sampler=batches)` -> `batch_sampler=`, for a sampler that yields lists of indices."""
    if not re.search(r"not (list|tuple)$|unhashable type: '(list|tuple)'", evidence.message):
        return
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Call) and any(word.arg == "sampler" for word in node.keywords):
                new = _rebuilt(Place(source, node), node)
                yield from _said(evidence, Place(source, node), new)
            elif isinstance(node, ast.Dict) and any(_is_sampler(key) for key in node.keys):
                kept = [pair for pair in zip(node.keys, node.values, strict=True) if not _batches(pair[0])]
                parts = [_entry(source.text(value), key) for key, value in kept]
                yield from _said(evidence, Place(source, node), f"{{{', '.join(parts)}}}")
            elif isinstance(node, ast.Subscript) and _is_sampler(node.slice) and isinstance(node.ctx, ast.Store):
                yield from _said(evidence, Place(source, node), f'{source.text(node.value)}["batch_sampler"]')


def as_single(evidence: Evidence) -> Iterator[Candidate]:
    """`batch_sampler=RandomSampler(data)` -> `sampler=`, for a sampler that yields one index at a time."""
    if not re.match(r"'(int|Tensor)' object is not iterable", evidence.message):
        return
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.keyword) and node.arg == "batch_sampler":
                new = f"sampler={source.text(node.value)}"
                yield from evidence.replaced(
                    Place(source, node), new, "replace", "rename", new="sampler", old="batch_sampler"
                )


def _said(evidence: Evidence, place: Place, new: str) -> Iterator[Candidate]:
    yield from evidence.replaced(place, new, "replace", "rename", new="batch_sampler", old="sampler")


def _rebuilt(place: Place, node: ast.Call) -> str:
    """The call with the sampler as `batch_sampler`, without the options that go against it."""
    text = place.source.text
    kept = [word for word in node.keywords if word.arg not in _BATCHING]
    words = [
        f"**{text(word.value)}" if word.arg is None else f"{_renamed(word.arg)}={text(word.value)}" for word in kept
    ]
    return f"{text(node.func)}({', '.join([*(text(one) for one in node.args), *words])})"


def _renamed(name: str) -> str:
    return "batch_sampler" if name == "sampler" else name


def _is_sampler(key: ast.AST | None) -> bool:
    return isinstance(key, ast.Constant) and key.value == "sampler"


def _batches(key: ast.AST | None) -> bool:
    return isinstance(key, ast.Constant) and key.value in _BATCHING


def _entry(value: str, key: ast.expr | None) -> str:
    """An entry of a dict as it is written, that of the sampler under its other name."""
    if key is None:
        return f"**{value}"
    return f'"batch_sampler": {value}' if _is_sampler(key) else f"{ast.unparse(key)}: {value}"


def plain_indices(evidence: Evidence) -> Iterator[Candidate]:
    """`SubsetRandomSampler(rows)` -> `rows.tolist()`, where the entries of a tensor arrive at a lookup by number."""
    if not evidence.message.startswith("tensor("):
        return
    for source in evidence.sources_seen():
        for node in source.nodes():
            for given in [*_given(node), *_yielded(node)]:
                place = Place(source, given)
                new = f"{as_primary(place)}.tolist()"
                if not place.text.endswith(".tolist()"):
                    yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text[:48])


def _given(node: ast.AST) -> Iterator[ast.expr]:
    """The indices that a call is given: of a `Subset`, a sampler, or a loader whose sampler has a name."""
    if not isinstance(node, ast.Call):
        return
    name = ast.unparse(node.func).rpartition(".")[2]
    at, word = _INDICES.get(name, (99, "sampler"))
    named = [one.value for one in node.keywords if one.arg == word]
    for one in [*node.args[at : at + 1], *named]:
        if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)) or "torch." in ast.unparse(one):
            yield one


def _yielded(node: ast.AST) -> Iterator[ast.expr]:
    """What an `__iter__` goes through: `iter(order)`, `yield from order`."""
    if isinstance(node, ast.FunctionDef) and node.name == "__iter__":
        for one in ast.walk(node):
            if isinstance(one, ast.YieldFrom):
                yield one.value
            elif isinstance(one, ast.Call) and ast.unparse(one.func) == "iter" and one.args:
                yield one.args[0]
            elif isinstance(one, ast.For) and any(isinstance(inner, ast.Yield) for inner in ast.walk(one)):
                yield one.iter


def plain_key(evidence: Evidence) -> Iterator[Candidate]:
    """`table[key]` -> `table[int(key)]`, where a dict is asked for a tensor of one number."""
    found = _KEY.match(evidence.message)
    place = evidence.frames[-1].place if evidence.frames else None
    if found is None or place is None:
        return
    for node in ast.walk(place.node):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice):
            key = place.at(node.slice)
            new = f"{as_primary(key)}.item()" if "." in found[1] else f"int({key.text})"
            yield from evidence.replaced(key, new, "replace", "rename", key, new=new, old=key.text[:48])
