"""Candidates for offsets that grow with the wrong count: that of the shifted indices, not of what they point into."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.source import Source, called

_PLAIN = (ast.Name, ast.Attribute, ast.Subscript)


def counted_rows(evidence: Evidence) -> Iterator[Candidate]:
    """`shift += bonds.shape[1]` -> `shift += len(atoms)`, in a loop that keeps `bonds + shift` beside `atoms`."""
    beyond = any(extent is not None for extent in (evidence.crash.extents if evidence.crash else ()))
    for source in evidence.sources_seen() if beyond else ():
        for loop in (node for node in source.nodes() if isinstance(node, ast.For)):
            for grown in _grown(loop):
                for new in _others(source, loop, grown):
                    place = Place(source, grown.value)
                    yield from evidence.replaced(place, new, "replace", "count-rows", new=new, old=place.text[:48])


def _grown(loop: ast.For) -> Iterator[ast.AugAssign]:
    """The statements by which an offset grows with the number of the indices to which it is added in the loop."""
    for node in ast.walk(loop):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
            shifted = _shifted(loop, node.target.id)
            if shifted is not None and any(ast.unparse(one) == shifted for one in ast.walk(node.value)):
                yield node


def _shifted(loop: ast.For, offset: str) -> str | None:
    """`bonds` of `bonds + offset`."""
    for node in ast.walk(loop):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if getattr(other, "id", "") == offset and isinstance(one, _PLAIN):
                    return ast.unparse(one)
    return None


def _others(source: Source, loop: ast.For, grown: ast.AugAssign) -> list[str]:
    """Counts of what else the loop takes from a sample: those that it takes already, then those of what it keeps."""
    calls = [node for node in ast.walk(loop) if isinstance(node, ast.Call)]
    within = {id(one) for one in ast.walk(grown)}
    counts = [source.text(one) for one in calls if called(one) == "len" and id(one) not in within]
    kept = [one.args[0] for one in calls if called(one) == "append" and len(one.args) == 1]
    rows = [f"len({source.text(one)})" for one in kept if isinstance(one, _PLAIN)]
    return list(dict.fromkeys([*counts, *rows]))
