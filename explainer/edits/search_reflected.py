"""Candidates for reflections that reach beyond a signal: of `stft`, which pads half a window at each end, and `pad`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

from explainer.edits.arguments import set_argument
from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.edits.slices import chain, operands
from explainer.patterns import Pattern
from explainer.replay.taint import literals

_TOLD = Pattern(r"got: padding \((\d+), (\d+)\) at dimension (\d+) of input:? ?\[([\d, ]*)\]")
#: The argument of each function that says how the ends are filled.
_MODES = {"stft": "pad_mode", "pad": "mode"}


def long_enough(evidence: Evidence) -> Iterator[Candidate]:
    """`"segment": 800` -> `1025` for windows of 2048, smaller windows, or ends that are filled with zeros."""
    crash, told = evidence.crash, _TOLD.search(evidence.message)
    if crash is None or crash.place is None or told is None or crash.function not in _MODES:
        return
    size = int(told[4].split(",")[int(told[3])])
    window = _window(evidence) if crash.function == "stft" else None
    needed = max([int(told[1]), int(told[2]), *(one // 2 for one in _numbers(window))]) + 1
    words: dict[str, Any] = {"old": size, "need": needed, "window": _name(window) if window else "padding"}
    for place in _literals(evidence, size):
        words |= {"what": _name(place), "new": needed}
        yield from evidence.replaced(place, str(needed), "replace-literal", "long-enough", place, True, **words)
    if window is not None:
        text = _halved(window, size)
        words |= {"what": _name(window), "new": text}
        yield from evidence.replaced(window, text, "replace-literal", "smaller-windows", window, True, **words)
    mode = _MODES[crash.function]
    edits = partial(set_argument, crash.place, mode, '"constant"')
    yield from evidence.made(edits, "set-argument", crash.place, "zero-ends", new=f'{mode}="constant"')


def _window(evidence: Evidence) -> Place | None:
    """The literal that gave `n_fft`, or the list of them that it stands in."""
    tree = evidence.crash.numbers[0] if evidence.crash is not None and evidence.crash.numbers else None
    leaf = next(iter(literals(tree)), None) if tree is not None and tree[0] == "lit" else None
    place = evidence.place(leaf[1]) if leaf is not None else None
    around = place.parent() if place is not None else None
    whole = place is not None and isinstance(around, (ast.Tuple, ast.List)) and _numbers(place.at(around))
    return place.at(around) if whole and place is not None else place  # type: ignore[arg-type]


def _numbers(place: Place | None) -> list[int]:
    """The whole numbers that a literal, or a list of them, writes out; none where it has anything else."""
    parts = getattr(place.node, "elts", [place.node]) if place is not None else []
    values: list[Any] = [one.value if isinstance(one, ast.Constant) else None for one in parts]
    return values if all(type(one) is int for one in values) else []


def _halved(place: Place, size: int) -> str:
    """All windows halved until half of the largest is less than the signal."""
    values = _numbers(place)
    while max(values) // 2 >= size:
        values = [max(one // 2, 1) for one in values]
    text = ", ".join(map(str, values))
    if isinstance(place.node, ast.List):
        return f"[{text}]"
    return f"({text}{',' if len(values) == 1 else ''})" if isinstance(place.node, ast.Tuple) else text


def _literals(evidence: Evidence, size: int) -> list[Place]:
    """The literals that gave the signal its length: on the way of the data, else the only one with that value."""
    every = operands(evidence)
    steps = chain(evidence, every[0].start) if every else []
    found: dict[tuple, Place] = {}
    for step in (one for one in steps if not one.function.startswith("rand")):
        for tree in (one for one in step.numbers if one[0] == "lit" and one[-1] == size):
            place = evidence.place(tree[1])
            if place is not None:
                found.setdefault(tuple(tree[1]), place)
    return list(found.values()) or _only(evidence, size)


def _only(evidence: Evidence, size: int) -> list[Place]:
    """The settings with a value, in a dict, an assignment, a keyword or a default, where there is just one."""
    found = []
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Constant) and type(node.value) is int and node.value == size:
                place = Place(source, node)
                found += [place] if _name(place) != str(size) else []
    return found if len(found) == 1 else []


def _name(place: Place) -> str:
    """What a literal is called: the key of its dict, the name it is assigned to or given for; else its source."""
    around, node = place.parent(), place.node
    if isinstance(around, ast.Dict):
        key = next((key for key, one in zip(around.keys, around.values, strict=True) if one is node), None)
        return str(key.value) if isinstance(key, ast.Constant) else place.text
    if isinstance(around, ast.keyword):
        return around.arg or place.text
    if isinstance(around, ast.Assign):
        return place.source.text(around.targets[0])
    return place.text
