"""Statements whose effect is lost: a result that nobody takes, additions to one entry of which only the last stays."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import called, loaded
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.sites import statement
from explainer.training.sources import program_sources

#: What a loop over weights goes over.
_WEIGHTS = {"parameters", "named_parameters", "buffers", "named_buffers", "state_dict"}


@finder
def results_dropped(watcher: Any) -> Iterator[Finding]:
    """Operations whose result no one takes, where there is one in place of the same name."""
    for seen, times in watcher.notes.of("result-dropped"):
        source, stated = statement(seen.site[0]) or (None, None)
        call = stated.value if isinstance(stated, ast.Expr) else None
        if source is None or stated is None or not isinstance(call, ast.Call):
            continue
        if not isinstance(call.func, ast.Attribute):
            continue
        name, owner = seen.data["name"], source.text(call.func.value)
        if called(call) != name:
            continue
        new = f"{owner}.{name}_"
        attempts = [Attempt("in-place", rewrite.replaced(source, call.func, new), {"new": f"{new}(...)"})]
        if isinstance(call.func.value, ast.Name):
            attempts.append(Attempt("kept", rewrite.replaced(source, call, f"{owner} = {source.text(call)}"),
                                    {"new": f"{owner} = ..."}))  # fmt: skip
        text = source.text(call).split("\n")[0]
        names = {"text": text, "name": name, "owner": owner, "times": times, "rebinds": False}
        yield Finding("result-dropped", names, source.span(stated), tuple(attempts), proved=seen.data["weights"],
                      seen=True, weight=10)  # fmt: skip


@finder
def names_rebound(watcher: Any) -> Iterator[Finding]:
    """`for own, other in zip(...): own = 0.9 * own + 0.1 * other`: the name is bound anew, the weight stays."""
    for source in program_sources(watcher):
        for loop in (one for one in source.nodes() if isinstance(one, ast.For)):
            if not {called(one) for one in ast.walk(loop.iter) if isinstance(one, ast.Call)} & _WEIGHTS:
                continue
            for stated in _rebound(loop):
                owner, value = source.text(stated.targets[0]), source.text(stated.value)
                new = f"{owner}.copy_({value})"
                attempts = (Attempt("in-place", rewrite.replaced(source, stated, new), {"new": f"{owner}.copy_(...)"}),)
                names = {"text": source.text(stated).split("\n")[0], "owner": owner, "rebinds": True}
                yield Finding("result-dropped", names, source.span(stated), attempts, seen=True, weight=10)


def _rebound(loop: ast.For) -> Iterator[ast.Assign]:
    """Statements of a loop that give a name of its target a value made of it, which nothing reads."""
    names = {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
    for at, one in enumerate(loop.body):
        target = one.targets[0] if isinstance(one, ast.Assign) and len(one.targets) == 1 else None
        if not isinstance(one, ast.Assign) or not isinstance(target, ast.Name):
            continue
        read = any(target.id in loaded(later) for later in loop.body[at + 1 :])
        if target.id in names & loaded(one.value) and not read:
            yield one


@finder
def additions_lost(watcher: Any) -> Iterator[Finding]:
    """Additions to entries of which some stand more than once in the index."""
    for seen, _ in watcher.notes.of("additions-lost"):
        source, stated = statement(seen.site[0]) or (None, None)
        added = _added(source, stated) if source is not None else None
        if source is None or stated is None or added is None:
            continue
        target, value = added
        total, index, text = (source.text(one) for one in (target.value, target.slice, value))
        whole = f"{total}.index_add_(0, {index}, {text})"
        if not seen.data["row"]:
            places = f"({index})" if isinstance(target.slice, ast.Tuple) else f"({index},)"
            given = f"{total}.new_tensor({text})" if isinstance(value, ast.Constant) else text
            whole = f"{total}.index_put_({places}, {given}, accumulate=True)"
        attempts = (Attempt("accumulated", rewrite.replaced(source, stated, whole), {"new": whole}),)
        names = {"text": source.text(stated).split("\n")[0], "total": total, "index": index, **seen.data}
        yield Finding("additions-lost", names, source.span(stated), attempts, proved=True, weight=9)


def _added(source: Any, stated: Any) -> tuple[ast.Subscript, ast.expr] | None:
    """What a statement adds to entries of something: `a[i] += b`, `a[i] = a[i] + b`."""
    if (
        isinstance(stated, ast.AugAssign)
        and isinstance(stated.op, ast.Add)
        and isinstance(stated.target, ast.Subscript)
    ):
        return stated.target, stated.value
    value = stated.value if isinstance(stated, ast.Assign) and len(stated.targets) == 1 else None
    target = stated.targets[0] if value is not None else None
    if isinstance(target, ast.Subscript) and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        old = source.text(target)
        for own, other in ((value.left, value.right), (value.right, value.left)):
            if source.text(own) == old:
                return target, other
    return None
