"""What a training starts from: weights by hand, the state of another batch."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.looks.fits import learned
from explainer.training.looks.streams import streamed
from explainer.training.sources import program_sources


def initialisations(watcher: Any) -> Iterator[Finding]:
    """An initialisation by hand, where the loss does not fall."""
    share = learned(watcher)
    if math.isnan(share) or share > 0.25 or watcher.notes.steps < 40:
        return
    for source in program_sources(watcher):
        for node in source.nodes():
            if not isinstance(node, ast.Call) or "bias" in source.text(node):
                continue
            name, prefix = called(node), source.text(node.func).rpartition(".")[0]
            edits: Any = ()
            if name in ("normal_", "uniform_", "trunc_normal_") and node.args and "init" in prefix:
                edits = rewrite.replaced(
                    source, node, f'{prefix}.kaiming_normal_({source.text(node.args[0])}, nonlinearity="relu")'
                )
            elif name in ("normal_", "uniform_", "mul_", "fill_") and "weight" in prefix:
                found = source.statement_at(node.lineno)
                edits = rewrite.without(source, found) if found is not None else ()
            elif name in ("constant_", "zeros_", "ones_") and "init" in prefix and node.args and share < 0.1:
                edits = rewrite.replaced(source, node, f"{prefix}.xavier_uniform_({source.text(node.args[0])})")
            if edits:
                names = {
                    "text": source.text(node),
                    "std": _std(node, source),
                    "share": round(100 * share) if math.isfinite(share) else 0,
                    "first": _norms(watcher)[0],
                    "last": _norms(watcher)[1],
                    "layers": len(watcher.weights),
                }
                yield Finding("vanishing-gradient", names, source.span(node), (Attempt("init", edits),), proved=False)


def _std(node: ast.Call, source: Source) -> str:
    for keyword in node.keywords:
        if keyword.arg in ("std", "b", "val"):
            return f"{keyword.arg}={source.text(keyword.value)}"
    return ", ".join(source.text(one) for one in node.args[1:])


def _norms(watcher: Any) -> tuple[str, str]:
    grads = [one.get("norm", 0.0) for one in watcher.weights.values() if one["held"] and len(one["shape"]) > 1]
    return (f"{grads[0]:.1e}", f"{grads[-1]:.1e}") if grads else ("0", "0")


def carried_states(watcher: Any) -> Iterator[Finding]:
    """A recurrent layer that goes on from the state of another batch."""
    for seen, times in watcher.notes.of("state-carried"):
        if times < 3 or not seen.site or streamed(watcher, seen.data["dims"]):
            continue
        call = rewrite.call_in(seen.site[0])
        if call is None or len(call[1].args) < 2:
            continue
        source, node = call
        edits = rewrite.replaced(source, node.args[1], "None")
        if seen.data["module"].endswith("Cell"):
            edits = _fresh(source, source.text(node.args[1]))
        names = {"name": source.text(node.func), "kind": seen.data["module"], "text": source.text(node.args[1])}
        yield Finding(
            "hidden-state-carried",
            names,
            source.span(node),
            (Attempt("fresh", edits),),
            proved=False,
            seen=True,
        )


def _fresh(source: Source, name: str) -> Any:
    """`h = h.detach()` as zeros: a cell is called for each step of a sequence, its state is made once."""
    for node in source.nodes():
        if not isinstance(node, ast.Assign) or source.text(node.targets[0]) != name:
            continue
        value = node.value
        cut = isinstance(value, ast.Call) and called(value) == "detach" and isinstance(value.func, ast.Attribute)
        if cut and source.text(value.func.value) == name:  # type: ignore[attr-defined]
            return rewrite.replaced(source, value, f"torch.zeros_like({name})")
    return ()
