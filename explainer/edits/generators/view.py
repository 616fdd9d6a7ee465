"""Candidates for views: memory that is shared, not contiguous, or not there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from explainer.edits.candidate import Candidate
from explainer.edits.evidence import Evidence
from explainer.edits.generators.slices import chain, editable, operands
from explainer.edits.kinds import inplace, methods
from explainer.edits.lines import changed
from explainer.edits.place import Place
from explainer.source import walked


def copied(evidence: Evidence) -> Iterator[Candidate]:
    """`.view` -> `.reshape` for memory in another order; `.clone()` where an expanded tensor is about to be written."""
    crash = evidence.crash
    if crash is None or crash.place is None:
        return
    node = crash.place.node
    if crash.function == "view" and isinstance(node, ast.Call) and "not compatible" in evidence.message:
        edits = partial(methods.replace_call, crash.place, "reshape")
        yield from evidence.made(edits, "replace-call", crash.place, "rename", old="view", new="reshape")
        views = [one for one in walked(crash.place.statement().node) if _is_view(one)]
        spans = [crash.place.source.span(one.func) for one in views]  # type: ignore[attr-defined]
        every = partial(changed, crash.place.source, [(span, f"{span.code[:-4]}reshape") for span in spans])
        yield from evidence.made(every, "replace-call", crash.place, "rename", old="view", new="reshape")
    if crash.function == "view" and "to view" in evidence.message and isinstance(node, ast.Call):
        yield from _laid_out(evidence, crash.place, node)
    if "single memory location" in evidence.message or "internal overlap" in evidence.message:
        for operand in operands(evidence):
            for step in chain(evidence, operand.start):
                if step.function in ("expand", "expand_as", "broadcast_to", "as_strided", "unfold", "diagonal"):
                    for place in (one for one in step.places[:1] if editable(one)):
                        edits = partial(methods.insert_method, place, "clone()")
                        yield from evidence.made(edits, "insert-method", place, "clone", what=place.text[:48])


def outgrown(evidence: Evidence) -> Iterator[Candidate]:
    """`s.mul_(a).add_(b)` -> `s = s.mul(a).add(b)`: what broadcasting makes larger gets memory of its own."""
    crash = evidence.crash
    if crash is not None and crash.place is not None and "match the broadcast shape" in evidence.message:
        edits = partial(inplace.out_of_place, crash.place)
        yield from evidence.made(edits, "out-of-place", crash.place, "outgrows", what=crash.place.text[:48])


def _laid_out(evidence: Evidence, place: Place, node: ast.Call) -> Iterator[Candidate]:
    """`part.view(dtype)` -> `part.contiguous().view(dtype)`: bytes are joined where they lie behind each other."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    for method in ("contiguous()", "clone()") if owner is not None else ():
        at = place.at(owner)  # type: ignore[arg-type]
        edits = partial(methods.insert_method, at, method)
        yield from evidence.made(edits, "insert-method", at, "behind", new=f".{method}", old=at.text[:48])


def _is_view(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "view"


def windows(evidence: Evidence) -> Iterator[Candidate]:
    """`x.as_strided((n, size), (step, 1))` -> `x.unfold(0, size, step)`, which counts the windows itself."""
    crash = evidence.crash
    node = crash.place.node if crash and crash.place else None
    if crash is None or crash.place is None or crash.function != "as_strided" or not isinstance(node, ast.Call):
        return
    given = [one for one in node.args if isinstance(one, (ast.Tuple, ast.List))]
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if owner is None or len(given) < 2 or [len(one.elts) for one in given[:2]] != [2, 2]:
        return
    text = crash.place.source.text
    if isinstance(owner, ast.Name) and owner.id == "torch":
        owner = node.args[0]
    new = f"{text(owner)}.unfold(0, {text(given[0].elts[1])}, {text(given[1].elts[0])})"
    yield from evidence.replaced(crash.place, new, "replace-call", "unfold", new=new)
