"""A transform that scales the shorter side of every image alike, so that the other sides differ."""

from __future__ import annotations

import ast
import re

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.files import calls_named, named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called

#: Transforms that keep the aspect ratio where they are given one number: it is what the shorter side becomes.
_KEEPING = ("Resize", "SmallestMaxSize", "ResizeShortest", "ResizeShortestEdge", "ShortestEdgeResize")


@probe
def shorter_side(scene: Scene) -> SpanFact | None:
    """The only `Resize(n)` of the program, where the sizes in the message agree in their shorter side alone.

    `detail.side` is that side in pixels, `detail.pair` the call with a pair of sides; empty where it may not take one.
    """
    sides = [_sides(str((scene.captures or {}).get(name))) for name in ("first", "second")]
    if len(sides[0]) != 2 or len(sides[1]) != 2 or min(sides[0]) != min(sides[1]) or sides[0] == sides[1]:
        return None
    calls = [(source, call) for source, call in calls_named(scene, *_KEEPING) if _one_number(call)]
    if len(calls) != 1:
        return None
    source, call = calls[0]
    return span_fact(source, call, side=min(sides[0]), pair=_paired(scene, source, call))


def _paired(scene: Scene, source: Source, call: ast.Call) -> str:
    """`Resize((n, n))` for `Resize(n)`, where the class is a library's, or asks whether it was given one number."""
    given = call.args[0] if call.args else call.keywords[0].value
    takes = [_asks(one) for _, one in named(scene, ast.ClassDef, called(call))]
    if called(call) != "Resize" or not all(takes):
        return ""
    whole, side = source.text(call), source.text(given)
    return whole.replace(f"({side}", f"(({side}, {side})", 1).replace(f"={side}", f"=({side}, {side})", 1)


def _asks(owner: ast.ClassDef) -> bool:
    return any(isinstance(node, ast.Call) and called(node) == "isinstance" for node in ast.walk(owner))


def _sides(text: str) -> list[int]:
    """Height and width of a size as a message writes it: [3, 43, 32]."""
    return [int(one) for one in re.findall(r"\d+", text)][-2:]


def _one_number(call: ast.Call) -> bool:
    """Whether a call is given one argument that is no pair of sides."""
    given = [*call.args, *(word.value for word in call.keywords if word.arg in ("size", "max_size"))]
    return len(given) == 1 and not isinstance(given[0], (ast.Tuple, ast.List))
