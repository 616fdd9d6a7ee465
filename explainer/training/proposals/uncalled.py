"""Layers that a model makes and never calls, and linear layers with nothing between them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from explainer.source import Source, loaded, of_self
from explainer.training import rewrite
from explainer.training.finding import Attempt, Finding
from explainer.training.kinds.losses import made_at, shown
from explainer.training.looks.fits import learned_well
from explainer.training.sources import program_sources

#: Functions of a model that make it; what only they read is not used.
_MAKING = ("__init__", "reset_parameters", "_init_weights", "init_weights", "_reset_parameters")
#: What reads layers without their names.
_UNNAMED = ("children", "modules", "_modules", "named_children", "named_modules", "getattr")


def uncalled_layers(watcher: Any) -> Iterator[Finding]:
    """A layer or parameter that is made in a model's constructor, and that nothing of the program ever reads."""
    if learned_well(watcher):
        return
    sources = program_sources(watcher)
    read = _read(sources)
    for source in sources:
        for owner in (node for node in source.nodes() if isinstance(node, ast.ClassDef)):
            for made, name in _unread(owner, read):
                value = _live(watcher, owner.name, name)
                forward = next((one for one in owner.body if getattr(one, "name", "") == "forward"), None)
                if value is None or forward is None:
                    continue
                kind = type(value).__name__
                edits = _calling(source, owner, forward, name, value)
                attempts = tuple(Attempt("call", one, {"text": text}) for text, one in edits if one)
                names = {"name": f"self.{name}", "kind": kind, "owner": owner.name, "line": made.lineno}
                culprit = attempts[0].edits[0].start_line if attempts else forward.lineno
                at = source.statement_at(culprit)
                yield Finding("layer-never-called", names, source.span(at or forward), attempts, proved=False)


def _read(sources: Sequence[Source]) -> set[str]:
    """The attributes that the functions of a program read, but for those that make a model."""
    return {node.attr for source in sources for node in source.nodes()
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
            and getattr(source.function_at(node.lineno), "name", "") not in _MAKING}  # fmt: skip


def _unread(owner: ast.ClassDef, read: set[str]) -> Iterator[tuple[ast.Assign, str]]:
    """What a class keeps of what it makes, where no function but those that make it reads such an attribute."""
    functions = {one.name: one for one in owner.body if isinstance(one, ast.FunctionDef)}
    if "__init__" not in functions or read & set(_UNNAMED) or "getattr" in loaded(owner):
        return
    for node in ast.walk(functions["__init__"]):
        target = node.targets[0] if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) else None
        if target is not None and of_self(target) and target.attr not in read:
            yield node, target.attr  # type: ignore[misc]


def _live(watcher: Any, owner: str, name: str) -> Any:
    """The layer or parameter that an instance of a class holds under a name, where any is there."""
    for module in watcher.notes.built.living():
        value = module.__dict__.get("_modules", {}).get(name)
        value = value if value is not None else module.__dict__.get("_parameters", {}).get(name)
        if type(module).__name__ == owner and value is not None:
            return value
    return None


def _calling(source: Source, owner: Any, forward: Any, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Edits that use it, the likeliest first, each with its text."""
    calls = [node for node in ast.walk(forward) if isinstance(node, ast.Call) and _layer(forward, node)]
    calls.sort(key=lambda one: (one.lineno, one.col_offset))
    near = _neighbour(owner, name)
    calls.sort(key=lambda one: not (of_self(one.func) and one.func.attr == near))  # type: ignore[union-attr]
    own = f"self.{name}"
    if isinstance(value, torch.nn.Parameter):
        yield from (_added(source, one, text) for one in calls for text in _cut(source, own, one, value))
    elif isinstance(value, torch.nn.Embedding):
        yield from (_added(source, one, f"{own}({text})") for one in calls for text in _indices(source, forward, one))
    else:
        yield from _wrapped(source, forward, calls, own, _learns(value))


def _layer(forward: Any, call: ast.Call) -> bool:
    """Whether a layer of the model is called, by its name or as the target of a loop over some."""
    if of_self(call.func):
        return True
    loops = (node for node in ast.walk(forward) if isinstance(node, ast.For))
    return isinstance(call.func, ast.Name) and any(call.func.id in _targets(one) for one in loops)


def _targets(loop: ast.For) -> set[str]:
    return {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}


def _neighbour(owner: ast.ClassDef, name: str) -> str:
    """The layer that is made right before one of a name."""
    made = [node.attr for node in ast.walk(owner) if of_self(node) and isinstance(node.ctx, ast.Store)]
    at = made.index(name) if name in made else 0
    return made[at - 1] if at else ""


def _wrapped(
    source: Source, forward: Any, calls: Sequence[ast.Call], own: str, learns: bool
) -> Iterator[tuple[str, Any]]:
    """It is given what other layers give: of all but the last where it learns nothing, else of each alone."""
    ends = [one.value for one in ast.walk(forward) if isinstance(one, ast.Return)]
    hidden = [one for one in calls if one not in ends]
    if not learns and len(hidden) > 1:
        yield _all_wrapped(source, hidden, own)
    for one in [*hidden, *(one for one in calls if one in ends)]:
        text = f"{own}({source.text(one)})"
        yield text, rewrite.replaced(source, one, text)
        if learns and one.args:
            yield _added(source, one, f"{own}({source.text(one.args[0])})")


def _learns(layer: Any) -> bool:
    """Whether a layer computes something of its own, beyond a norm or a function."""
    return "Norm" not in type(layer).__name__ and any(True for _ in layer.parameters())


def _all_wrapped(source: Source, calls: Sequence[ast.Call], own: str) -> tuple[str, Any]:
    """The results of several layers given to it, those inside of others too."""
    inner = {id(node) for one in calls for node in ast.walk(one) if node is not one}
    pairs = []
    for outer in (one for one in calls if id(one) not in inner):
        text = source.text(outer)
        for one in calls:
            if any(node is one for node in ast.walk(outer)):
                given = source.text(one)
                text = text.replace(given, f"{own}({given})", 1)
        pairs.append((outer, text))
    return pairs[0][1], rewrite.both(source, pairs)


def _added(source: Source, call: ast.Call, text: str) -> tuple[str, Any]:
    whole = f"{source.text(call)} + {text}"
    around = source.parent_of(call)
    whole = f"({whole})" if isinstance(around, (ast.Attribute, ast.BinOp)) else whole
    return whole, rewrite.replaced(source, call, whole)


def _indices(source: Source, forward: Any, call: ast.Call) -> Iterator[str]:
    """What a table may be read at: a local name that nothing reads; the places along a sequence."""
    read = loaded(forward)
    stored = [one.targets[0].id for one in ast.walk(forward) if isinstance(one, ast.Assign)
              and isinstance(one.targets[0], ast.Name)]  # fmt: skip
    given = [one.arg for one in forward.args.args[1:]]
    yield from (name for name in (*stored, *given) if name not in read)
    if call.args:
        value = rewrite.operand(source, call.args[0])
        yield f"torch.arange({value}.size(1), device={value}.device)"


def _cut(source: Source, own: str, call: ast.Call, value: torch.Tensor) -> Iterator[str]:
    """A parameter as it is, or as long as the sequence that it is added to."""
    if value.dim() in (2, 3) and call.args:
        given = rewrite.operand(source, call.args[0])
        yield f"{own}[{':, ' if value.dim() == 3 else ''}:{given}.size(1)]"
    yield own


def linear_runs(watcher: Any) -> Iterator[Finding]:
    """Linear layers one after the other with nothing between, which are no more than one."""
    runs = [seen for seen, times in watcher.notes.of("linear-after-linear") if times > 2]
    if not runs or learned_well(watcher):
        return
    found = [(made_at(one.data["first"], one.data["name"]), one) for one in runs]
    pairs = [pair for place, one in found if (pair := _between(place, one)) is not None]
    sources = {pair[0].file for pair in pairs}
    apart = {id(node): (source, node, text) for source, node, text in pairs}
    edits: rewrite.Edits = ()
    if len(sources) == 1 and len(pairs) == len(runs):
        edits = rewrite.both(pairs[0][0], [(node, text) for _, node, text in apart.values()])
    first = runs[0].data
    names = {"name": first["name"], "runs": len(runs), "sizes": first["sizes"]}
    culprit = shown(found[0][0], runs[0].site[0] if runs[0].site else None)
    text = pairs[0][2] if pairs else ""
    yield Finding("linear-after-linear", names, culprit, (Attempt("between", edits, {"text": text}),), proved=False)


def _between(place: Any, seen: Any) -> tuple[Source, ast.AST, str] | None:
    """An activation behind the first of two layers: in the row that holds it, or around its call."""
    frame = seen.data["first"]["at"][0] if seen.data["first"]["at"] else None
    called_at = frame.node() if frame is not None else None
    if place is not None:
        source, call = place
        around = source.parent_of(call)
        if isinstance(around, (ast.List, ast.Tuple)) or (
            isinstance(around, ast.Call) and source.text(around.func).rpartition(".")[2] == "Sequential"
        ):
            prefix = source.text(call.func).rpartition(".")[0]
            text = f"{source.text(call)}, {prefix + '.' if prefix else 'torch.nn.'}ReLU()"
            return source, call, text
    if called_at is not None and isinstance(called_at.node, ast.Call) and of_self(called_at.node.func):
        text = f"torch.relu({called_at.source.text(called_at.node)})"
        return called_at.source, called_at.node, text
    return None
