"""Candidates for times taken for counts, in a function that is given the length of a step and does not use it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place
from explainer.patterns import Pattern
from explainer.source import Source, called, loaded

#: Words of parameters that tell how many steps there are in a second, and of those that tell how long one is.
_RATES = {"rate", "fps", "sr", "hz"}
_STEPS = {"shift", "hop", "step", "stride", "resolution", "interval", "period", "dt", "tick", "bin"}
#: What a file calls the unit of its times, and that in seconds, as it is written.
_UNITS = (
    (Pattern(r"\bhtk\b|\b100[ _-]?ns\b", re.IGNORECASE), "1e-7"),
    (Pattern(r"(?:\b|_)ms(?:\b|_)|millisec", re.IGNORECASE), "1e-3"),
    (Pattern(r"(?:\b|_)us(?:\b|_)|microsec", re.IGNORECASE), "1e-6"),
    (Pattern(r"(?:\b|_)ns(?:\b|_)|nanosec", re.IGNORECASE), "1e-9"),
)


def by_unused_step(evidence: Evidence) -> Iterator[Candidate]:
    """`counts.append(end - start)` -> `round((end - start) * 1e-3 / hop)`, where `hop` is given and not used."""
    for source in evidence.sources_seen():
        for function in source.nodes():
            if isinstance(function, ast.FunctionDef):
                for name in _unused_steps(evidence, function):
                    yield from _converted(evidence, source, function, name)


def _unused_steps(evidence: Evidence, function: ast.FunctionDef) -> list[str]:
    """The parameters of a function that are lengths of a step, are handed to it and are not read in it."""
    read = set().union(*(loaded(one) for one in function.body))
    names = [one.arg for one in (*function.args.args, *function.args.kwonlyargs) if one.arg not in read]
    steps = [name for name in names if _words(name) & (_STEPS | _RATES)]
    return steps if steps and _called(evidence, function) else []


def _called(evidence: Evidence, function: ast.FunctionDef) -> bool:
    nodes = (node for source in evidence.sources_seen() for node in source.nodes())
    return any(isinstance(node, ast.Call) and called(node) == function.name for node in nodes)


def _words(name: str) -> set[str]:
    return set(name.lower().split("_"))


def _converted(evidence: Evidence, source: Source, function: ast.FunctionDef, name: str) -> Iterator[Candidate]:
    sign = "*" if _words(name) & _RATES else "/"
    for node in _differences(function):
        place, text = Place(source, node), source.text(node)
        news = [f"round(({text}) * {unit} {sign} {name})" for unit in _units(source)]
        for new in (*news, *([f"({text}) // {name}"] if sign == "/" else [])):
            yield from evidence.replaced(place, new, "replace", "by-step", new=new, name=name)


def _units(source: Source) -> list[str]:
    text = "\n".join(source.lines)
    return [unit for pattern, unit in _UNITS if pattern.search(text)]


def _differences(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """The differences that a function puts into a list, gives a name or gives back: lengths of time."""
    for node in ast.walk(function):
        kept: list[ast.expr | None] = []
        if isinstance(node, ast.Call) and called(node) == "append":
            kept = [*node.args]
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            kept = [node.elt]
        elif isinstance(node, (ast.Assign, ast.Return)):
            kept = [node.value]
        yield from (one for one in kept if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub))
