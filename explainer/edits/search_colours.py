"""Candidates for pictures with a fourth channel, or with one alone, among those with three: made alike where loaded."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Call, Evidence
from explainer.edits.place import Place, as_primary, bound_above
from explainer.source import called

_COLOURS, _WITH_ALPHA = 3, 4
_COUNTS = ("len", "range", "int", "list", "zip", "enumerate")
#: The parts of a picture that has its channels last, or first.
_PARTS = ("[..., :3]", "[:3]")


def without_alpha(evidence: Evidence) -> Iterator[Candidate]:
    """`picture = read(path)` -> `read(path)[..., :3]`, where four channels meet what is made for three."""
    if not _meets(evidence, _WITH_ALPHA):
        return
    yield from _converted(evidence)
    for frame in _loading(evidence) if evidence.passed else ():
        for place in _pictures(frame):
            for part in _PARTS:
                new = f"{as_primary(place)}{part}"
                yield from evidence.replaced(place, new, "replace", "three-channels", new=new[:70])


def as_colours(evidence: Evidence) -> Iterator[Candidate]:
    """`Image.open(path)` -> `Image.open(path).convert("RGB")`, where a grey picture is among those with colours."""
    if _meets(evidence, 1) and evidence.passed:
        yield from _converted(evidence)


def _meets(evidence: Evidence, channels: int) -> bool:
    """Whether a picture of so many channels failed with values, or a convolution, for three."""
    crash = evidence.crash
    shapes = [shape for shape, _ in crash.before] if crash is not None else []
    pictures = [shape for shape in shapes if len(shape) in (3, 4) and shape[-3] == channels and shape[-1] > _WITH_ALPHA]
    if crash is None or not pictures:
        return False
    filters = crash.function.startswith("conv") and len(shapes) > 1 and shapes[1][1:2] == [_COLOURS]
    return filters or any([size for size in shape if size > 1] == [_COLOURS] for shape in shapes)


def _converted(evidence: Evidence) -> Iterator[Candidate]:
    """The pictures that PIL opens, as they are in the file: all of them in colours."""
    for source in evidence.sources_seen():
        for node in source.nodes():
            opened = isinstance(node, ast.Call) and source.text(node.func) in ("Image.open", "PIL.Image.open")
            place = Place(source, node) if opened else None  # type: ignore[arg-type]
            if place is not None and not isinstance(place.parent(), (ast.Attribute, ast.withitem)):
                new = f'{place.text}.convert("RGB")'
                yield from evidence.replaced(place, new, "replace", "three-channels", new=new[:70])


def _loading(evidence: Evidence) -> list[Call]:
    """The frame of the dataset's `__getitem__`; without one the frames in which something is loaded for a call."""
    getters = [frame for frame in evidence.frames if frame.function == "__getitem__"]
    return getters[:1] or evidence.frames[-2::-1]


def _pictures(frame: Call) -> Iterator[Place]:
    """What a frame's expression reads that a call made in the same function, by its name or in place."""
    node = frame.place.node
    scope = frame.place.source.scope_at(frame.place.span.line)
    names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
    bound = [bound_above(scope, name, frame.place.span.line) for name in dict.fromkeys(names)]
    made = [one.value for one in bound if one is not None] + (node.args if isinstance(node, ast.Call) else [])
    inner = [one for value in made for one in ast.walk(value) if isinstance(one, ast.Call) and not _calls(one)]
    calls = [one for one in made if isinstance(one, ast.Call)] + inner
    unique = {id(one): one for one in calls if called(one) not in _COUNTS}
    yield from (frame.place.at(one) for one in unique.values())


def _calls(call: ast.Call) -> bool:
    """Whether other calls stand in a call."""
    return any(isinstance(one, ast.Call) and one is not call for one in ast.walk(call))
