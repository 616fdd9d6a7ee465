"""Candidates for samples of different sizes: a crop behind a resize, equal channels, sequences padded to a length."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, as_primary
from explainer.edits.search_decoded import pictured, three_where_loaded
from explainer.edits.search_samples import parts_returned
from explainer.patterns import Pattern
from explainer.source import Source, called

_SIZES = Pattern(r"equal size, but got \[([\d, ]*)\] at entry \d+ and \[([\d, ]*)\] at entry \d+")
_RESIZES = Pattern(r"resize|scale|short|small|zoom|crop", re.IGNORECASE)
_FIXES = Pattern(r"crop|pad|resize", re.IGNORECASE)
#: Channels of grey, colour and colour with transparency.
_COLOURS, _CLEAR = 3, 4


def _sizes(evidence: Evidence) -> tuple[list[int], list[int]] | None:
    """The shapes of the two samples that do not fit together, of one rank."""
    found = _SIZES.search(" ".join(evidence.message.split()))
    if found is None:
        return None
    first, second = ([int(one) for one in text.split(",") if one.strip()] for text in found.groups())
    return (first, second) if len(first) == len(second) else None


def cropped(evidence: Evidence) -> Iterator[Candidate]:
    """`Resize(n)`, which keeps the aspect ratio, followed by a crop of that size, or given both sides."""
    sizes = _sizes(evidence)
    if sizes is None or len(sizes[0]) < 2 or sizes[0][-2:] == sizes[1][-2:]:
        return
    for source in evidence.sources_seen():
        for siblings in _pipelines(source):
            for step in siblings:
                if isinstance(step, ast.Call) and step.args and _RESIZES.search(called(step)):
                    yield from _behind(evidence, source, step, siblings)
                    yield from _both_sides(evidence, source, step)


def _pipelines(source: Source) -> Iterator[list[ast.expr]]:
    """The lists of steps that a file writes out: elements of lists, arguments of calls."""
    for node in source.nodes():
        if isinstance(node, (ast.List, ast.Tuple)):
            yield node.elts
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            yield node.args


def _behind(evidence: Evidence, source: Source, step: ast.Call, siblings: list[ast.expr]) -> Iterator[Candidate]:
    used = {called(one) for one in siblings if isinstance(one, ast.Call)}
    given = ", ".join(source.text(one) for one in step.args[:1])
    for name in _known(source, ast.unparse(step.func).rpartition(".")[0]):
        if name.rpartition(".")[2] not in used:
            new, place = f"{name}({given})", Place(source, step)
            yield from evidence.replaced(place, f"{place.text}, {new}", "replace", "then-crop", new=new, old=place.text)


def _known(source: Source, package: str) -> list[str]:
    """The crops and resizes that a file can name: its own classes and functions, what it imports, a package's."""
    names = [f"{package}.CenterCrop"] if package else []
    for node in source.nodes():
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.ImportFrom):
            names += [one.asname or one.name for one in node.names]
    return sorted(filter(_FIXES.search, dict.fromkeys(names)), key=lambda name: "center" not in name.lower())


def _both_sides(evidence: Evidence, source: Source, step: ast.Call) -> Iterator[Candidate]:
    size = step.args[0]
    if not isinstance(size, (ast.Tuple, ast.List)):
        text = source.text(size)
        yield from evidence.replaced(Place(source, size), f"({text}, {text})", "replace", "rename", Place(source, step),
                                     new=f"({text}, {text})", old=text)  # fmt: skip


def channels(evidence: Evidence) -> Iterator[Candidate]:
    """Grey images among colour ones, or colours with transparency, given three channels: where loaded, or returned."""
    sizes = _sizes(evidence)
    if sizes is None or len(sizes[0]) != 3 or sizes[0][1:] != sizes[1][1:]:
        return
    both = {sizes[0][0], sizes[1][0]}
    grey, clear = both == {1, _COLOURS}, both == {_COLOURS, _CLEAR} and pictured(evidence, sizes[0])
    if grey or clear:
        yield from three_where_loaded(evidence, list(parts_returned(evidence)), grey)
        yield from _parts(evidence, f"{{}}.expand({_COLOURS}, -1, -1)" if grey else f"{{}}[:{_COLOURS}]")


def filled(evidence: Evidence) -> Iterator[Candidate]:
    """Sequences that `__getitem__` cuts at a length, `ids[:n]`, padded to that length where they are shorter."""
    sizes = _sizes(evidence)
    if sizes is None or len(sizes[0]) != 1:
        return
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.FunctionDef) and node.name == "__getitem__":
                for length in dict.fromkeys(_cut_at(node)):
                    yield from _parts(evidence, f"torch.nn.functional.pad({{0}}, (0, {length} - len({{0}})))")


def _cut_at(function: ast.FunctionDef) -> Iterator[str]:
    """The lengths at which a function cuts sequences: `n` of `[:n]`."""
    for node in ast.walk(function):
        part = node.slice if isinstance(node, ast.Subscript) else None
        if isinstance(part, ast.Slice) and part.lower is None and isinstance(part.upper, (ast.Name, ast.Attribute)):
            yield ast.unparse(part.upper)


def resized(evidence: Evidence) -> Iterator[Candidate]:
    """Images brought to the size of one of the two that differ, where `__getitem__` returns them."""
    sizes = _sizes(evidence)
    if sizes is None or len(sizes[0]) != 3 or sizes[0][0] != sizes[1][0]:
        return
    for height, width in dict.fromkeys([tuple(one[1:]) for one in sizes]):
        yield from _parts(evidence, f"torch.nn.functional.interpolate({{}}[None], size=({height}, {width}))[0]")


def _parts(evidence: Evidence, form: str) -> Iterator[Candidate]:
    """Each part of what `__getitem__` returns in another form, in files that import torch."""
    for place in parts_returned(evidence):
        if isinstance(place.node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) and _torch(place.source):
            new = form.format(as_primary(place))
            yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text)


def _torch(source: Source) -> bool:
    imports = [node for node in source.nodes() if isinstance(node, ast.Import)]
    return any(one.name == "torch" and one.asname is None for node in imports for one in node.names)
