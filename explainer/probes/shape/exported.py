"""A program that was exported for the sizes of its example, and is called with others."""

from __future__ import annotations

import ast
import re

from explainer.edits.kinds.arguments import argument_node
from explainer.edits.place import Place
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.files import calls_named, nodes_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source

_GUARD = re.compile(r"Guard failed: (\w+)\.size\(\)\[(\d+)\] == (\d+)")
_EXPORT = ("mod", "args", "kwargs", "dynamic_shapes")


@probe
def exported_for(scene: Scene) -> SpanFact | None:
    """The only `torch.export.export` of the program that takes all sizes as they are in its example.

    `detail`: `name` of the input whose size is another one now, its `dim` and the `size` there at export; `to`, what
    dynamic_shapes would say; empty where the place of the input among several is not known.
    """
    guard = _GUARD.search(scene.crash.message)
    calls = [(source, call) for source, call in calls_named(scene, "export") if _plain(source, call)]
    if guard is None or len(calls) != 1:
        return None
    source, call = calls[0]
    name, dim, size = guard[1], int(guard[2]), int(guard[3])
    given = argument_node(Place(source, call), "args", _EXPORT)
    rows = given.elts if isinstance(given, ast.Tuple) else []
    at = 0 if len(rows) == 1 else _position(scene, name)
    specs = [f'{{{dim}: torch.export.Dim("{_called(dim)}")}}' if one == at else "None" for one in range(len(rows))]
    to = f"({', '.join(specs)}{',' if len(specs) == 1 else ''})" if at is not None and at < len(rows) else ""
    return span_fact(source, call, name=name, dim=dim, size=size, to=to)


def _plain(source: Source, call: ast.Call) -> bool:
    of_export = source.text(call.func).endswith("export.export")
    return of_export and argument_node(Place(source, call), "dynamic_shapes", _EXPORT) is None


def _called(dim: int) -> str:
    return "batch" if dim == 0 else f"size_{dim}"


def _position(scene: Scene, name: str) -> int | None:
    """The place of a parameter in the only `forward` of the program that has it."""
    forwards = [node for _, node in nodes_of(scene, ast.FunctionDef) if node.name == "forward"]
    rows = [[one.arg for one in node.args.args if one.arg != "self"] for node in forwards]
    places = {row.index(name) for row in rows if name in row}
    return places.pop() if len(places) == 1 else None
