"""Candidates for pictures of four channels among those of three: brought to three where a dataset loads them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, as_primary, bound_above
from explainer.patterns import Pattern
from explainer.source import called

_LOADS = Pattern(r"load|open|read|decode|fetch|fromfile|frombuffer|image|picture|photo|frame", re.IGNORECASE)
_PICTURES = Pattern(r"rgb|alpha|colou?r|channel|image|img|pixel|picture|photo|png|jpe?g|thumb", re.IGNORECASE)
#: How many assignments a part of a sample is followed back through.
_MOST = 4
#: Grey and three colours; the first three channels of a picture that has its channels last, or first.
_COLOURS = 3
_PARTS = ("[..., :3]", "[:3]")


def pictured(evidence: Evidence, shape: list[int]) -> bool:
    """Whether samples of a shape are pictures: wide enough, with a layer for three channels or words that say so."""
    layers = (one.value("in_channels") == _COLOURS for one in evidence.layers)
    return min(shape[1:]) > _COLOURS + 1 and (any(layers) or any(map(_says_so, _datasets(evidence))))


def _datasets(evidence: Evidence) -> Iterator[str]:
    """The sources of the classes that give samples."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.ClassDef) and any(getattr(one, "name", "") == "__getitem__" for one in node.body):
                yield source.text(node)


def _says_so(text: str) -> bool:
    return _PICTURES.search(text) is not None


def three_where_loaded(evidence: Evidence, returned: list[Place], grey: bool) -> Iterator[Candidate]:
    """`np.load(path)` -> `np.load(path)[..., :3]`, `Image.open(path)` -> `.convert("RGB")`, behind what is returned."""
    places = [one for part in returned for one in _loaded(part)]
    for place in {(one.span.file, one.span.line, one.span.column): one for one in places}.values():
        for tail in ['.convert("RGB")'] if _of_pil(place) else [] if grey else _PARTS:
            new = f"{as_primary(place)}{tail}"
            yield from evidence.replaced(place, new, "replace", "three-channels", new=new[:70])


def _loaded(part: Place) -> Iterator[Place]:
    """What a returned part was loaded by, followed back through the names of its function."""
    waiting, left = [(part.node, part.span.line)], _MOST
    scope = part.source.scope_at(part.span.line)
    while waiting and left:
        node, line = waiting.pop(0)
        left -= 1
        found = [one for one in ast.walk(node) if isinstance(one, ast.Call) and _loads(part.source.text(one.func))]
        found += [node] if _entry(node) else []  # type: ignore[list-item]
        if found:
            yield part.at(found[0])
            return
        names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
        bound = [bound_above(scope, name, line) for name in dict.fromkeys(names)]
        waiting += [(one.value, one.lineno) for one in bound if one is not None]


def _loads(text: str) -> bool:
    return _LOADS.search(text.rpartition(".")[2]) is not None


def _entry(node: ast.AST) -> bool:
    """`self.pictures[i]`: an entry of what an object holds."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute)


def _of_pil(place: Place) -> bool:
    return isinstance(place.node, ast.Call) and called(place.node) == "open" and "Image" in place.text.split("(")[0]
