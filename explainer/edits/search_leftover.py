"""Candidates for maps of which more is left than one result for each image: the image's side, the last kernel, a mean.

A network that halves its maps so many times is made for images of one side; larger ones leave several places.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import Any

from explainer.bindings import name_of_value
from explainer.edits import arguments
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.edits.search_layout import put_behind
from explainer.edits.search_literals import leaves, of_random_data
from explainer.edits.slices import argument_places, editable, operands, trunk
from explainer.edits.windowed import side_for, windows_behind
from explainer.patterns import Pattern
from explainer.source import Source

_SIDE = Pattern(r"size|side|crop|res(olution)?|height|width|img|image|pix|\b[hw]\b", re.IGNORECASE)
#: Sizes that are no sides of images.
_OTHER = Pattern(r"batch|kernel|hidden|vocab|buffer|step|embed|pool|patch|queue", re.IGNORECASE)
_FOLDS = ("view", "reshape", "flatten", "squeeze")


def fitting_side(evidence: Evidence) -> Iterator[Candidate]:
    """`"image_size": 64` -> `32`, the side of which the network's convolutions leave one place."""
    way = _map_left(evidence) or _map_too_small(evidence)
    windows, side = windows_behind(way)
    fitting = side_for(windows, side) if len(windows) > 1 else None
    if fitting is None or fitting == side:
        return
    places = _decided(evidence, way, side)
    if len(places) > 1:
        yield from _all(evidence, places, side, fitting)
    for place in places:
        yield from _all(evidence, [place], side, fitting)


def last_kernel(evidence: Evidence) -> Iterator[Candidate]:
    """The kernel of the last convolution as large as the map that it gets, or the mean of all places left."""
    way = _map_left(evidence)
    if not way:
        return
    if evidence.crash is not None and "cross_entropy" in evidence.crash.function and "binary" not in evidence.message:
        yield from _averaged(evidence, way)
    last = next((step for step in way[:4] if step.layer is not None and step.layer.type.startswith("Conv")), None)
    layer, size = (last.layer, last.before[0][0][-1]) if last is not None else (None, 0)
    if layer is not None and layer.calls and 1 < (layer.value("kernel_size") or 0) < size:
        call = layer.calls[0].place
        words: dict[str, Any] = {"layer": layer.type, "argument": "kernel_size", "new": size}
        edits = partial(arguments.set_argument, call, "kernel_size", size)
        yield from evidence.made(edits, "set-argument", call, "padding", **words)
    yield from _averaged(evidence, way)


def _averaged(evidence: Evidence, way: Sequence[Step]) -> Iterator[Candidate]:
    """`self.net(x).view(-1)` -> `self.net(x).mean(dim=(2, 3)).view(-1)`."""
    fold = next((step for step in evidence.steps[1:] if step.function in _FOLDS and step.inputs[:1]), None)
    place = next(iter(argument_places(fold)), None) if fold is not None else None
    if place is None or not editable(place):
        return
    dims = tuple(range(2, len(way[0].shape)))
    method = f"mean(dim={dims if len(dims) > 1 else dims[0]})"
    yield from put_behind(evidence, place, method, way[0].shape)


def _map_left(evidence: Evidence) -> list[Step]:
    """The way back from the map of which several places are left for each target; empty where there is none."""
    every = operands(evidence)
    if len(every) < 2 or not every[1].shape:
        return []
    wanted = every[1].shape
    way = trunk(evidence, every[0].start)
    while way and way[0].function in (*_FOLDS, "sigmoid", "contiguous"):
        way = way[1:]
    shape = way[0].shape if way else []
    several = len(shape) > 2 and prod(shape[2:]) > 1 and shape[0] == wanted[0] and prod(wanted) <= prod(shape[:2])
    return way if several and prod(every[0].shape) == prod(shape) else []


def _map_too_small(evidence: Evidence) -> list[Step]:
    """The way back from a convolution whose kernel is larger than the map that it gets."""
    crash = evidence.crash
    if crash is None or "ernel size" not in evidence.message or not crash.function.startswith("conv"):
        return []
    return [crash, *trunk(evidence, next(iter(crash.inputs), None))]


def _decided(evidence: Evidence, way: Sequence[Step], side: int) -> list[Place]:
    """The literals that gave the images their side: behind the calls that made them, else by their names."""
    sides = len(way[0].shape) - 2 if way[0].shape else 2
    trees = [tree for step in evidence.steps if step not in way[:1] for tree in _of_sides(step, sides)]
    found = [evidence.place(leaf[1]) for leaf in leaves(trees) if leaf[-1] == side]
    known = [one for one in found if one is not None and not _OTHER.search(name_of_value(one.source, one.node))]
    places = [one for one in known if not of_random_data(one)]
    return places or [one for source in evidence.sources_seen() for one in _named(source, side)]


def _of_sides(step: Step, sides: int) -> Sequence[Any]:
    """The numbers of a call, of one that makes a tensor from its sizes those of its last dimensions alone."""
    made = [int(tree[-1]) for tree in step.numbers] == step.shape and len(step.shape) > sides
    return step.numbers[-sides:] if made else step.numbers


def _named(source: Source, side: int) -> Iterator[Place]:
    """The literals of this value that a file gives to what is called a size."""
    for node in source.nodes():
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value == side:
            name = name_of_value(source, node)
            if _SIDE.search(name) and not _OTHER.search(name):
                yield Place(source, node)


def _all(evidence: Evidence, places: list[Place], old: int, new: int) -> Iterator[Candidate]:
    """Several literals of one file, of a height and a width, changed together."""
    if len({one.source.file for one in places}) == 1:
        edits = partial(changed, places[0].source, [(one.span, str(new)) for one in places])
        words: dict[str, Any] = {"old": old, "new": new}
        yield from evidence.made(edits, "replace-literal", places[0], "fitting-side", literal=True, **words)
