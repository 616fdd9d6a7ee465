"""Edits of the types that data are kept in: too coarse for what lies close together, whole numbers for fractions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.search.offer import Offer, replacing, within

#: What asks of a number where in a cycle it lies.
_WAVES = ("sin", "cos", "remainder", "fmod")
#: Methods that cut numbers to whole ones, and the types that do.
_CUTS = ("long", "int", "short", "byte", "char")
_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "long", "short")
_MADE = ("torch.tensor", "torch.as_tensor", "torch.from_numpy")


def wider(source: Source) -> Iterator[Offer]:
    """`torch.tensor(seconds, dtype=torch.float64)`: a type that holds large numbers apart which lie close together."""
    calls = [one for one in source.nodes() if isinstance(one, ast.Call)]
    cost = 0.3 if any(called(one) in _WAVES for one in calls) else 0.9
    for call in calls:
        for given in (*call.args, *(one.value for one in call.keywords)):
            text = source.text(given)
            if text.rpartition(".")[2].strip("'\"") == "float32":
                yield _finer(within(source, call, given, text.replace("float32", "float64"), cost))
        if called(call) == "float" and isinstance(call.func, ast.Attribute) and not call.args:
            yield _finer(replacing(source, call, f"{source.text(call.func.value)}.double()", cost))
        if source.text(call.func) in ("torch.tensor", "torch.as_tensor") and len(call.args) == 1 and not call.keywords:
            yield _finer(replacing(source, call, f"{source.text(call)[:-1]}, dtype=torch.float64)", cost + 0.1))
        if source.text(call.func) in _MADE and call.args and isinstance(call.args[0], ast.Name):
            name = call.args[0].id
            yield _finer(within(source, call, call.args[0], f"{name} - {name}.min()", cost + 0.1))


def _finer(offer: Offer) -> Offer:
    return replace(offer, reason="precision")


def fractions(source: Source, ran: set[int]) -> Iterator[Offer]:
    """`(wave * PEAK).to(torch.int16)` for `wave.to(torch.int16)`, where `/ PEAK` undoes it; no cut to whole numbers."""
    ratios = [one for one in source.nodes() if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div)]
    plain = [one.right for one in ratios if isinstance(one.right, (ast.Name, ast.Constant))]
    divisors = dict.fromkeys(map(source.text, plain))
    for copy in _written_as_whole(source):
        held = source.text(copy.func)[: -len(called(copy))]
        new = f"{held}astype(float)" if called(copy) == "copy" else f"{held}float()"
        yield replace(replacing(source, copy, new, 0.7), reason="whole")
    for call in source.nodes():
        owner = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
        if not isinstance(call, ast.Call) or owner is None or call.lineno in ran or not _cuts(source, call):
            continue
        inner = rewrite.operand(source, owner)
        for text in divisors:
            yield replace(replacing(source, owner, f"({inner} * {text})", 0.7), reason="whole")
        yield replace(replacing(source, call, inner, 0.9), reason="whole")


def _written_as_whole(source: Source) -> Iterator[ast.Call]:
    """Copies of what may hold whole numbers, to whose entries quotients are written: `out[:, j] = (x - mean) / std`."""
    for function in source.nodes():
        rows = list(ast.walk(function)) if isinstance(function, ast.FunctionDef) else []
        parts = [one for one in rows if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Subscript)
                 and any(isinstance(each, ast.Div) for each in ast.walk(one.value))]  # fmt: skip
        written = {ast.unparse(one.targets[0].value) for one in parts}  # type: ignore[attr-defined]
        for one in rows:
            call = one.value if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) in written else None
            copies = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
            if copies and called(call) in ("copy", "clone"):  # type: ignore[arg-type]
                yield call  # type: ignore[misc]


def _cuts(source: Source, call: ast.Call) -> bool:
    """Whether a call cuts what may have fractions to whole numbers."""
    types = {source.text(one).rpartition(".")[2].strip("'\"") for one in call.args}
    asked = called(call) in ("to", "astype", "type") and not types.isdisjoint(_WHOLE)
    return asked or (called(call) in _CUTS and not call.args)
