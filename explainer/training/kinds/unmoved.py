"""Parameters to which the graph leads and that stay where they are: every gradient that they get is zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explainer.source import Source, called
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding, finder
from explainer.training.kinds.optimizers import name_of
from explainer.training.sites import statement
from explainer.training.sources import program_sources
from explainer.wrappers import class_name

#: Calls that make zeros, and those that fill something with them; what stands in their place.
_ZEROS = {"zeros": "randn", "zeros_like": "randn_like"}
_FILLS = ("zeros_", "constant_", "zero_", "fill_")


def unmoved(watcher: Any) -> list[dict[str, Any]]:
    """Weights of an optimizer that a graph reached at every look, always with a gradient of exactly zero."""
    return [
        one
        for one in watcher.weights.values()
        if one["held"] and not one["graded"] and not one["thawed"] and not one["moved"] and not one["gone"]
        and one["looked"] >= 4 and one["reached"] >= one["looked"] - 1 and one["root"]() is not None
    ]  # fmt: skip


@finder
def terms_cancel(watcher: Any) -> Iterator[Finding]:
    """`z + (q - z)` without a detach: the value is q, and z gets its gradient once and once negated."""
    for seen, times in watcher.notes.of("terms-cancel"):
        source, whole = _sum(seen.site[0])
        if whole is None or times < 3:
            continue
        pair = [whole.left, whole.right]
        still = [one for one in unmoved(watcher) if id(one["of"]()) in seen.data["behind"]]
        own, term = pair[1 - seen.data["place"]], pair[seen.data["place"]]
        kept, cut = source.text(own), f"({source.text(term)}).detach()"
        if isinstance(term, (ast.Name, ast.Attribute)):
            cut = f"{source.text(term)}.detach()"
        kept = f"({kept})" if isinstance(own, ast.BinOp) else kept
        both = (kept, cut) if seen.data["place"] else (cut, kept)
        new = f" {'+' if isinstance(whole.op, ast.Add) else '-'} ".join(both)
        names = {"text": source.text(whole), "own": source.text(own), "new": new, "many": len(still), **_told(still)}
        attempts = (Attempt("detach", rewrite.replaced(source, whole, new), {"new": new}),)
        yield Finding("terms-cancel", names, source.span(whole), attempts, proved=bool(still), seen=True, weight=9)


@finder
def cut_off(watcher: Any) -> Iterator[Finding]:
    """An optimizer none of whose weights ever gets a gradient, where a cut of the graph was seen."""
    from explainer.training.proposals.cuts import cut_graph

    yield from (one for one in cut_graph(watcher) if one.proved)


def _sum(frame: Any) -> tuple[Source, ast.BinOp | None]:
    """The sum or difference at which a frame stood, or the one that its statement is."""
    found, stated = frame.node(), statement(frame)
    if found is not None and isinstance(found.node, ast.BinOp):
        return found.source, found.node
    value = getattr(stated[1], "value", None) if stated is not None else None
    return frame.source(), value if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)) else None


def _told(still: list[dict[str, Any]]) -> dict[str, str]:
    root = still[0]["root"]() if still else None
    return {"missing": ", ".join(one["name"] for one in still[:3]), "root": class_name(root)}


@finder
def factors_zero(watcher: Any) -> Iterator[Finding]:
    """Weights that began at zero and multiply one another: each one's gradient is the other one times something.

    Of two that stand still one may be zero by chance; that no attempt is offered for, but an edit that leaves it fails.
    """
    still = unmoved(watcher)
    zero = [one for one in still if not bool(one["of"]().count_nonzero())]
    if len(still) < 2 or not zero:
        return
    tried = _attempts(watcher, zero) if len(zero) > 1 else []
    names = {
        "many": len(zero),
        "optimizer": name_of(watcher.notes.optimizers[zero[0]["optimizer"]]),
        "looked": min(one["looked"] for one in zero),
        **_told(zero),
        **(tried[0].names if tried else {}),
    }
    culprit = tried[0].culprit if tried else None
    yield Finding("factors-zero", names, culprit, tuple(tried), proved=False, seen=True, fact=True, weight=9)


def _attempts(watcher: Any, zero: list[dict[str, Any]]) -> list[Attempt]:
    """Each of the first zeros made random by itself; where there are many, all of them together."""
    places: dict[Any, tuple[Source, ast.Call, str, dict[str, str]]] = {}
    for one in zero:
        for source, call in _begun(watcher, one):
            new = _random(source, call, one["shape"])
            names = {"text": source.text(call), "new": new, "first": one["name"]}
            if new:
                places.setdefault((source.file, call.lineno, call.col_offset), (source, call, new, names))
    found = [
        Attempt("random", rewrite.replaced(source, call, new), names, source.span(call))
        for source, call, new, names in places.values()
    ]
    if len(found) > 2 and len({source.file for source, *_ in places.values()}) == 1:
        source = next(iter(places.values()))[0]
        edits = rewrite.both(source, [(call, new) for _, call, new, _ in places.values()])
        found[2:] = [Attempt("random", edits, found[0].names, found[0].culprit)]
    return [one for one in found if one.edits][:3]


def _begun(watcher: Any, one: dict[str, Any]) -> list[tuple[Source, ast.Call]]:
    """The calls that made a weight zero: where one of torch's filled it, or else in the class that holds it."""
    held, site = watcher.constants.get(id(one["of"]()), (None, ()))
    if held is not None and held() is one["of"]() and site:
        found = rewrite.call_in(site[0], *_FILLS)
        return [found] if found is not None else []
    parts = one["name"].split(".")
    for at in reversed(range(len(parts))):
        kind = type(one["root"]().get_submodule(".".join(parts[:at]))).__name__
        for source in program_sources(watcher):
            owners = [node for node in source.nodes() if isinstance(node, ast.ClassDef) and node.name == kind]
            calls = [(source, call) for owner in owners for call in _zeroing(source, owner, parts[at:])]
            if calls:
                return calls
    return []


def _zeroing(source: Source, owner: ast.ClassDef, parts: list[str]) -> Iterator[ast.Call]:
    """The calls in a class that make what it holds zero: `self.up = Parameter(torch.zeros(2))`, `self.up.zero_()`."""
    name = ".".join(["self", *parts])
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign) and any(source.text(one) == f"self.{parts[0]}" for one in node.targets):
            yield from (one for one in ast.walk(node.value) if isinstance(one, ast.Call) and called(one) in _ZEROS)
        if isinstance(node, ast.Call) and called(node) in _FILLS:
            about = node.args[0] if called(node) in ("zeros_", "constant_") and node.args else node.func
            if f"{source.text(about)}.".startswith(f"{name}."):
                yield node


def _random(source: Source, call: ast.Call, shape: tuple[int, ...]) -> str:
    """A call that makes zeros, as one that makes small random numbers."""
    name, text = called(call), source.text(call.func)
    owner, width = text[: len(text) - len(name)], f"{(shape[-1] if len(shape) > 1 else 100) ** -0.5:.1g}"
    if name in _ZEROS and not any(one.arg == "requires_grad" for one in call.keywords):
        return f"{width} * {owner}{_ZEROS[name]}{source.text(call)[len(text) :]}"
    if name in ("zeros_", "constant_") and call.args:
        return f"{owner}normal_({source.text(call.args[0])}, std={width})"
    return f"{owner}normal_(std={width})" if name in ("zero_", "fill_") else ""
