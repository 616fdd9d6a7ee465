"""The line at the top level of a script that a child process runs again when it imports the script."""

from __future__ import annotations

import ast

from explainer.diagnosis import Span
from explainer.facts import Settings, SpanFact
from explainer.probes import probe
from explainer.probes.scene import Scene
from explainer.source import holds


@probe
def unguarded(scene: Scene) -> SpanFact | None:
    """The statement at a script's top level, under no `if __name__`, that led to the crash.

    From the printed frames, so that a log will do. `detail.final`: it is the last statement of a script here.
    """
    frame = next((f for f in reversed(scene.crash.frames) if f.user and f.function == "<module>"), None)
    if frame is None:
        return None
    source = scene.frame_source(frame)
    tree = source.tree if source is not None else None
    statement = next((n for n in tree.body if holds(n, frame.line)), None) if tree else None
    if isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test):
        return None
    line = statement.lineno if statement is not None else frame.line
    code = source.line(line).strip() if source is not None and statement is not None else frame.code.strip()
    final = statement is not None and tree is not None and tree.body[-1] is statement
    return SpanFact(Span(frame.file, line, code=code), code, Settings((("final", final),)))
