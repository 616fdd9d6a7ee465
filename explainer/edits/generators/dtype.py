"""Candidates for dtype errors but casts: a mask inverted, a tensor made in another dtype, a buffer registered."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence, Step
from explainer.edits.generators.casts import METHODS, cast_at, gathers_complex, of_dtype, wanted
from explainer.edits.generators.slices import argument_places, chain, editable, trunk
from explainer.edits.kinds import operators, statements
from explainer.edits.kinds.arguments import set_argument
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.source import called, of_self, walked

_MADE = ("zeros", "ones", "empty", "full")
#: What makes a signal of a spectrum, which has phases.
_TURNED_BACK = ("irfft", "irfft2", "irfftn", "ifft", "ifft2", "ifftn", "istft", "view_as_real")
#: What puts values of one dtype into a tensor of that dtype.
_GATHERING = ("__setitem__", *(f"{name}{end}" for end in ("", "_") for name in (
    "index_add", "index_copy", "index_put", "scatter", "scatter_add", "scatter_reduce", "masked_scatter")))  # fmt: skip
_SQUARES = ("pow", "square", "__pow__")
_REDUCTIONS = ("mean", "sum", "nanmean", "nansum")


def structural(evidence: Evidence) -> Iterator[Candidate]:
    """`1 - mask` -> `~mask`; `model.encoder.to(dtype)` -> `model.to(dtype)`."""
    crash = evidence.crash
    if crash is not None and crash.place is not None and "bool" in {dtype for _, dtype in crash.before}:
        place = crash.place
        inverted = lambda: operators.replace_operator(place, "invert")  # noqa: E731
        yield from evidence.made(inverted, "replace-operator", place, "invert", new=_after(place))
    for source in evidence.sources_seen():
        for node in source.nodes():
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                yield from _widened(evidence, Place(source, node.value))


def started(evidence: Evidence) -> Iterator[Candidate]:
    """`zeros(n, 3)` -> `zeros(n, 3, dtype=x.dtype)`: a tensor that gathers others of another dtype in place.

    One that is made of another's shape alone is made like it.
    """
    crash, dtype = evidence.crash, _gathered(evidence)
    for step in trunk(evidence, crash.inputs[0]) if crash is not None and dtype and crash.inputs else ():
        place, node = step.place, step.place.node if step.place is not None else None
        if place is None or not isinstance(node, ast.Call) or called(node) not in _MADE:
            continue
        shape = node.args[0] if len(node.args) == 1 else None
        if isinstance(shape, ast.Attribute) and shape.attr == "shape" and not node.keywords:
            new = f"torch.{called(node)}_like({place.source.text(shape.value)})"
            yield from evidence.replaced(place, new, "replace", "rename", new=new, old=place.text)
        elif not any(word.arg == "dtype" for word in node.keywords):
            for like in (*of_dtype(evidence, place, dtype), f"torch.{dtype}"):
                yield from _made_as(evidence, place, like)


def _made_as(evidence: Evidence, maker: Place, dtype: str) -> Iterator[Candidate]:
    """What makes a tensor, given a dtype."""
    edits, layer = partial(set_argument, maker, "dtype", dtype), called(maker.node)  # type: ignore[arg-type]
    yield from evidence.made(edits, "add-argument", maker, "flag", new=f"dtype={dtype}", layer=layer)


def filled(evidence: Evidence) -> Iterator[Candidate]:
    """`ones(n)` -> `ones(n, dtype=counts.dtype)`, which is written into whole numbers that were asked for."""
    crash = evidence.crash
    if crash is None or crash.place is None or crash.function not in _GATHERING or len(crash.before) < 2:
        return
    target, node, whole = crash.before[0][1], crash.place.node, crash.before[0][1].startswith("int")
    owner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    for step in trunk(evidence, crash.inputs[-1]) if whole and "float" in crash.before[-1][1] else ():
        made = step.place.node if step.place is not None else None
        if step.place is None or not isinstance(made, ast.Call) or called(made) not in _MADE:
            continue
        here = step.place.source.scope_at(made.lineno) is crash.place.source.scope_at(node.lineno)
        like = f"{crash.place.source.text(owner)}.dtype" if here and owner is not None else f"torch.{target}"
        if not any(word.arg == "dtype" for word in made.keywords):
            yield from _made_as(evidence, step.place, like)


def complex_weights(evidence: Evidence) -> Iterator[Candidate]:
    """`nn.Parameter(torch.rand(a, b))` -> `... dtype=torch.cfloat`: weights of a spectrum that is turned back.

    Where the program turns none back, a magnitude is meant.
    """
    crash = evidence.crash
    kinds = sorted(dtype.rstrip("0123456789") for _, dtype in crash.before) if crash is not None else []
    if crash is None or crash.place is None or kinds != ["complex", "float"]:
        return
    nodes = [(source, node) for source in evidence.sources_seen() for node in source.nodes()]
    if not any(isinstance(node, ast.Call) and called(node) in _TURNED_BACK for _, node in nodes):
        return
    calls = [crash.place, *(frame.place for frame in evidence.frames)]  # what a helper is given, its caller reads
    read = {one.attr for place in calls for one in walked(place.node) if of_self(one)}
    for source, node in nodes:
        kept = [one for one in getattr(node, "targets", ()) if of_self(one) and one.attr in read]
        made = getattr(node, "value", None)
        if kept and isinstance(made, ast.Call) and called(made) == "Parameter":
            for one in walked(made):
                if isinstance(one, ast.Call) and called(one) in (*_MADE, "rand", "randn"):
                    yield from _made_as(evidence, Place(source, one), "torch.cfloat")


def _gathered(evidence: Evidence) -> str:
    """The dtype of what the failing call puts into a tensor of another one; empty where it does nothing of the kind."""
    crash = evidence.crash
    if gathers_complex(evidence) and crash is not None:
        return crash.before[1][1]
    if crash is None or crash.function not in _GATHERING or not crash.before:
        return ""
    dtypes = [dtype for _, dtype in crash.before if "float" in dtype or "complex" in dtype]
    return dtypes[-1] if dtypes and dtypes[0] == crash.before[0][1] != dtypes[-1] else ""


def magnitudes(evidence: Evidence) -> Iterator[Candidate]:
    """`z.pow(2).mean()` -> `z.abs().pow(2).mean()`, where backward starts from a complex number: its energy is meant.

    From the loss backward the last square comes first, then what is averaged or summed.
    """
    crash = evidence.crash
    if crash is None or not crash.before or not crash.before[0][1].startswith("complex"):
        return
    steps = [one for one in chain(evidence, crash.inputs[0] if crash.inputs else None) if "complex" in one.dtype]
    for names in (_SQUARES, _REDUCTIONS):
        for step in (one for one in steps if one.function in names and one.place is not None):
            place = next(iter(argument_places(step)), None)
            if place is not None and editable(place):
                yield from cast_at(evidence, place, "abs()", step.dtype)


def _after(place: Place) -> str:
    node = place.node
    inner = node.right if isinstance(node, ast.BinOp) else node
    return f"`~{place.source.text(inner)}`"


def _widened(evidence: Evidence, call: Place) -> Iterator[Candidate]:
    function = getattr(call.node, "func", None)
    if not (isinstance(function, ast.Attribute) and function.attr in METHODS):
        return
    part = function.value
    if isinstance(part, ast.Attribute):
        old, new = call.source.text(part), call.source.text(part.value)
        edits = lambda: changed(call.source, [(call.source.span(part), new)])  # noqa: E731
        yield from evidence.made(edits, "replace", call, "widen-cast", old=old, new=new)


def registered(evidence: Evidence) -> Iterator[Candidate]:
    """`self.grid = linspace(n)` -> `self.register_buffer("grid", ...)`, where a cast of the model left it as it was.

    That is where a plain attribute meets values of another floating dtype, and the program casts something.
    """
    casting = any(evidence.calls_of(name) for name in METHODS if name not in ("long", "int", "byte", "bool"))
    for operand, dtype in wanted(evidence) if casting else ():
        for step in [one for one in chain(evidence, operand.start) if _widens(one, dtype)] + _failing(evidence):
            for place in _plain_attributes(step):
                old, name = place.text, place.node.targets[0].attr  # type: ignore[union-attr]
                new = f'self.register_buffer("{name}", {place.source.text(place.node.value)})'  # type: ignore[union-attr]
                edits = partial(statements.register_buffer, place)
                yield from evidence.made(edits, "register-buffer", place, "rename", old=old, new=new)


def _failing(evidence: Evidence) -> list[Step]:
    return [evidence.crash] if evidence.crash is not None else []


def _widens(step: Step, dtype: str) -> bool:
    """Whether an operation was given values of a dtype, and made others because of what it was given beside."""
    given = {one for _, one in step.before}
    return dtype in given and step.dtype != dtype and step.dtype in given


def _plain_attributes(step: Step) -> Iterator[Place]:
    """Where `__init__` makes what an operation reads of `self`, as a call (of no class) or a computation."""
    source = step.place.source if step.place is not None else None
    owner = source.class_at(step.place.line) if source is not None and step.place is not None else None
    if source is None or step.place is None or owner is None:
        return
    read = {one.attr for one in walked(step.place.node) if of_self(one)}  # type: ignore[attr-defined]
    made = next((one for one in owner.body if getattr(one, "name", "") == "__init__"), owner)
    for one in walked(made):
        target = one.targets[0] if isinstance(one, ast.Assign) and len(one.targets) == 1 else None
        if target is not None and of_self(target) and target.attr in read and statements.is_made(one.value):  # type: ignore[attr-defined]
            yield Place(source, one)  # type: ignore[arg-type]
