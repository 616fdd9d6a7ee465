"""A choice of which nothing is left: all of it is masked, and the loop that asks for it goes on."""

from __future__ import annotations

import ast

from explainer.facts import Settings, SpanFact
from explainer.probes import probe
from explainer.probes.files import nodes_of
from explainer.probes.places import enclosing, span_fact
from explainer.probes.scene import LiveFrame, Scene
from explainer.probes.values import readable
from explainer.source import Source, called, source_of

#: How many of the user's frames are looked at, from the innermost.
_FRAMES = 3


@probe
def nothing_left(scene: Scene) -> Settings | None:
    """The tensor of the failing frames that holds -inf alone: `name`, `shape`, `rows`. Read on the CPU only.

    None where no loop had gone on before: what is masked from the start was not chosen.
    """
    import torch

    if loop_end(scene) is None:
        return None
    for frame in _frames(scene):
        for name, value in frame.locals.items():
            scores = readable(value, 10_000_000) and value.is_floating_point() and value.dim() and value.numel()
            if scores and bool(torch.isneginf(value.detach()).all()):
                rows = value.numel() // value.shape[-1]
                return Settings((("name", name), ("shape", tuple(value.shape)), ("rows", rows)))
    return None


def _frames(scene: Scene) -> list[LiveFrame]:
    """The user's innermost frames, and those of torch's that they called."""
    every = scene.live.frames if scene.live is not None else []
    last = max((at for at, frame in enumerate(every) if frame.user), default=-1)
    return [*every[last + 1 :], *[frame for frame in every if frame.user][-_FRAMES:]]


@probe
def loop_end(scene: Scene) -> SpanFact | None:
    """What ends the innermost loop around a failing frame: a count, where it is computed; `while`'s condition.

    `detail`: `fewer`, the count less one; empty of a condition. None in the first pass, as far as its number tells:
    what is masked from the start was not chosen.
    """
    for frame in reversed(scene.live.user) if scene.live is not None else ():
        source = source_of(frame.file)
        for loop in enclosing(source, frame.line, (ast.For, ast.While)):
            if loop.lineno == frame.line:  # what it goes over failed, not what it does
                continue
            if isinstance(loop, ast.While):
                return span_fact(source, loop.test, fewer="")
            if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and called(loop.iter) == "range":
                if _in_first_pass(frame, loop, loop.iter):
                    return None
                at, node = _computed(scene, source, loop.iter.args[min(len(loop.iter.args), 2) - 1])
                simple = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
                return span_fact(at, node, fewer=f"{at.text(node)} - 1" if simple else f"({at.text(node)}) - 1")
    return None


def _in_first_pass(frame: LiveFrame, loop: ast.For, span: ast.Call) -> bool:
    """Whether a loop over a range is where it began."""
    first = ast.literal_eval(span.args[0]) if len(span.args) > 1 and isinstance(span.args[0], ast.Constant) else 0
    return isinstance(loop.target, ast.Name) and frame.locals.get(loop.target.id) == first


def _computed(scene: Scene, source: Source, bound: ast.expr) -> tuple[Source, ast.expr]:
    """Where a count is computed: what the one property of that name hands back; else where it stands."""
    name = bound.attr if isinstance(bound, ast.Attribute) else ""
    named = ((one, node) for one, node in nodes_of(scene, ast.FunctionDef) if node.name == name)
    found = [row for row in named if any(getattr(one, "id", "") == "property" for one in row[1].decorator_list)]
    last = found[0][1].body[-1] if len(found) == 1 else None
    if isinstance(last, ast.Return) and last.value is not None:
        return found[0][0], last.value
    return source, bound
