"""Steps that have no gradient of their own, a choice or a rounding, with the gradient handed straight past them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called, loaded, stored
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.kinds.optimizers import name_of
from explainer.training.kinds.unmoved import unmoved
from explainer.training.sources import program_sources
from explainer.wrappers import class_name

#: Calls whose results change in jumps, so that what led to them gets no gradient.
_JUMPS = ("argmin", "argmax", "topk", "bucketize", "searchsorted", "long", "int", "multinomial")
_ROUNDS = ("round", "sign", "floor", "ceil", "heaviside", "trunc")
#: Calls that make numbers of yes and no.
_NUMBERS = ("float", "double", "half", "to", "type", "type_as", "long", "int")
#: How many statements it is followed back.
_BACK = 4


def past_choice(source: Source, cut: ast.Call) -> Iterator[str]:
    """What may stand for `q.detach()`, where q was chosen by what was computed of z: `z + (q - z).detach()`."""
    inner = cut.func.value if isinstance(cut.func, ast.Attribute) else None
    if not isinstance(inner, ast.Name):
        return
    scope = source.scope_at(cut.lineno)
    made = [one for one in ast.walk(scope) if isinstance(one, ast.Assign) and one.lineno < cut.lineno]
    wanted, names, jumps = {inner.id}, list[str](), False
    for one in reversed(sorted(made, key=lambda one: one.lineno)[-2 * _BACK :]):
        if not stored(one) & wanted:
            continue
        jumps = jumps or any(isinstance(each, ast.Call) and called(each) in _JUMPS for each in ast.walk(one.value))
        behind = sorted(loaded(one.value) - {"self", "torch", "F", "nn"})
        wanted |= set(behind)
        names += [name for name in behind if name not in names]
    local = {name for one in made for name in stored(one)} | {
        one.arg for one in ast.walk(scope) if isinstance(one, ast.arg)
    }
    if jumps:
        own = inner.id
        yield from (f"{name} + ({own} - {name}).detach()" for name in names if name in local and name != own)


def straight_through(source: Source, node: ast.AST) -> str:
    """`z + (q - z).detach()` for `q + (z - q).detach()`; empty where a node is neither."""
    cut = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else None
    inner = _cut_off(cut)
    if not isinstance(node, ast.BinOp) or not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Sub):
        return ""
    one, other = source.text(inner.left), source.text(inner.right)
    return f"{one} + ({other} - {one}).detach()" if source.text(node.left) == other else ""


def negated(source: Source, node: ast.AST) -> tuple[str, str]:
    """`z + (q - z).detach()` for `z.detach() + (q - z)`, where the gradient comes to z negated, and z; else empty."""
    terms = (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else ()
    for one, other in itertools.permutations(terms, 2):
        inner = _cut_off(one)
        if inner is not None and isinstance(other, ast.BinOp) and isinstance(other.op, ast.Sub):
            own = source.text(inner)
            if source.text(other.right) == own:
                return f"{own} + ({source.text(other)}).detach()", own
    return "", ""


def _cut_off(node: ast.AST | None) -> ast.expr | None:
    """What `x.detach()` detaches."""
    made = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return made.value if made is not None and made.attr == "detach" else None


def past_pick(source: Source, node: ast.AST) -> str:
    """`each.gather(1, weights.argmax(1, keepdim=True))` as the sum that the weights make; empty where it is no pick."""
    picks = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and called(node) == "gather"
    if not picks or len(node.args) != 2:  # type: ignore[attr-defined]
        return ""
    dim, chosen = node.args  # type: ignore[attr-defined]
    for one in ast.walk(source.scope_at(node.lineno)):  # type: ignore[attr-defined]
        if isinstance(one, ast.Assign) and isinstance(chosen, ast.Name) and chosen.id in stored(one):
            chosen = one.value
            break
    if not isinstance(chosen, ast.Call) or not isinstance(chosen.func, ast.Attribute) or called(chosen) != "argmax":
        return ""
    every, weights = source.text(node.func.value), source.text(chosen.func.value)  # type: ignore[attr-defined]
    return f"({every} * {weights}).sum({source.text(dim)}, keepdim=True)"


def rounded(watcher: Any) -> Iterator[Finding]:
    """Weights whose gradients are all zero, and the roundings in the program that may be why."""
    still = unmoved(watcher)
    attempts = []
    for source in program_sources(watcher) if still else ():
        for node in source.nodes():
            new = _past_rounding(source, node) if isinstance(node, ast.Call) and called(node) in _ROUNDS else ""
            if new:
                told = {"text": source.text(node), "kind": "rounding", "line": node.lineno, "new": new}  # type: ignore[attr-defined]
                attempts.append(Attempt("past", rewrite.replaced(source, node, new), told, source.span(node)))
    if attempts:
        names = {
            "missing": ", ".join(one["name"] for one in still[:3]),
            "root": class_name(still[0]["root"]()),
            "many": len(still),
            "negated": "",
            "optimizer": name_of(watcher.notes.optimizers[still[0]["optimizer"]]),
        }
        first = attempts[0]
        yield Finding("gradient-cut", {**names, **first.names}, first.culprit, tuple(attempts), proved=False, seen=True)


def _past_rounding(source: Source, call: ast.Call) -> str:
    """A rounding with the gradient of what it rounds; empty where it rounds no plain name."""
    method = isinstance(call.func, ast.Attribute) and not call.args
    given: Any = call.func.value if method else (call.args or [None])[0]  # type: ignore[attr-defined, list-item]
    return f"{given.id} + ({source.text(call)} - {given.id}).detach()" if isinstance(given, ast.Name) else ""


def past_comparison(source: Source, node: ast.AST) -> str:
    """`(a > b).float()` with the gradient of a soft step at b; empty where a node is nothing like it."""
    made = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if not isinstance(made, ast.Compare) or called(node) not in _NUMBERS or len(made.ops) != 1:  # type: ignore[arg-type]
        return ""
    sides = [made.left, made.comparators[0]]
    if isinstance(made.ops[0], (ast.Lt, ast.LtE)):
        sides.reverse()
    elif not isinstance(made.ops[0], (ast.Gt, ast.GtE)):
        return ""
    high, low = map(source.text, sides)
    soft = f"torch.sigmoid({high})" if low in ("0", "0.0") else f"torch.sigmoid({high} - ({low}))"
    return f"{soft} + ({source.text(node)} - {soft}).detach()"
