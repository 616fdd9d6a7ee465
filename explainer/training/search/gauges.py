"""Which of the numbers that a program prints say what it takes: time by a clock, memory by a gauge."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from explainer.source import Source, called, loaded, stored
from explainer.training.directions import printed

#: What a program reads a clock or a gauge of memory by; how far a number is followed back.
_GAUGES = frozenset(["perf_counter", "process_time", "monotonic", "time", "perf_counter_ns", "getrusage",
                     "get_traced_memory", "memory_info", "max_memory_allocated", "memory_allocated"])  # fmt: skip
_DEEP = 4


def gauged_names(sources: Sequence[Source]) -> set[str]:
    """The names, lower-case, of the numbers that a program prints and computes from a clock or a gauge."""
    return {name.lower() for source in sources for name, value in printed(source)
            if _gauged(sources, source, value, _DEEP)}  # fmt: skip


def _gauged(sources: Sequence[Source], source: Source, value: ast.AST, deep: int) -> bool:
    calls = {called(one) for one in ast.walk(value) if isinstance(one, ast.Call)}
    if calls & _GAUGES:
        return True
    if not deep:
        return False
    scope = source.scope_at(getattr(value, "lineno", 1))
    given = [one for one in ast.walk(scope) if isinstance(one, (ast.Assign, ast.AugAssign))
             and stored(one) & loaded(value)]  # fmt: skip
    timed = [node for node in ast.walk(scope) if isinstance(node, ast.While) and _asks(node.test)]
    if any(one in ast.walk(loop) for loop in timed for one in given if isinstance(one, ast.AugAssign)):
        return True  # a count of turns, as many as fit into a time
    if any(_gauged(sources, source, one.value, deep - 1) for one in given):
        return True
    own = [one for each in sources for one in each.nodes() if isinstance(one, ast.FunctionDef) and one.name in calls]
    return any(map(_asks, own))


def _asks(node: ast.AST) -> bool:
    return any(called(one) in _GAUGES for one in ast.walk(node) if isinstance(one, ast.Call))
