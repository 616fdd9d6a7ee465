"""Groups of a convolution that are meant to be as many as its channels, and were taken from elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.bindings import arguments_of
from explainer.facts import SpanFact
from explainer.frozen import frozen
from explainer.probes import probe
from explainer.probes.built import bound
from explainer.probes.call import next_frame
from explainer.probes.places import span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.source import Source


@frozen
class Given:
    """What a call on the way to the convolution gives for its groups and for its input channels."""

    source: Source
    groups: ast.expr
    channels: ast.expr


@probe
def depthwise_groups(scene: Scene) -> SpanFact | None:
    """The number given for the groups of a convolution with as many outputs as inputs, where its channels are meant.

    Followed outwards as long as both are parameters; `detail`: `channels`, what the same call gives for these. None
    unless the two are named alike.
    """
    inner = next_frame(scene)
    given = inner.locals if inner is not None else {}
    widths = given.get("in_channels"), given.get("out_channels")
    if type(given.get("groups")) is not int or given["groups"] < 2 or None in widths or widths[0] != widths[1]:
        return None
    found = list(_ways(scene, type(given.get("self"))))
    last = found[-1] if found else None
    if last is None or not _alike(last):
        return None
    channels = last.source.text(last.channels)
    return span_fact(last.source, last.groups, channels=channels) if last.source.text(last.groups) != channels else None


def _ways(scene: Scene, kind: type) -> Iterator[Given]:
    """The calls from the one that builds the convolution outwards, as long as both numbers are handed through."""
    frames = scene.live.user[::-1] if scene.live is not None else []
    names, place = ("groups", "in_channels"), 0
    while place < len(frames):
        arguments, source = _arguments(frames, place, kind)
        groups, channels = arguments.get(names[0]), arguments.get(names[1])
        if source is None or not isinstance(groups, ast.expr) or not isinstance(channels, ast.expr):
            return
        yield Given(source, groups, channels)
        if not isinstance(groups, ast.Name) or not isinstance(channels, ast.Name):
            return
        names, place = (groups.id, channels.id), place + 1


def _arguments(frames: list[LiveFrame], place: int, kind: type) -> tuple[dict[str, ast.expr], Source | None]:
    """The arguments of the call at which a frame stands, by the parameters of what it calls."""
    failing = frames[place].failing()
    node = failing.node if failing is not None else None
    if failing is None or not isinstance(node, ast.Call):
        return {}, None
    if place == 0:
        return bound(node, kind), failing.source
    code = frames[place - 1].frame.f_code
    return arguments_of(node, list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])), failing.source


def _alike(one: Given) -> bool:
    """Whether groups and channels are called alike: `groups=c_in` beside `c`."""
    return bool(_words(one.groups) & _words(one.channels))


def _words(node: ast.AST) -> set[str]:
    names = [one.id if isinstance(one, ast.Name) else one.attr for one in ast.walk(node)
             if isinstance(one, (ast.Name, ast.Attribute))]  # fmt: skip
    return {word for name in names for word in re.split(r"[^a-z]+", name.lower())} - {"self", "cfg", "config", ""}
