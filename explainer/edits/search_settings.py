"""Candidates for settings that torch refuses: sizes that are no whole numbers, rates given as text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.place import Place, bound_above
from explainer.edits.search_calls import failing, failing_calls
from explainer.patterns import Pattern

_FLOAT = Pattern(r"element of type float|got float|not float|be int|got \(.*float|positive integer value, but got")
_SHARE = Pattern(r"probability has to be between 0 and 1, but got ([\d.]+)")


def whole(evidence: Evidence) -> Iterator[Candidate]:
    """Sizes divided with `/` divided with `//`: in the failing call, then where its names got their values."""
    if not _FLOAT.search(evidence.message):
        return
    for place, node in failing(evidence):
        yield from _divided(evidence, place, node)
        for value in _values_above(place):
            yield from _divided(evidence, place, value)
        owner = place.source.class_at(place.span.line)
        for part in ast.walk(owner) if owner is not None else ():
            if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]).startswith("self."):
                yield from _divided(evidence, place, part.value)
    for place, call in failing_calls(evidence):
        for one in [*call.args, *(word.value for word in call.keywords)]:
            if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp)):
                given = place.at(one)
                new = f"int({given.text})"
                yield from evidence.replaced(given, new, "replace", "rename", new=new, old=given.text[:60])


def _values_above(place: Place) -> Iterator[ast.expr]:
    """What is assigned in the function of a place, or above it at the top of its file."""
    function = place.source.function_at(place.span.line)
    if function is not None:
        yield from (one.value for one in ast.walk(function) if isinstance(one, ast.Assign))
        return
    for one in getattr(place.source.tree, "body", ()):
        if isinstance(one, ast.Assign) and one.lineno < place.span.line:
            yield one.value


def _divided(evidence: Evidence, place: Place, node: ast.AST) -> Iterator[Candidate]:
    for one in ast.walk(node):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div):
            old, left = place.source.text(one), place.source.text(one.left)
            between = old[len(left) :]
            new = left + between.replace("/", "//", 1) if old.startswith(left) else ""
            if not new:
                continue
            yield from evidence.replaced(place.at(one), new, "replace", "rename", new=new, old=old)


def as_number(evidence: Evidence) -> Iterator[Candidate]:
    """A rate that is text: the literal where it is written, else `float(...)` where the optimizer gets it."""
    if "'str'" not in evidence.message:
        return
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_number(node.value):
                new, old = node.value.strip(), source.text(node)
                yield from evidence.replaced(Place(source, node), new, "replace", "rename", new=new, old=old)
    for place, call in failing_calls(evidence):
        for word in call.keywords:
            if word.arg in ("lr", "weight_decay", "momentum", "eps", "max_lr", "gamma", "eta_min"):
                given = place.at(word.value)
                new = f"float({given.text})"
                yield from evidence.replaced(given, new, "replace", "rename", new=new, old=given.text[:60])


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", text) is not None


def as_share(evidence: Evidence) -> Iterator[Candidate]:
    """A probability given in per cent: 25 -> 0.25, where the number is written."""
    found = _SHARE.search(evidence.message)
    if found is None or not 1 < float(found[1]) < 100:
        return
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == float(found[1]):
                new = f"{float(found[1]) / 100:g}"
                yield from evidence.replaced(Place(source, node), new, "replace", "rename", new=new, old=found[1])


def as_fractions(evidence: Evidence) -> Iterator[Candidate]:
    """`random_split(data, [0.8 * len(data), 0.2 * len(data)])` -> `[0.8, 0.2]`: lengths that are no whole numbers."""
    if "Sum of input lengths" not in evidence.message and not evidence.message.startswith("randperm()"):
        return
    for place, call in failing_calls(evidence):
        lengths = [word.value for word in call.keywords if word.arg == "lengths"] or call.args[1:2]
        scope, line = place.source.scope_at(place.span.line), place.span.line
        named = [bound_above(scope, one.id, line) for one in lengths if isinstance(one, ast.Name)]
        for one in [*lengths, *(bound.value for bound in named if bound is not None)]:
            shares = [_share(part) for part in getattr(one, "elts", ())]
            if shares and None not in shares and abs(sum(map(float, filter(None, shares))) - 1) < 1e-9:
                at, new = place.at(one), f"[{', '.join(filter(None, shares))}]"
                yield from evidence.replaced(at, new, "replace", "rename", new=new, old=at.text)


def _share(node: ast.expr) -> str | None:
    """`0.8` of `0.8 * len(data)`."""
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else ()
    numbers = [one.value for one in sides if isinstance(one, ast.Constant) and type(one.value) is float]
    return f"{numbers[0]:g}" if len(numbers) == 1 else None
