"""What activation checkpointing computes twice and not alike: draws from other generators, state that changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explainer.facts import SpanFact
from explainer.probes import probe
from explainer.probes.files import nodes_of
from explainer.probes.places import span_fact
from explainer.probes.scene import Scene
from explainer.source import Source, called

_CHECKPOINTS = ("checkpoint", "checkpoint_sequential")
_UNIT = ("random", "rand", "random_sample")


@probe
def foreign_draw(scene: Scene) -> SpanFact | None:
    """The one draw from Python's or numpy's random numbers in what a checkpoint runs; torch's alone are restored.

    `detail.torch` is the same draw from torch, empty where it has none.
    """
    found = [
        (source, node)
        for source, function in _recomputed(scene)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and _is_foreign(source, node)
    ]
    unique = {(source.file, node.lineno, node.col_offset): (source, node) for source, node in found}
    if len(unique) != 1:
        return None
    source, call = next(iter(unique.values()))
    return span_fact(source, call, torch=_from_torch(source, call))


def _recomputed(scene: Scene) -> Iterator[tuple[Source, ast.FunctionDef]]:
    """The functions of the user's that a checkpoint may run: forward methods, what it is given, and what these call."""
    functions: dict[str, list[tuple[Source, ast.FunctionDef]]] = {}
    waiting = []
    for source, node in nodes_of(scene, ast.AST):
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append((source, node))
        elif isinstance(node, ast.Call) and called(node) in _CHECKPOINTS and node.args:
            waiting += [source.text(node.args[0]).rsplit(".", 1)[-1], "forward"]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or (name.startswith("__") and name != "__call__"):
            continue
        seen.add(name)
        for source, function in functions.get(name, ()):
            yield source, function
            waiting += [called(one) for one in ast.walk(function) if isinstance(one, ast.Call)]


def _is_foreign(source: Source, call: ast.Call) -> bool:
    """Whether a call draws from `random`, `np.random` or a generator of theirs that is called so."""
    owner = source.text(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    last = owner.rsplit(".", 1)[-1]
    return (last == "random" and not owner.startswith("torch")) or last in ("rng", "_rng", "np_rng")


def _from_torch(source: Source, call: ast.Call) -> str:
    given = [source.text(one) for one in call.args]
    name, python = called(call), source.text(call.func).startswith("random.")
    if name in _UNIT and not given:
        return "torch.rand(()).item()"
    if name == "uniform" and len(given) == 2:
        return f"torch.empty(()).uniform_({given[0]}, {given[1]}).item()"
    if name in ("randint", "integers", "randrange") and len(given) in (1, 2) and not call.keywords:
        low, high = given if len(given) == 2 else ("0", given[0])
        return f"torch.randint({low}, {high}{' + 1' if python and name == 'randint' else ''}, ()).item()"
    if name == "choice" and len(given) == 1 and given[0].isidentifier():
        return f"{given[0]}[torch.randint(0, len({given[0]}), ()).item()]"
    return ""


@probe
def changed_state(scene: Scene) -> SpanFact | None:
    """The one statement that counts up an attribute in what a checkpoint runs, where that attribute decides there.

    `detail.attribute` is the attribute.
    """
    found = []
    for source, function in _recomputed(scene):
        tests = [one.test for one in ast.walk(function) if isinstance(one, (ast.If, ast.IfExp))]
        decided = {source.text(part) for test in tests for part in ast.walk(test) if isinstance(part, ast.Attribute)}
        for node in ast.walk(function):
            if isinstance(node, ast.AugAssign) and source.text(node.target) in decided:
                found.append((source, node))
    unique = {(source.file, node.lineno): (source, node) for source, node in found}
    if len(unique) != 1:
        return None
    source, statement = next(iter(unique.values()))
    return span_fact(source, statement, attribute=source.text(statement.target))
