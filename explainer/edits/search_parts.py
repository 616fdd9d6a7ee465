"""Candidates for the parts of a batch: as many names as there are parts, tensors of a batch stacked into one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.patterns import Pattern
from explainer.source import loaded

_PARTS = Pattern(r"(too many|not enough) values to unpack \(expected (?:at least )?(\d+)(?:, got (\d+))?\)")


def all_parts(evidence: Evidence) -> Iterator[Candidate]:
    """`for x, y in loader` -> `for x, y, *_ in loader` for more parts than names; fewer names where they go unused."""
    found = _PARTS.search(evidence.message)
    place = evidence.frames[-1].place if evidence.frames else None
    if found is None or place is None:
        return
    for target in _targets(place, int(found[2])):
        texts = [place.source.text(one) for one in target.elts]
        if found[1] == "too many":
            offered = [[*texts, "*_"]]
        else:
            used = _used(place, target)
            gone = [at for at, text in enumerate(texts) if text not in used]
            offered = [[t for at, t in enumerate(texts) if at != one] for one in reversed(gone)]
            offered = offered if found[3] is None or int(found[3]) == len(texts) - 1 else []
        for names in offered:
            new = ", ".join(names)
            text = f"({new})" if place.source.text(target).startswith("(") else new
            yield from evidence.replaced(place.at(target), text, "replace", "all-parts", new=new)


def _targets(place: Place, count: int) -> Iterator[ast.Tuple]:
    """The tuples of names, as long as the message says, of the failing statement or the loop on its line."""
    line = place.span.line
    for node in place.source.nodes():
        if isinstance(node, (ast.For, ast.Assign)) and node.lineno == line:
            target = node.target if isinstance(node, ast.For) else node.targets[0]
            for one in ast.walk(target):
                if isinstance(one, ast.Tuple) and len(one.elts) == count:
                    yield one


def _used(place: Place, target: ast.Tuple) -> set[str]:
    """The names that the function reads."""
    scope = place.source.scope_at(target.lineno)
    return loaded(scope) if scope is not None else set()


def stacked(evidence: Evidence) -> Iterator[Candidate]:
    """`torch.stack(xs)` for a list or tuple of tensors that a collate function returns as it is."""
    if not re.search(r"must be Tensor, not (list|tuple)|'(list|tuple)' object has no attribute", evidence.message):
        return
    names = {name for source in evidence.sources_seen() for name in _collating(source.nodes())}
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.FunctionDef) and node.name in names:
                for part in _returned(node):
                    place = Place(source, part)
                    new = f"torch.stack({_inside(place, part)})"
                    yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text)


def _collating(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names given as `collate_fn`."""
    for node in nodes:
        if isinstance(node, ast.keyword) and node.arg == "collate_fn":
            yield ast.unparse(node.value).rpartition(".")[2]


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            values = [one for part in parts for one in (part.values if isinstance(part, ast.Dict) else [part])]
            yield from (one for one in values if isinstance(one, (ast.Name, ast.ListComp)) or _listed(one))


def _listed(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("list", "tuple") and len(node.args) == 1


def _inside(place: Place, node: ast.expr) -> str:
    """What is stacked: `xs` of `list(xs)`."""
    return place.source.text(node.args[0]) if isinstance(node, ast.Call) else place.text
