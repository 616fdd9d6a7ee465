"""Open files and buffers that `torch.load` reads from where they stand, though the checkpoint begins at their start."""

from __future__ import annotations

import ast
import io
import os
from typing import Any

from explainer.bindings import last_name
from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.call import call_node
from explainer.probes.files import calls_named
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.probes.values import fields_of, read

_FILES = (io.BufferedRandom, io.BufferedReader)
#: What a zip archive begins with, how its last record does, and what may stand behind its directory: three records.
_FIRST, _LAST, _BEHIND = b"PK\x03\x04", b"PK\x05\x06", 22 + 20 + 56
_AT_RECORD = f"Unsupported operand {_LAST[0]}"
_NO_OFFSET = 0xFFFFFFFF


@probe
def read_from_behind(scene: Scene) -> SpanFact | None:
    """The `torch.load(stream)` that found no archive where the stream stood, though one begins at its start.

    `detail`: `stream` (its source), `size` in bytes, `simple` whether the source is a name or a chain of attributes.
    """
    failing, frame = scene.failing, scene.user_frame
    node = call_node(failing.node) if failing is not None else None
    if failing is None or frame is None or not isinstance(node, ast.Call) or not _took_no_archive(scene):
        return None
    given = next((word.value for word in node.keywords if word.arg == "f"), None) or next(iter(node.args), None)
    size = _archive(read(given, frame.frame)) if given is not None else None
    if given is None or size is None:
        return None
    stream = failing.source.text(given)
    return span_fact(
        failing.source, node, stream=stream, size=size, simple=all(map(str.isidentifier, stream.split(".")))
    )


def _took_no_archive(scene: Scene) -> bool:
    """Whether torch.load saw no archive where it began: it read plain pickles, or met a record's `P` for one."""
    return any(one.function == "_legacy_load" for one in scene.crash.frames) or _AT_RECORD in scene.crash.message


def _archive(stream: Any) -> int | None:
    """The size of a stream that is one zip archive from its start to its end."""
    stream = fields_of(stream).get("file") if type(stream).__name__ == "_TemporaryFileWrapper" else stream
    if type(stream) is io.BytesIO and not stream.closed:
        held = stream.getbuffer()
        first, last, size = bytes(held[:4]), bytes(held[-22:]), len(held)
    elif type(stream) in _FILES and not stream.closed:
        number = stream.fileno()
        size = os.fstat(number).st_size
        first, last = os.pread(number, 4, 0), os.pread(number, 22, max(size - 22, 0))
    else:
        return None
    return size if first == _FIRST and last[:4] == _LAST and _is_whole(last, size) else None


def _is_whole(last: bytes, size: int) -> bool:
    """Whether the directory that a last record tells of ends where the record begins: nothing stands before it."""
    length, offset = int.from_bytes(last[12:16], "little"), int.from_bytes(last[16:20], "little")
    return offset == _NO_OFFSET or 0 <= size - offset - length <= _BEHIND


@probe
def written_before(scene: Scene, of: SpanFact | None = None) -> SpanFact | None:
    """The one `torch.save(..., stream)` whose stream has the name of the one that was read."""
    if of is None:
        return None
    name = of["stream"].rsplit(".", 1)[-1]
    found = [
        (source, node)
        for source, node in calls_named(scene, "save")
        if len(node.args) > 1 and last_name(node.args[1]) == name
    ]
    return span_fact(*found[0]) if len(found) == 1 else None
